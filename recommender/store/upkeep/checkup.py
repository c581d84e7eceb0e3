"""The files of a workspace checked one by one, whatever state they are in; nothing is changed."""

from collections.abc import Iterator
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from embeddings.text_encoder import INSTALL_HINT, OnnxTextEncoder
from embeddings.vector_table import damaged
from kg.archives import arrays
from kg.errors import InputError, WorkspaceError
from kg.lock import is_held, network_file_system
from kg.rows import batches
from kg.rows.copies import marks_fault
from kg.rows.trials import TrialStore
from kg.triples.exchange import FORMATS
from kg.triples.graph import GraphStore
from kg.triples.snapshots import newest, open_newest
from recommender.cost_model.anchors import Anchors
from recommender.experiment.journal import MARK, SUFFIX, find, names
from recommender.files import PINNED, WorkspaceFiles, folder_faults
from recommender.store.base import Base, open_base_graph
from recommender.store.graph_cache import graph_mismatch
from recommender.store.inspection import CheckResult, Severity

NEEDED = (
    "faiss",
    "networkx",
    "numpy",
    "onnxruntime",
    "pyoxigraph",
    "pyshacl",
    "rdflib",
    "tokenizers",
    "yaml",
)


def installation(cache: Path) -> Iterator[CheckResult]:
    """Findings on the installed packages and the text model.

    Args:
        cache: The user's cache directory, where text models are.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        yield CheckResult(
            about="packages",
            severity=Severity.FAULT,
            says=f"not installed: {', '.join(missing)}",
            remedy="pip install tunegraph",
        )
    else:
        yield CheckResult(about="packages", severity=Severity.OK, says="all that is needed is installed")
    model = OnnxTextEncoder(cache)
    if not model.available:
        yield CheckResult(
            about="text model",
            severity=Severity.NOTE,
            says="not there: similarity rests on numbers and names alone",
            remedy=f"{INSTALL_HINT}, then tunegraph workspace renew --text-model",
        )
    elif faults := model.verify():
        yield CheckResult(
            about="text model",
            severity=Severity.FAULT,
            says="; ".join(faults),
            remedy=f"delete {model.folder}",
        )
    else:
        yield CheckResult(
            about="text model", severity=Severity.OK, says=f"{model.name}, every byte as recorded"
        )


DEEP_BYTES = 1_000_000_000
"""Up to this size of a workspace every row, triple and vector is read unless told otherwise."""

REPAIR = "tunegraph doctor --repair"
RESTORE = "tunegraph workspace restore a backup; else ingest the files again into a new workspace"
SHOWN_FAULTS = 3


def size_bytes(layout: WorkspaceFiles) -> int:
    """Return the size of a workspace's own files; published copies share theirs with the live graph."""
    parts = [layout.trials, *layout.live.glob("*")]
    return sum(part.stat().st_size for part in parts if part.is_file())


def examine(layout: WorkspaceFiles, *, deep: bool, cache: Path | None = None) -> Iterator[CheckResult]:
    """Check live graph, published graph, rows, vectors, saved files and the text model.

    Args:
        layout: The workspace.
        deep: Read every triple, row and vector; else open the parts and compare their marks.
        cache: The user's cache directory, where text models are; None to leave the model out.
    """
    if kind := network_file_system(layout.root):
        says = f"{kind}, a network file system: one machine at a time may use the workspace"
        remedy = "keep it on a local disk, and share it with tunegraph serve or backups"
        yield CheckResult(about="place", severity=Severity.NOTE, says=says, remedy=remedy)
    if is_held(layout.lock):
        yield CheckResult(
            about="live graph", severity=Severity.NOTE, says="being written to: not looked at", remedy=""
        )
    else:
        fault = live_fault(layout, deep=deep)
        yield _result("live graph", [fault] if fault else [], "as its batches say", REPAIR)
    fault = published_fault(layout, deep=deep)
    yield _result("published graph", [fault] if fault else [], "as its batches say", REPAIR)
    if deep:
        faults = file_faults(layout)
        yield _result(
            "rows", faults, "every batch is what was written", RESTORE if is_lost(faults) else REPAIR
        )
        wrong = vector_fault(layout)
        yield _result("vectors", [wrong] if wrong else [], "every checksum agrees", REPAIR)
        yield _result("saved files", saved_faults(layout), "every digest agrees", RESTORE)
        if cache is not None:
            yield from _check_text_model(layout, cache)


def live_fault(layout: WorkspaceFiles, *, deep: bool) -> str:
    """The fault of the live graph; empty if there is none."""
    if not (layout.live / "CURRENT").is_file():
        return f"{layout.live / 'CURRENT'} is missing"
    return _graph_fault(layout, layout.live, deep=deep)


def published_fault(layout: WorkspaceFiles, *, deep: bool) -> str:
    """The fault of the published graph; empty if there is none.

    Blocks that it shares with the live graph, as hard links, are checked there.
    """
    try:
        with open_newest(layout.graph):
            folder = newest(layout.graph) or layout.live
            is_deep = deep and not _shares_blocks(folder, layout.live)
            return _graph_fault(layout, folder, deep=is_deep)
    except WorkspaceError as error:
        return str(error)


