"""The questions of a recording: chains of command lines that share a folder and a workspace."""

import gzip
import importlib
import json
import shlex
import sqlite3
import struct
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One command line to run.

    Attributes:
        id: Chain and place in it, such as ``kb-basics/3``.
        words: Its arguments, before words in @ signs are put in.
        stdin: What stands on standard input.
    """

    id: str
    words: tuple[str, ...]
    stdin: str = ""

    @property
    def command(self) -> str:
        """The command it asks, such as ``kb stats``."""
        words = self.words[2:] if self.words[:1] == ("--workspace",) else self.words
        names = [word for word in words if not word.startswith("-")]
        grouped = names[:1] and names[0] in {"kb", "search", "ab"}
        return " ".join(names[: 2 if grouped else 1]) or "tunegraph"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Questions that share a folder and a workspace.

    Attributes:
        name: What it is called.
        files: Name and content of what lies in the folder before.
        questions: In the order in which they are asked.
        shared: Whether it needs the folder of shared data.
        fresh: Whether its workspace is not there yet.
    """

    name: str
    questions: tuple[Question, ...]
    files: dict[str, Any] = field(default_factory=dict)
    shared: bool = False
    fresh: bool = False


def read_chains(path: Path) -> list[Chain]:
    """Read the chains of a file of questions."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    chains = []
    for name, raw in content.items():
        questions = []
        for place, item in enumerate(raw["ask"], 1):
            line, stdin = (item, "") if isinstance(item, str) else (item["run"], item["stdin"])
            questions.append(Question(id=f"{name}/{place}", words=tuple(shlex.split(line)), stdin=stdin))
        known = {"ask", "files", "shared", "fresh"}
        if unknown := set(raw) - known:
            raise SystemExit(f"{path}: {name}: no key {', '.join(sorted(unknown))}; known: {sorted(known)}")
        chains.append(
            Chain(
                name=name,
                questions=tuple(questions),
                files=raw.get("files", {}),
                shared=raw.get("shared", False),
                fresh=raw.get("fresh", False),
            )
        )
    return chains


def write_file(path: Path, content: Any) -> None:
    """Write a file of a chain: text, or what its ending makes of the text.

    ``.gz`` is compressed, ``.sqlite3`` is made by the SQL, ``.parquet`` of JSON rows, ``.safetensors`` of a
    JSON mapping of names to numbers, two rows each; ``{text, encoding}`` is encoded, ``{hex}`` gives bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict) and "hex" in content:
        path.write_bytes(bytes.fromhex(content["hex"]))
    elif isinstance(content, dict):
        path.write_bytes(content["text"].encode(content["encoding"]))
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(content.encode(), mtime=0))
    elif path.suffix == ".sqlite3":
        with closing(sqlite3.connect(path)) as made:
            made.executescript(content)
    elif path.suffix == ".parquet":
        tables = importlib.import_module("pyarrow.parquet")
        table = importlib.import_module("pyarrow").Table.from_pylist(json.loads(content))
        tables.write_table(table, path)
    elif path.suffix == ".safetensors":
        header: dict[str, object] = {}
        body = b""
        for name, numbers in json.loads(content).items():
            packed = struct.pack(f"<{len(numbers)}f", *numbers)
            place = [len(body), len(body) + len(packed)]
            header[name] = {"dtype": "F32", "shape": [2, len(numbers) // 2], "data_offsets": place}
            body += packed
        head = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(head)) + head + body)
    else:
        path.write_text(content, encoding="utf-8")
