"""The file of a question: YAML or JSON with known keys."""

from pathlib import Path

from kg.atomic_files import read_start
from kg.errors import CaseFormatError, Fault, InputError

MAXIMUM_FILE_BYTES = 1_000_000
"""A question is small; a larger file is something else."""

KEYS = (
    "model",
    "sizes",
    "op",
    "phase",
    "shape",
    "precision",
    "traits",
    "hardware",
    "count",
    "objective",
    "limits",
    "bottlenecks",
    "current",
    "software",
)
"""Keys of a question. ``notes`` beside them holds the assumptions of a reader of another form."""
_INSTEAD = "ask by --model, --phase and --hardware, or with a script: --from-command SCRIPT"


def read_problem_file(path: Path) -> dict[str, object]:
    """The content of a problem file, YAML or JSON.

    Raises:
        InputError: It cannot be read.
        CaseFormatError: It is not a mapping of the known keys.
    """
    from ingest.files.content import ContentError
    from ingest.files.safe_yaml import load_yaml
    from ingest.files.yaml_tree import Faults, parse

    try:
        raw = read_start(path, MAXIMUM_FILE_BYTES)
    except FileNotFoundError:
        raise InputError(f"{path}: no such problem file", hint=_INSTEAD) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint=_INSTEAD) from None
    if len(raw) > MAXIMUM_FILE_BYTES:
        raise InputError(f"{path}: too large for a problem file")
    faults = Faults()
    try:
        top = parse(raw.decode("utf-8-sig"), faults)
        content = None if faults.all else load_yaml(raw)
    except UnicodeDecodeError:
        raise CaseFormatError(
            str(path), [Fault(place="", reason="not UTF-8 text")], hint="save it as UTF-8"
        ) from None
    except ContentError as error:
        raise CaseFormatError(str(path), [Fault(place="", reason=str(error))]) from None
    if top is not None:
        for name in top.names():
            if name not in KEYS:
                top.fault(f"unknown key {name}", name)
    if faults.all or not isinstance(content, dict):
        hint = f"keys: {', '.join(KEYS)}" if isinstance(content, dict) else _INSTEAD
        raise CaseFormatError(str(path), faults.all, hint=hint)
    return content
