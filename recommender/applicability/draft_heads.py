"""Published draft models, by the model that they draft for and the program whose documents name them.

``data/models/drafts.csv`` has one row a head: the model, words of the checkpoint that it was trained for
where those differ (``Instruct-2507``), the method, the program and the document. A head of another program
may be in a form that this one does not load, so it counts only where the program is not told.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import data
from kg.terms.model_name import Part, read_name
from kg.terms.setting_registry import registry, softwares


@dataclass(frozen=True, slots=True)
class DraftHead:
    """A published draft model.

    Attributes:
        name: As a hub has it.
        source: The document that names it.
    """

    name: str
    source: str


def draft_head(
    model: str, method: str, programs: Sequence[str] = (), checkpoint: str = ""
) -> DraftHead | None:
    """The published draft model of a model for a method; None where none is known.

    Args:
        model: Id of the model.
        method: As an engine spells it.
        programs: What may load it; any if empty.
        checkpoint: The model as a hub has it, where it is named so.
    """
    rows = [row for row in _rows().get(model, ()) if row["method"] == method.lower()]
    told = dict.fromkeys(name for program in programs for name in (program, *_beneath(program)))
    for name in told if told.keys() & _programs() else dict.fromkeys(row["software"] for row in rows):
        if found := _of_checkpoint([row for row in rows if row["software"] == name], checkpoint):
            return found
    return None


def drafted_by(model: str, programs: Sequence[str] = (), checkpoint: str = "") -> frozenset[str]:
    """Methods for which a draft model of the model is published, as :func:`draft_head`."""
    methods = {row["method"] for row in _rows().get(model, ())}
    return frozenset(item for item in methods if draft_head(model, item, programs, checkpoint))


def _of_checkpoint(rows: Sequence[Mapping[str, str]], checkpoint: str) -> DraftHead | None:
    """The head of these very weights; of dated ones also where the question names no checkpoint."""
    told = _edition(checkpoint)
    of_these = [row for row in rows if _edition(f"{row['model']}-{row['checkpoint']}") == told]
    dated = [row for row in rows if row["checkpoint"].isdigit() and not told]
    found = next(iter([*of_these, *dated]), None)
    return None if found is None else DraftHead(found["head"], found["source"])


def _beneath(program: str) -> Sequence[str]:
    """The programs that a program runs on: what they load, it loads."""
    return sorted(registry(program).beneath) if program in softwares() else ()


def _edition(name: str) -> frozenset[str]:
    """The words of a name that tell weights of their own: a date, with the role that it has."""
    words = read_name(name).words
    dates = {word.text for word in words if word.part is Part.DATE}
    return frozenset(dates | {word.text for word in words if dates and word.part is Part.ROLE})


@cache
def _rows() -> Mapping[str, Sequence[Mapping[str, str]]]:
    found: dict[str, list[Mapping[str, str]]] = {}
    for row in csv.DictReader(data.text("models/drafts.csv").splitlines()):
        found.setdefault(row["model"], []).append(row)
    return found


@cache
def _programs() -> frozenset[str]:
    return frozenset(row["software"] for rows in _rows().values() for row in rows)
