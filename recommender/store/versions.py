"""Named versions of the knowledge: saved with a changelog, compared, gone back to.

A version holds what is known (hardware, models, bottlenecks, causes, strategies, trust of sources) and what
was learned of the workspace's own cases. It holds no evidence: problems, rows, outcomes and the effects
counted from them are what was measured, and going back to an older version does not unmeasure it.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kg.errors import InputError, UnknownEntityError, WorkspaceError
from kg.nouns.entities import Trust
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import description
from kg.triples.validation import KNOWLEDGE
from kg.triples.vocabulary import NAMESPACE, PREFIXES, RDF_TYPE, TG, Shared, name_of
from recommender.files import write_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from kg.triples.graph import GraphStore
    from recommender.files import WorkspaceFiles

NOW = "now"
"""Name of the knowledge as it stands."""

TRUST = TG.TRUST
"""Says how far a source is trusted; changed together with the effects counted from it."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
_STATEMENT = f"{NAMESPACE}statement/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A saved version.

    Attributes:
        name: Its name.
        time: When it was saved, as ISO text.
        batch: Newest batch of the graph at that time.
        hardware: Ids of the hardware that it knows.
        changelog: What changed and why, a line each.
    """

    name: str
    time: str
    batch: int
    hardware: frozenset[str]
    changelog: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Plain content, without the hardware."""
        return {
            "name": self.name,
            "time": self.time,
            "batch": self.batch,
            "changelog": list(self.changelog),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A thing that two versions describe differently.

    Attributes:
        about: What, such as ``strategy/overlap``.
        gone: What only the first says.
        come: What only the second says.
    """

    about: str
    gone: tuple[str, ...]
    come: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {"about": self.about, "gone": list(self.gone), "come": list(self.come)}


def knowledge(graph: GraphStore) -> set[Triple]:
    """What a version holds of a graph."""
    found: set[Triple] = set()
    for term in KNOWLEDGE:
        if term == TG.SOURCE:
            continue
        for triple in graph.triples(None, RDF_TYPE, term):
            if isinstance(triple.subject, NamedNode):
                found.update(description(graph, triple.subject))
    for triple in graph.triples(None, TG.TRUST):
        if isinstance(triple.subject, NamedNode) and "/source/" in triple.subject.value:
            found.add(triple)
    return found


def versions(layout: WorkspaceFiles) -> list[Version]:
    """The saved versions, oldest first.

    Raises:
        WorkspaceError: One is damaged.
    """
    if not layout.versions.is_dir():
        return []
    names = [entry.name for entry in layout.versions.iterdir() if _NAME.fullmatch(entry.name)]
    return sorted(
        (_read(layout, name) for name in names), key=lambda item: (item.time, item.batch, item.name)
    )


def free_name(layout: WorkspaceFiles, wanted: str = "") -> str:
    """A name for a new version: the one wanted, or the next of ``v0``, ``v1`` and so on.

    Raises:
        InputError: The name is none, or is taken.
    """
    taken = {item.name for item in versions(layout)}
    if not wanted:
        number = max((int(name[1:]) for name in taken if re.fullmatch(r"v\d+", name)), default=-1)
        return f"v{number + 1}"
    if not _NAME.fullmatch(wanted) or wanted == NOW:
        raise InputError(f"{wanted!r} is no name for a version", hint="letters, digits, - _ and .")
    if wanted in taken:
        raise InputError(f"there is a version {wanted} already", hint=f"known: {', '.join(sorted(taken))}")
    return wanted


def save(
    layout: WorkspaceFiles,
    graph: GraphStore,
    name: str,
    changelog: Sequence[str],
    *,
    batch: int,
    hardware: Iterable[str],
    now: datetime,
) -> Version:
    """Save the knowledge under a name; it is there whole or not at all.

    Raises:
        WorkspaceError: It cannot be written.
    """
    version = Version(
        name=name,
        time=now.isoformat(timespec="microseconds"),
        batch=batch,
        hardware=frozenset(hardware),
        changelog=tuple(changelog),
    )
    draft = layout.versions / f".{name}.{os.getpid()}.new"
    try:
        draft.mkdir(parents=True)
        with gzip.open(draft / "knowledge.nt.gz", "wt", encoding="utf-8", compresslevel=6) as stream:
            stream.writelines(sorted(f"{triple} .\n" for triple in knowledge(graph)))
        for path in _learned(layout):
            if path.is_file():
                shutil.copyfile(path, draft / path.name)
        write_json(draft / "version.json", {**version.to_json(), "hardware": sorted(version.hardware)})
        draft.rename(layout.versions / name)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise WorkspaceError(f"version {name} cannot be saved: {error.strerror or error}") from None
    return version


def content(layout: WorkspaceFiles, name: str) -> set[Triple]:
    """What a saved version says.

    Raises:
        UnknownEntityError: There is none of this name.
        WorkspaceError: It is damaged.
    """
    _read(layout, name)
    path = layout.versions / name / "knowledge.nt.gz"
    store = OxigraphStore(None)
    try:
        with gzip.open(path, "rb") as stream:
            store.load(stream, RdfFormat.N_TRIPLES)  # type: ignore[arg-type]  # it is read as bytes
        return set(store.triples())
    except (OSError, EOFError, InputError) as error:
        raise WorkspaceError(f"{path} is damaged: {error}", hint="choose another version") from None
    finally:
        store.close()


def differences(before: set[Triple], after: set[Triple]) -> list[Changed]:
    """What two versions say differently, by the thing it is said of."""
    gone, come = before - after, after - before
    owners = {
        triple.object.value: triple.subject.value
        for triple in before | after
        if isinstance(triple.object, NamedNode)
        and isinstance(triple.subject, NamedNode)
        and triple.object.value.startswith(_STATEMENT)
    }
    said: dict[str, tuple[list[str], list[str]]] = {}
    for side, triples in enumerate((gone, come)):
        whole = before if side == 0 else after
        for text, about in _said(triples, owners, whole):
            said.setdefault(about, ([], []))[side].append(text)
    return [
        Changed(about=about, gone=tuple(sorted(sides[0])), come=tuple(sorted(sides[1])))
        for about, sides in sorted(said.items())
        if sides[0] != sides[1]
    ]


def restore_learned(layout: WorkspaceFiles, name: str) -> None:
    """Put back what a version had learned of the workspace's own cases.

    Raises:
        WorkspaceError: It cannot be written.
    """
    try:
        for path in _learned(layout):
            saved = layout.versions / name / path.name
            if saved.is_file():
                beside = path.with_name(f"{path.name}.{os.getpid()}.new")
                shutil.copyfile(saved, beside)
                beside.replace(path)
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise WorkspaceError(f"what version {name} had learned cannot be put back: {error}") from None


def trusts(triples: Iterable[Triple]) -> dict[str, Trust]:
    """How far sources are trusted, by id; medium where nothing is said."""
    return {
        name_of(triple.subject): Trust(triple.object.value)
        for triple in triples
        if triple.predicate == TG.TRUST
        and isinstance(triple.subject, NamedNode)
        and isinstance(triple.object, Literal)
    }


def _learned(layout: WorkspaceFiles) -> tuple[Path, ...]:
    return (layout.components, layout.calibration, layout.similarity, layout.outlook)


def _read(layout: WorkspaceFiles, name: str) -> Version:
    path = layout.versions / name / "version.json"
    try:
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Version(
            name=name,
            time=str(raw["time"]),
            batch=int(raw["batch"]),
            hardware=frozenset(raw["hardware"]),
            changelog=tuple(raw["changelog"]),
        )
    except (FileNotFoundError, NotADirectoryError):
        known = [entry.name for entry in layout.versions.iterdir()] if layout.versions.is_dir() else []
        there = ", ".join(sorted(item for item in known if _NAME.fullmatch(item)))
        raise UnknownEntityError(
            f"no version {name!r}", hint=f"known: {there}" if there else "tunegraph evolve saves the first"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{path} is damaged: {error}", hint="choose another version") from None


def _said(triples: Iterable[Triple], owners: dict[str, str], whole: set[Triple]) -> Iterator[tuple[str, str]]:
    """Texts of triples and what they are about; a statement is one text, told of its owner."""
    statements: dict[str, list[Triple]] = {}
    for triple in triples:
        if not isinstance(triple.subject, NamedNode) or _is_plumbing(triple):
            continue
        if triple.subject.value in owners:
            statements.setdefault(triple.subject.value, []).append(triple)
            continue
        if isinstance(triple.object, NamedNode) and triple.object.value in owners:
            statements.setdefault(triple.object.value, [])
            continue
        yield f"{_short(triple.predicate)} {_short(triple.object)}", _short(triple.subject)
    links = {
        triple.object.value: triple
        for triple in whole
        if isinstance(triple.object, NamedNode) and triple.object.value in statements
    }
    for iri, parts in statements.items():
        link = links.get(iri)
        inner = ", ".join(sorted(f"{_short(part.predicate)} {_short(part.object)}" for part in parts))
        what = "" if link is None else _short(link.predicate)
        yield f"{what} ({inner})", _short(NamedNode(owners[iri]))


def _is_plumbing(triple: Triple) -> bool:
    return triple.predicate in {RDF_TYPE, TG.KEY, Shared.NOTATION}


def _short(term: object) -> str:
    if isinstance(term, Literal):
        return term.value
    value = getattr(term, "value", str(term))
    for prefix, namespace in PREFIXES.items():
        if value.startswith(namespace) and prefix != "tg":
            return f"{prefix}:{value.removeprefix(namespace)}"
    return str(value.removeprefix(PREFIXES["tg"]).removeprefix(NAMESPACE))
