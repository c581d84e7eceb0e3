"""The facts of a question in a text, with notes on what could not be read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ingest.questions.bounds import with_own_count
from kg.atomic_files import read_start
from kg.errors import InputError
from kg.nouns.situation import FactOrigin
from kg.nouns.values import parse_json
from kg.terms.meanings import size_of

MAXIMUM_BYTES = 1_000_000
"""A script, a configuration or a table of devices is small; a larger file is something else."""

NOT_READ = "not read: the settings in"
"""Beginning of a note on a file that a text names."""

TABLES = ("shape", "sizes", "current", "software", "traits", "bottlenecks", "places")
"""Keys of a question whose values are names and values: later texts add to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFacts:
    """The facts of one text.

    Attributes:
        question: Keys of a question, as ``ingest.questions.problems.problem_from`` takes them.
        notes: Assumptions, and parts that could not be read, with the reason.
        origin: Where the facts come from.
        files: Files that it names and that state more.
    """

    question: Mapping[str, object]
    notes: tuple[str, ...] = field(default=())
    origin: FactOrigin = FactOrigin.SCRIPT
    files: tuple[str, ...] = field(default=())


def merge_facts(parts: Iterable[LaunchFacts], onto: Mapping[str, object] | None = None) -> dict[str, object]:
    """One question from several texts: later ones win, tables are joined, every note is kept.

    ``origins`` of the question says of each fact, as ``current.max_num_seqs``, where it comes from. Where
    what is told contradicts a text, a note says so.

    Args:
        parts: The texts.
        onto: A question that was merged before them; None for an empty one.
    """
    question = dict(onto or {})
    before_notes, before_origins = question.pop("notes", None), question.pop("origins", None)
    notes = [str(note) for note in before_notes] if isinstance(before_notes, list) else []
    origins = {**before_origins} if isinstance(before_origins, dict) else {}
    for part in parts:
        for name, value in with_own_count(part.question).items():
            before = question.get(name)
            both = name in TABLES and isinstance(before, dict) and isinstance(value, dict)
            question[name] = {**before, **value} if both else value  # type: ignore[dict-item]
            earlier = facts_of(name, before)
            for fact, stated in facts_of(name, value).items():
                for other in _same_as(fact, earlier):
                    if part.origin is FactOrigin.TOLD and _contradict(earlier[other], stated):
                        said = f"{earlier[other]}" if other == fact else f"{other} {earlier[other]}"
                        where = origins.get(other, "text")
                        notes.append(f"{fact} is told as {stated} and wins; the {where} says {said}")
                    if other != fact and isinstance(table := question[name], dict):
                        table.pop(other.partition(".")[2])
                        origins.pop(other, None)
                origins[fact] = str(part.origin)
        notes += part.notes
    if notes:
        question["notes"] = list(dict.fromkeys(notes))
    if origins:
        question["origins"] = origins
    return question


def is_told(question: Mapping[str, object], name: str) -> bool:
    """True unless a fact of a merged question is from a script alone."""
    origins = question.get("origins")
    return not isinstance(origins, dict) or origins.get(name) != FactOrigin.SCRIPT


def facts_of(name: str, value: object) -> dict[str, object]:
    """The facts of a key of a question by name: of a table each entry, as ``shape.input_len``."""
    if isinstance(value, dict) and name in TABLES:
        return {f"{name}.{key}": item for key, item in value.items()}
    return {name: value}


def _same_as(fact: str, earlier: Mapping[str, object]) -> list[str]:
    """Earlier facts that a fact replaces: of its name, or settings in use of the same size."""
    table, _, name = fact.partition(".")
    size = size_of(name) if table == "current" else None
    return [one for one in earlier if one == fact or (size and size_of(one.partition(".")[2]) == size)]


def _contradict(before: object, stated: object) -> bool:
    """True if two values of a fact differ; an unstated one contradicts none."""
    return before not in (None, "") and str(before).lower() != str(stated).lower()


def read_text(path: Path) -> str:
    """The text of a small file.

    Raises:
        InputError: It cannot be read, is too large, or is no text.
    """
    try:
        raw = read_start(path, MAXIMUM_BYTES)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    return decode_text(raw, str(path))


def decode_text(raw: bytes, place: str) -> str:
    """Bytes as text; of a notebook the code of its cells.

    Raises:
        InputError: They are too many, or no text.
    """
    if len(raw) > MAXIMUM_BYTES:
        raise InputError(f"{place}: longer than the {MAXIMUM_BYTES:,} bytes that are read of such a file")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{place}: not UTF-8 text", hint="save it as UTF-8") from None
    if "\0" in text:
        raise InputError(f"{place}: not text")
    if not text.strip():
        raise InputError(f"{place}: empty")
    return _code_of(text) if text.lstrip().startswith("{") and '"nbformat"' in text else text


def _code_of(notebook: str) -> str:
    """The code of a notebook's cells, without what its shell reads; a text that is none stays as it is.

    Source: https://nbformat.readthedocs.io/en/latest/format_description.html
    """
    content = parse_json(notebook)
    cells = content.get("cells") if isinstance(content, dict) else None
    if not isinstance(cells, list):
        return notebook
    sources = [
        one.get("source", "") for one in cells if isinstance(one, dict) and one.get("cell_type") == "code"
    ]
    lines = [
        line
        for one in sources
        for line in ("".join(map(str, one)) if isinstance(one, list) else str(one)).split("\n")
    ]
    return "\n".join(f"# {line}" if line.lstrip().startswith(("%", "!")) else line for line in lines)