def _graph_fault(layout: WorkspaceFiles, folder: Path, *, deep: bool) -> str:
    """The fault of a graph, or its other batches; empty if it is whole, or only behind.

    Args:
        layout: The workspace.
        folder: Of the graph, which nobody writes to.
        deep: Read every block, by subject, by predicate and by object, and compare the counts.
    """
    try:
        with GraphStore(folder, read_only=True) as graph:
            counts = _counts(graph) if deep else ()
            if len(set(counts)) > 1:
                return "{}: {:,} triples by subject, {:,} by predicate, {:,} by object".format(
                    folder, *counts
                )
            with TrialStore(layout.trials, read_only=True) as trials:
                return graph_mismatch(graph, trials.file)
    except (WorkspaceError, ValueError) as error:
        return str(error)


def _counts(graph: GraphStore) -> tuple[int, int, int]:
    """Count the triples by subject, by predicate and by object; reads every block."""
    predicates, objects, total = set(), set(), 0
    for triple in graph.triples():
        predicates.add(triple.predicate)
        objects.add(triple.object)
        total += 1
    by_predicate = sum(1 for item in predicates for _ in graph.triples(None, item))
    by_object = sum(1 for item in objects for _ in graph.triples(None, None, item))
    return total, by_predicate, by_object


def file_faults(layout: WorkspaceFiles) -> list[str]:
    """List what SQLite's own check finds, and batches and configurations that are not what was written."""
    try:
        with TrialStore(layout.trials, read_only=True) as trials:
            return [*batches.faults(trials.file), *filter(None, [marks_fault(trials.file)])]
    except (WorkspaceError, ValueError) as error:
        return [str(error)]


def truth_faults(layout: WorkspaceFiles) -> list[str]:
    """List what is wrong with the file of rows and vectors; the graph is made from it."""
    return [*file_faults(layout), *filter(None, [vector_fault(layout)])]


def is_lost(faults: list[str]) -> bool:
    """True if faults of the rows are more than indexes, which can be made again from the rows."""
    return any(" index " not in f" {fault} " for fault in faults)


def vector_fault(layout: WorkspaceFiles) -> str:
    """The number of vectors that changed since they were written, in words; empty if none."""
    try:
        with TrialStore(layout.trials, read_only=True) as trials:
            number = damaged(trials.file)
    except (WorkspaceError, ValueError) as error:
        return str(error)
    return f"{number} vectors are not what was written" if number else ""


def saved_faults(layout: WorkspaceFiles) -> list[str]:
    """List versions, tests, learned files, carbon series and the base that are not what was written."""
    faults: list[str] = []
    for place in (layout.versions, layout.generations):
        folders = sorted(place.iterdir()) if place.is_dir() else []
        faults += [fault for folder in folders if folder.is_dir() for fault in folder_faults(folder)]
    for name in names(layout.experiments):
        try:
            find(layout.experiments, name)
            path = layout.experiments / f"{name}{SUFFIX}"
            if not is_held(path) and not path.read_bytes().endswith(b"\n"):
                faults.append(f"{path} ends within a line: it was cut, or a crash cut it; resume the test")
        except (WorkspaceError, InputError) as error:
            faults.append(str(error))
    marks = sorted(layout.experiments.glob(f"*{MARK}"))
    gone = [path for path in marks if not path.with_suffix(SUFFIX).exists()]
    faults += [f"{path}: the log of this test is gone; restore a backup, or delete the mark" for path in gone]
    for path in sorted([*layout.models.glob("*.npz"), *layout.green.glob("*.npz")]):
        try:
            arrays(path)
        except (OSError, ValueError) as error:
            faults.append(f"{path} is damaged: {error}")
    if layout.anchors.exists():
        try:
            Anchors.read(layout.anchors)
        except InputError as error:
            faults.append(f"{error}; {error.hint}")
    try:
        Base.read(layout)
        with open_base_graph(layout) as graph:
            graph.dump(BytesIO(), FORMATS["ntriples"])  # its blocks have checksums
    except (OSError, RuntimeError, WorkspaceError) as error:
        faults.append(f"{layout.base}: {error}")
    return faults


def _check_text_model(layout: WorkspaceFiles, cache: Path) -> Iterator[CheckResult]:
    manifest = layout.read()
    name, pinned = manifest.get("encoder"), manifest.get(PINNED)
    if not isinstance(name, str) or not (model := OnnxTextEncoder(cache, name)).available:
        return
    if not isinstance(pinned, dict):
        yield CheckResult(
            about="text model",
            severity=Severity.NOTE,
            says="the workspace has not noted its digests",
            remedy=REPAIR,
        )
        return
    yield _result("text model", model.verify(pinned), f"{name}, every byte as this workspace noted", REPAIR)


def _shares_blocks(folder: Path, other: Path) -> bool:
    return all(
        (other / item.name).is_file() and item.samefile(other / item.name) for item in folder.glob("*.sst")
    )


def _result(about: str, faults: list[str], agreed: str, remedy: str) -> CheckResult:
    says = "; ".join(faults[:SHOWN_FAULTS]) + ("; ..." if len(faults) > SHOWN_FAULTS else "")
    return CheckResult(
        about=about,
        severity=Severity.FAULT if faults else Severity.OK,
        says=says or agreed,
        remedy=remedy if faults else "",
    )
