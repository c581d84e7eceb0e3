"""The rebuilt parser against argparse itself, given the same arguments."""

import argparse
import contextlib
import io

import pytest

from tools.oracle.facts import Facts
from tools.oracle.rebuilt import RebuiltParser, is_choice, typed

FLAGS: list[dict[str, object]] = [
    {"key": "--width", "type": "int", "aliases": ["-w"]},
    {"key": "--share", "type": "float"},
    {"key": "--fast", "type": "bool"},
    {"key": "--graph", "type": "bool", "off": "--no-graph"},
    {"key": "--names", "type": "list", "of": "int"},
    {"key": "--pair", "type": "list", "of": "str", "nargs": 2},
    {"key": "--way", "type": "str", "choices": ["ring", "mesh"]},
    {"key": "--maybe", "type": "str", "nargs": "?"},
]


def toy(**heads: object) -> Facts:
    given = {"abbreviates": True, "dotted": False, "dashed": False, "positional": 1, "file": "", **heads}
    flags = {str(entry["key"]): entry for entry in FLAGS}
    return Facts(program="toy", release="1", flags=flags, fields={}, variables={}, **given)  # type: ignore[arg-type]


def original() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--width", "-w", type=int)
    parser.add_argument("--share", type=float)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--graph", action=argparse.BooleanOptionalAction)
    parser.add_argument("--names", nargs="+", type=int)
    parser.add_argument("--pair", nargs=2)
    parser.add_argument("--way", choices=["ring", "mesh"])
    parser.add_argument("--maybe", nargs="?", const="yes")
    return parser


@pytest.mark.parametrize(
    "argv",
    [
        "m --width 3 -w 4 --wid=5", "m --width 3.5", "m --width", "--share 1e-3 m", "m --share x", "m --fast",
        "m --fast=1", "m --fast 1", "m --graph --no-graph", "m --graph=1", "m --names 1 2 3", "m --names", "m --names a",
        "m --pair a b", "m --pair a", "m --way ring", "m --way star", "m --maybe", "m --maybe x", "m --nope", "m --w 1",
        "m extra", "m --fa", "m --n 1", "m --width -1", "m --width --fast",
    ],
)  # fmt: skip
def test_it_accepts_what_argparse_accepts(argv: str) -> None:
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            original().parse_args(argv.split())
        accepted = True
    except SystemExit:
        accepted = False
    _, complaints = RebuiltParser(toy()).read(argv.split())
    assert (not complaints) == accepted, complaints


def test_all_wrong_values_are_said_at_once() -> None:
    _, complaints = RebuiltParser(toy()).read(["--width", "x", "--way", "star", "--nope", "3", "--gone"])
    assert complaints == (
        "argument --width: invalid int value: 'x'",
        "argument --way: invalid choice: 'star' (choose from 'ring', 'mesh')",
        "unrecognized arguments: --nope",
        "unrecognized arguments: --gone",
    )


@pytest.mark.parametrize(
    ("text", "value"), [("8k", 8000), ("8K", 8192), ("25.6k", 25600), ("12", 12), ("-1", -1)]
)
def test_scaled_numbers(text: str, value: int) -> None:
    assert typed(text, "int", scaled=True) == value


def test_choices_are_folded_where_the_program_folds_them() -> None:
    assert is_choice("flash-attn", ["FLASH_ATTN"], folds=True)
    assert not is_choice("flash-attn", ["FLASH_ATTN"], folds=False)
    assert not is_choice("flash", ["FLASH_ATTN"], folds=True)
