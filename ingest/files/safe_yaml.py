"""Foreign YAML as simple values; its size with aliases is computed before anything is built.

A document of a few lines can stand for a thousand million values (each alias repeating the one before); its
size is therefore computed from the parser's events, and a document that is too large is refused.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import yaml

from ingest.files.content import ContentError

MAXIMUM_BYTES = 4 << 20
MAXIMUM_VALUES = 200_000
"""Values of a document after its aliases are written out."""
MAXIMUM_DEPTH = 30
_TOO_LONG = re.compile(r"[-+]?(?:0x[\da-fA-F_]{40,}|0b[01_]{160,}|\d[\d_:]{40,})")
"""A number that no float holds a hundred of; some Python cannot print."""

LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(raw: bytes) -> object:
    """The document in some bytes.

    Raises:
        ContentError: It is none, is too large when written out, or wants objects of a programming language.
    """
    if len(raw) > MAXIMUM_BYTES:
        raise ContentError(f"longer than {MAXIMUM_BYTES >> 20} MiB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise ContentError(f"no UTF-8 at byte {fault.start + 1}") from fault
    with _told():
        check_yaml(text)
        content: object = yaml.load(text, Loader=LOADER)  # noqa: S506  a safe loader
    return content


def check_syntax(text: str) -> None:
    """Read documents without making anything of them, whatever their tags.

    Raises:
        ContentError: One is no YAML, or too large.
    """
    with _told():
        check_yaml(text)


@contextmanager
def _told() -> Iterator[None]:
    """Turn a parser's error into a ``ContentError`` with its line."""
    try:
        yield
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        place = f"line {mark.line + 1}: " if mark is not None else ""
        raise ContentError(f"{place}no YAML: {fault.problem or fault.context}"[:300]) from fault
    except RecursionError as fault:
        raise ContentError("nested without end") from fault
    except (yaml.YAMLError, ValueError, OverflowError) as fault:
        if isinstance(fault, ContentError):
            raise
        raise ContentError(f"no YAML: {' '.join(str(fault).split())}"[:300]) from fault


def check_yaml(text: str) -> None:
    """Compute the size of a document.

    Raises:
        ContentError: It is too large or too deep, or holds itself.
    """
    sizes: dict[str, int] = {}
    open_: list[tuple[str | None, int]] = []  # anchor of each open collection, and its size so far
    total = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_.pop()
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(open_) == MAXIMUM_DEPTH:
                raise ContentError(f"line {_line(event)}: nested more than {MAXIMUM_DEPTH} deep")
            open_.append((event.anchor, 1))
            continue
        elif isinstance(event, yaml.AliasEvent):
            anchor, size = None, sizes.get(event.anchor or "", MAXIMUM_VALUES + 1)
            if any(name == event.anchor for name, _ in open_):
                raise ContentError(f"line {_line(event)}: a value that holds itself")
        elif isinstance(event, yaml.ScalarEvent):
            anchor, size = event.anchor, 1
            if event.implicit[0] and _TOO_LONG.fullmatch(event.value):
                raise ContentError(f"line {_line(event)}: a number of {len(event.value)} digits")
        else:
            continue
        if anchor is not None:
            sizes[anchor] = size
        if open_:
            name, before = open_[-1]
            open_[-1] = name, before + size
            total = open_[-1][1]
        if max(total, size) > MAXIMUM_VALUES:
            raise ContentError(
                f"line {_line(event)}: more than {MAXIMUM_VALUES} values with its aliases written out"
            )


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return 1 if mark is None else int(mark.line) + 1
