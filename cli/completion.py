"""Values for the shell's completion, in a tenth of a second: the standard library and one text alone.

What follows an option such as ``--model`` is answered here. Everything else, such as the names of commands
and options, is left to typer.
"""

import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

KINDS = {
    "--model": ("model",),
    "--hardware": ("hardware", "server"),
    "--server": ("server",),
    "--op": ("operator",),
    "--kernel": ("operator",),
    "--bottleneck": ("bottleneck",),
    "--strategy": ("strategy",),
    "--framework": ("framework",),
    "--software": ("framework",),
    "--objective": ("metric",),
    "--limit": ("metric",),
    "--guard": ("metric",),
    "--phase": ("phase",),
    "--precision": ("precision",),
}
"""Kinds of names by option."""

LISTS = ("models", "hardware", "servers", "bottlenecks", "strategies", "operators", "frameworks", "settings",
         "recipes")  # fmt: skip
_SEARCHES = ("run", "space")
_MOST = 200
"""Names at most: a shell asks before it shows more."""


def values_for_shell(environment: Mapping[str, str]) -> str | None:
    """The text to print for a shell that asks for values.

    Args:
        environment: As the shell sets it: what it is, and the words of the line so far.

    Returns:
        The text; None where it asks for something else, or where no value fits.
    """
    shell = environment.get("_TUNEGRAPH_COMPLETE", "").removeprefix("complete_")
    words = _words(shell, environment)
    if not words:
        return None
    *before, begun = words
    found = values(before, begun, environment)
    if not found:
        return None
    if shell == "zsh":
        quoted = "\n".join(f'"{name}"' for name in found)
        return f"_arguments '*: :(({quoted}))'"
    if shell == "fish" and environment.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return ""
    return "\n".join(found)


def values(before: Sequence[str], begun: str, environment: Mapping[str, str]) -> list[str]:
    """Names that can stand after the words of a line.

    Args:
        before: The words before, the program first.
        begun: What stands of the value.
        environment: Where the workspace is found.

    Returns:
        Those that begin so; else those that hold it, or whose Chinese name begins so.
    """
    if before[-1:] == ["="]:  # bash takes --model=x apart
        before = before[:-1]
    if before[-2:] == ["kb", "list"]:
        return [name for name in LISTS if name.startswith(begun)]
    if before[-2:-1] == ["search"] and before[-1] in _SEARCHES:
        places = (Path(__file__).resolve().parent.parent / "data" / "spaces").glob("*.yaml")
        return sorted(path.stem for path in places if path.stem.startswith(begun))
    kinds = ("recipe",) if before[-3:] == ["kb", "list", "recipes"] else KINDS.get((before or [""])[-1], ())
    if not kinds or begun.startswith("-"):
        return []
    entries = [entry for entry in _entries(before, environment) if entry[0] in kinds]
    low = begun.lower()
    found = [entry[1] for entry in entries if entry[1].startswith(low)]
    found = found or [entry[1] for entry in entries if low in entry[1] or entry[-1].startswith(begun)]
    return sorted(found)[:_MOST]


def _entries(before: Sequence[str], environment: Mapping[str, str]) -> list[list[str]]:
    """Kind, name and perhaps Chinese name of everything in the workspace of a line."""
    from tunegraph.places import Places

    named = [Path(word) for option, word in pairwise(before) if option == "--workspace"]
    place = Places.resolve(named[-1].expanduser() if named else None, environment).workspace
    try:
        lines = (place / "completions.txt").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [line.split("\t") for line in lines]


def _words(shell: str, environment: Mapping[str, str]) -> list[str]:
    """The words of the line up to the one that is begun, which may be empty."""
    if shell == "bash":
        words = _split(environment.get("COMP_WORDS", ""))
        at = int(environment.get("COMP_CWORD", "0"))
        return [*words[:at], words[at] if at < len(words) else ""]
    if shell in {"zsh", "fish"}:
        line = environment.get("_TYPER_COMPLETE_ARGS", "")
        return [*_split(line), ""] if not line or line[-1].isspace() else _split(line)
    return []


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quotation that is not closed yet
        return line.split()
