"""A small JSON document."""

import json

from ingest.files.content import Content, ContentError

SMALL = 16 << 20
"""More bytes than any configuration table or search space has."""


def load_json(content: Content) -> object:
    """The document in a file.

    Raises:
        ContentError: It is no JSON, or too long.
    """
    try:
        return json.loads(content.read_all(SMALL).decode("utf-8-sig"))
    except json.JSONDecodeError as fault:
        raise ContentError(f"line {fault.lineno}: no JSON: {fault.msg}") from fault
    except UnicodeDecodeError as fault:
        raise ContentError(f"no UTF-8 at byte {fault.start + 1}") from fault
    except RecursionError as fault:
        raise ContentError("nested without end") from fault
    except ContentError:
        raise
    except ValueError as fault:  # an integer of thousands of digits
        raise ContentError(f"no JSON: {str(fault)[:100]}") from fault
