"""``tunegraph examples``: small files to try the commands with."""

import json
from pathlib import Path
from typing import Annotated

import typer

import data
from cli.output import note, say, table
from kg.atomic_files import write_bytes
from kg.errors import InputError

_FOLDER = "examples"


def examples(
    names: Annotated[list[str] | None, typer.Argument(help="Files to write; none lists them.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Write all of them.")] = False,
    folder: Annotated[Path, typer.Option("--to", help="Folder to write to; made if missing.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """List example files, or write them to this folder.

    Example: tunegraph examples pretrain_llama2.sh npu-smi.txt
    """
    known = {item["name"]: item for item in json.loads(data.text(f"{_FOLDER}/index.json"))}
    chosen = list(known) if everything else names or []
    if not chosen:
        table(("file", "what it is"), [(item["name"], item["about"]) for item in known.values()])
        say("\nThe same as files here: tunegraph examples --all")
        searches = ", ".join(Path(name).stem for name in data.files("spaces", ".yaml"))
        say(f"Searches run by name, such as tunegraph search run matmul: {searches}")
        return
    if strange := [name for name in chosen if name not in known]:
        raise InputError(f"no example named {strange[0]!r}", hint=f"known: {', '.join(known)}")
    texts = {name: data.resource(f"{_FOLDER}/{name}").read_bytes() for name in chosen}
    if not force and (there := [name for name in chosen if _differs(folder / name, texts[name])]):
        raise InputError(f"{folder / there[0]} is there already", hint="--force replaces it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_bytes(folder / name, text)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to ({error.strerror})", hint="--to FOLDER") from None
    for run in dict.fromkeys(known[name]["run"] for name in chosen):
        print(f"tunegraph {run}")
    note(
        f"wrote {len(chosen)} {'file' if len(chosen) == 1 else 'files'} to {folder}; these commands use them"
    )


def _differs(path: Path, text: bytes) -> bool:
    """True if the path holds something other than the example."""
    return path.exists() and not (path.is_file() and path.read_bytes() == text)
