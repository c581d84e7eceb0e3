"""Flags made of configuration classes, by the rules of three programs."""

from pathlib import Path

import pytest

from tools.oracle.settings.class_flags import annotated_flags, class_arguments, of_field, readable_numbers
from tools.oracle.settings.fields import fields_of, forbids
from tools.oracle.settings.source import Sources

ARGUMENTS = """
from dataclasses import dataclass, field
@dataclass
class TrainArgs:
    output: str
    bf16: bool = field(default=False, metadata={"help": "x"})
    shuffle: bool = True
    targets: list[str] = field(default_factory=list)
    extra: dict | str | None = None
    hidden: int = field(init=False, default=1)
"""

CLASSES = """
import enum
from typing import Literal
class Way(enum.Enum):
    RING = "a.path.Ring"
    MESH = "mesh"
class Part:
    count: int = 1
class Args:
    length: int | None = None
    either: bool | str | None = None
    fuse: bool = True
    names: list[str] | str | None = None
    sizes: tuple[int, int] = (1, 2)
    kind: Literal["a", "b"] = "a"
    open_kind: str | Literal["a"] = "a"
    way: Way = Way.RING
    part: Part = Part()
    free: dict[str, int] = {}
"""
NUMBERS = """
def get_kwargs(cls):
    for name in cls:
        readable = {"tokens", "bytes"}
        if name == "length":
            kwargs["type"] = human_readable_int_or_auto
        elif name in readable:
            kwargs["type"] = human_readable_int
        else:
            kwargs["type"] = int
"""


def sources(folder: Path, text: str) -> Sources:
    (folder / "args.py").write_text(text)
    return Sources(folder, ["*.py"])


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("length", {"type": "int", "words": ("", "None"), "nargs": None}),
        ("either", {"type": "any", "nargs": "?"}),
        ("fuse", {"type": "bool", "negation": "--no-fuse", "default": True}),
        ("names", {"type": "list", "of": "str", "nargs": None}),
        ("kind", {"type": "str", "choices": ("a", "b")}),
        ("way", {"type": "str", "choices": ("RING", "MESH", "mesh"), "folds": True}),
        ("part", {"type": "object", "open": False}),
    ],
)
def test_a_field_becomes_the_flag_that_vllm_makes(
    tmp_path: Path, name: str, facts: dict[str, object]
) -> None:
    read = sources(tmp_path, CLASSES)
    item = of_field(fields_of(read, "Args")[name])
    assert {key: getattr(item, key) for key in facts} == facts


def test_numbers_that_may_be_abbreviated(tmp_path: Path) -> None:
    assert readable_numbers(sources(tmp_path, NUMBERS)) == {"length": True, "tokens": False, "bytes": False}


def test_an_annotated_field_becomes_the_flag_that_sglang_makes(tmp_path: Path) -> None:
    text = (
        "class ServerArgs:\n"
        '    path: A[str, Arg(help="x", aliases=["--model"])]\n'
        '    ranks: A[list[int], Arg(help="x", nargs="*")] = None\n'
        '    spec: A[dict, Arg(help="x", type_parser=json.loads)] = None\n'
        '    hidden: A[int, Arg(help="x", no_cli=True)] = 1\n'
    )
    path, ranks, spec = annotated_flags(sources(tmp_path, text))
    assert (path.key, path.aliases, path.required) == ("--path", ("--model",), True)
    assert (ranks.type, ranks.of, ranks.nargs, ranks.required) == ("list", "int", "*", False)
    assert (spec.type, spec.nargs) == ("object", 1)


@pytest.mark.parametrize(
    ("text", "by_keyword", "refuses"),
    [
        ("@config(config=ConfigDict(extra='forbid'))\nclass C:\n    a: int = 1\n", False, True),
        ("def config(cls): merged = ConfigDict(extra=\"forbid\")\n@config\nclass C:\n    a: int = 1\n", False, True),
        ("from pydantic import BaseModel\nclass B(BaseModel):\n    m = dict(extra='forbid')\nclass C(B):\n    a: int\n", False, True),
        ("@dataclass\nclass C:\n    a: int = 1\n", True, True),
        ("@dataclass\nclass C:\n    a: int = 1\n", False, False),
        ("from pydantic.dataclasses import dataclass\n@dataclass\nclass C:\n    a: int = 1\n", True, False),
        ("from pydantic import BaseModel\nclass C(BaseModel):\n    a: int\n", True, False),
    ],
)  # fmt: skip
def test_whether_a_class_refuses_unknown_fields(
    tmp_path: Path, text: str, by_keyword: bool, refuses: bool
) -> None:
    assert forbids(sources(tmp_path, text), "C", by_keyword=by_keyword) is refuses


def test_argument_classes_make_flags_as_hugging_face_does(tmp_path: Path) -> None:
    (tmp_path / "args.py").write_text(ARGUMENTS)
    found = {item.key: item for item in class_arguments(Sources(tmp_path, ["*.py"]), ["TrainArgs", "Absent"])}
    assert set(found) == {"--output", "--bf16", "--shuffle", "--targets", "--extra"}
    assert found["--output"].required
    assert not found["--targets"].required
    assert (found["--bf16"].type, found["--bf16"].nargs, found["--bf16"].negation) == ("bool", "?", "")
    assert found["--shuffle"].negation == "--no_shuffle"
    assert (found["--targets"].type, found["--targets"].of) == ("list", "str")
    assert found["--extra"].type == "any"
