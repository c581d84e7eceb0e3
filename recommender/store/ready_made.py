"""A workspace of the shipped knowledge that lies ready in the wheel, so that the first answer is soon there.

Its archive holds triples, rows and vectors. It names what it was made from, and is passed over where
something else ships beside it. A checkout has none:
``tools/shipping/build_hook.py`` makes it when a wheel is built.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

import data
from embeddings.text_encoder import DEFAULT_MODEL
from embeddings.vector_log import copy_log
from kg.rows.trials_file import copy_database
from kg.triples.exchange import FORMATS
from kg.triples.finders import batch_records
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.snapshots import open_newest, publish
from kg.whole_files import write_bytes
from recommender.files import FORMAT, WorkspaceFiles
from recommender.store import shipped_knowledge as shipped

NAME = "ready/workspace.zip"
"""The archive among the shipped files."""

_NOTE = "made-from.json"
_GRAPH = "graph.nt"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of each member: the same archive comes of the same workspace."""


def made_from() -> dict[str, object]:
    """What an archive must have been made from to be used: the shipped files and the form of workspaces."""
    return {"shipped": shipped.version(), "format": FORMAT}


def pack(layout: WorkspaceFiles, target: Path, with_texts: Path | None) -> None:
    """Write the archive of a workspace that was just made from the shipped knowledge.

    Args:
        layout: The workspace, with structured features alone.
        target: The file to write.
        with_texts: Vectors of the same problems with the default text model; None without them.

    Raises:
        WorkspaceError: The workspace cannot be read.
        OSError: The file cannot be written.
    """
    triples = io.BytesIO()
    with open_newest(layout.graph) as graph:
        graph.dump(triples, FORMATS["ntriples"])
        batch = max(batch_records(graph))
    parts = {_GRAPH: b"".join(sorted(triples.getvalue().splitlines(keepends=True)))}
    with TemporaryDirectory() as place:
        draft = WorkspaceFiles(Path(place))
        copy_database(layout.trials, draft.trials)
        copy_log(layout.vectors, draft.vectors, batch)
        for path in (draft.trials, draft.vectors):
            parts[path.name] = path.read_bytes()
        if with_texts is not None:
            copy_log(with_texts, draft.root / "with-texts", batch)
            parts[_vectors_of(DEFAULT_MODEL)] = (draft.root / "with-texts").read_bytes()
    with ZipFile(target, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(ZipInfo(_NOTE, _LONG_AGO), json.dumps(made_from()))
        for name, content in parts.items():
            archive.writestr(ZipInfo(name, _LONG_AGO), content, ZIP_DEFLATED)


def unpack(layout: WorkspaceFiles, model: str | None) -> bool:
    """Put the parts of the ready-made workspace into a new folder.

    Args:
        layout: Where; there is nothing yet.
        model: Name of its text model; vectors of another than the default one are left to the writer.

    Returns:
        Whether there is one that fits what ships; else the folder is as it was.

    Raises:
        WorkspaceError: The graph cannot be written.
        OSError: A file cannot be written.
    """
    try:
        with data.resource(NAME).open("rb") as stream, ZipFile(stream) as archive:
            if json.loads(archive.read(_NOTE)) != made_from():
                return False
            parts = {layout.trials: archive.read(layout.trials.name)}
            if _vectors_of(model) in archive.namelist():
                parts[layout.vectors] = archive.read(_vectors_of(model))
            triples = archive.read(_GRAPH)
    except (FileNotFoundError, BadZipFile, KeyError, ValueError):  # none, or damaged: members have checksums
        return False
    layout.graph.mkdir(parents=True)
    for path, content in parts.items():
        write_bytes(path, content)
    with OxigraphStore(layout.live) as graph:
        graph.load_plain(triples)
        graph.flush()
        publish(graph, layout.graph)
    return True


def _vectors_of(model: str | None) -> str:
    """Name of the vectors of a text model in the archive."""
    return "vectors.log" if model is None else f"vectors-{model}.log"
