"""Files of one JSON value a line, read line by line."""

import json
from collections.abc import Iterator

from ingest.files.content import MAXIMUM_LINE, Content, ContentError
from kg.errors import Fault


def json_lines(content: Content, *, comment: str = "") -> Iterator[tuple[str, object]]:
    """Place and value of each line; a :class:`Fault` stands for a line that has none.

    Args:
        content: The file.
        comment: Lines that begin with it are passed over, as are blank ones.
    """
    number = 0
    start = comment.encode()
    try:
        for number, line in content.lines():
            place = f"line {number}"
            if line is None:
                yield place, Fault(place=place, reason=f"longer than {MAXIMUM_LINE >> 20} MiB")
                continue
            if not line or line.isspace() or (start and line.lstrip().startswith(start)):
                continue
            try:
                yield place, parse(line)
            except ContentError as fault:
                yield place, Fault(place=place, reason=str(fault))
    except ContentError as fault:
        yield "", Fault(place=f"after line {number}", reason=str(fault))


def parse(line: bytes) -> object:
    """The JSON value in some bytes.

    Raises:
        ContentError: There is none, with the reason.
    """
    try:
        return json.loads(line.decode("utf-8-sig"))
    except json.JSONDecodeError as fault:
        raise ContentError(f"no JSON: {fault.msg} at column {fault.colno}") from fault
    except UnicodeDecodeError as fault:
        raise ContentError(f"no UTF-8 at byte {fault.start + 1}") from fault
    except RecursionError as fault:
        raise ContentError("nested without end") from fault
    except ValueError as fault:  # an integer of thousands of digits
        raise ContentError(f"no JSON: {str(fault)[:100]}") from fault
