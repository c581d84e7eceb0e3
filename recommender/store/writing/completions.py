"""The names that a shell completes, as a text beside the workspace: reading it needs no graph."""

import logging
from collections.abc import Iterator

from kg.atomic_files import write_text
from kg.nouns.knowledge import Level
from kg.rows.trials import TrialStore
from kg.terms.metrics import METRICS
from kg.terms.phases import PHASES
from kg.triples import nodes
from kg.triples.graph import GraphStore
from kg.triples.iris import name_of
from kg.triples.vocabulary import RDF_TYPE, TG, Shared
from recommender.files import WorkspaceFiles

logger = logging.getLogger(__name__)

_CLASSES = {
    "model": TG.MODEL,
    "hardware": TG.HARDWARE_PROFILE,
    "bottleneck": TG.BOTTLENECK,
    "strategy": TG.STRATEGY,
    "framework": TG.FRAMEWORK,
    "recipe": TG.RECIPE,
}
_PRECISIONS = ("bfloat16", "float16", "float32", "fp8", "int8", "w8a8", "w4a8", "w4a16", "int4", "fp4")


def keep_completions(layout: WorkspaceFiles, graph: GraphStore, trials: TrialStore) -> None:
    """Write what can be completed, a name a line; a folder that may not be written has none.

    A line has the kind, the name, and the Chinese name if there is one, with tabs between them.
    """
    lines = sorted({"\t".join(entry) for entry in _entries(graph, trials)})
    try:
        write_text(layout.completions, "".join(f"{line}\n" for line in lines))
    except OSError as error:
        logger.debug("%s cannot be written: %s", layout.completions, error.strerror)


def _entries(graph: GraphStore, trials: TrialStore) -> Iterator[tuple[str, ...]]:
    """Yield kind, name and perhaps Chinese name of everything."""
    servers = {
        triple.subject
        for triple in graph.triples(None, TG.LEVEL)
        if getattr(triple.object, "value", "") == Level.SERVER.value
    }
    chinese = {
        triple.subject: (str(getattr(triple.object, "value", "")),)
        for triple in graph.triples(None, Shared.PREF_LABEL)
        if getattr(triple.object, "language", "") == "zh"
    }
    for kind, term in _CLASSES.items():
        for node in nodes.subjects(graph, RDF_TYPE, term):
            yield ("server" if node in servers else kind, name_of(node), *chinese.get(node, ()))
    fixed = {"metric": METRICS, "phase": [phase.words[0] for phase in PHASES], "precision": _PRECISIONS}
    for kind, names in {"operator": trials.operators(), **fixed}.items():
        for name in names:
            yield kind, name
