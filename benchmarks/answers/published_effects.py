"""What published effects say of each other: each is foretold without the document that it is from.

``python -m benchmarks.answers.published_effects [--known FOLDER] [--asked FOLDER]`` reads the effects of the shipped
knowledge, and of knowledge and case files in the folders; effects of the asked folder alone are foretold where
it is given. Printed: the rank correlation of foretold and published gains within each bottleneck, and how often
of two effects of one strategy with opposite signs the right one is foretold the larger. No headline: published
gains are chosen, and a document has seldom more than a few of them. Beside ours: the plain mean of the
strategy's other effects.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyoxigraph import NamedNode

from benchmarks.protocols.lines import last_line
from kg.nouns.effects import Effect
from kg.nouns.entities import Kind, Source
from kg.terms.metrics import SAME_GAIN
from kg.triples.hardware_tree import HardwareTree
from kg.triples.iris import name_of
from kg.triples.serialisation import all_of, from_graph
from kg.triples.tables.effects import EFFECT
from kg.triples.vocabulary import Shared
from recommender.ranking.changes.posterior import KIND_TRUST, ObservedEffect, Prior, effect_state, posterior
from recommender.workspace import Workspace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kg.triples.graph import GraphStore

GROUPS = {
    metric: "throughput" if "throughput" in group else min(group)
    for groups in SAME_GAIN.values()
    for group in groups
    for metric in group
}
"""Metrics that stand for each other, as in the ranking of strategies."""

LEAST = 5
"""Effects of a bottleneck from which on a rank correlation is told."""


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks, equal values sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((2 * last - counts - 1) / 2)[inverse]


def correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float | None:
    """Spearman's rank correlation; None if one of them does not vary."""
    a, b = ranks(one), ranks(other)
    if a.std() == 0 or b.std() == 0:
        return None
    return round(float(np.corrcoef(a, b)[0, 1]), 3)


def documents(graph: GraphStore, effect: Effect) -> set[str]:
    """Where an effect is published: repository or page, without the place in it."""
    found = set()
    for triple in graph.triples(EFFECT.iri(effect), Shared.DERIVED_FROM):
        if not isinstance(triple.object, NamedNode):
            continue
        source = from_graph(graph, Source, name_of(triple.object))
        found.add((source.url or source.title).split("#")[0])
    return found


def foretell(
    graph: GraphStore, tree: HardwareTree, effects: list[Effect], wanted: set[Effect]
) -> list[tuple[Any, ...]]:
    """Strategy, bottleneck, published gain, foretold gain, plain mean; of each effect that others speak of."""
    published = {effect: documents(graph, effect) for effect in effects}
    told = []
    for effect in effects:
        if effect not in wanted or effect.mean is None:
            continue
        group = GROUPS.get(effect.metric, effect.metric)
        others = [
            o
            for o in effects
            if GROUPS.get(o.metric, o.metric) == group and not published[o] & published[effect]
        ]
        mine = [o for o in others if o.strategy == effect.strategy]
        if not mine:
            continue
        prior = Prior.of(others)
        evidence = [
            ObservedEffect(context=o.context, mean=known.mean, n=known.n, trust=KIND_TRUST.get(o.kind, 0.0))
            for o in mine
            if (known := effect_state(o)) is not None
        ]
        gain, _ = posterior(prior, evidence, effect.context, tree.distance)
        plain = float(np.mean([o.mean for o in mine]))
        told.append((effect.strategy, effect.context.bottleneck, effect.mean, gain.expected, plain))
    return told


def figures(told: list[tuple[Any, ...]]) -> dict[str, object]:
    """Rank correlation by bottleneck, and the pairs whose signs differ."""
    by_bottleneck: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    by_strategy: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in told:
        by_bottleneck[row[1]].append(row)
        by_strategy[row[0]].append(row)
    correlations = {}
    for name, rows in sorted(by_bottleneck.items()):
        if len(rows) >= LEAST:
            true, ours, plain = (np.array([row[at] for row in rows]) for at in (2, 3, 4))
            correlations[name or "any"] = {
                "n": len(rows),
                "ours": correlation(ours, true),
                "plain_mean": correlation(plain, true),
            }
    pairs = [
        (high, low)
        for rows in by_strategy.values()
        for high in rows
        for low in rows
        if high[2] > 0 > low[2] and high[2] - low[2] > math.log(1.01)
    ]
    return {
        "foretold": len(told),
        "rank_correlation": correlations,
        "sign_pairs": len(pairs),
        "sign_pairs_ordered": {
            "ours": sum(high[3] > low[3] for high, low in pairs) if pairs else None,
            "plain_mean": sum(high[4] > low[4] for high, low in pairs) if pairs else None,
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--known", type=Path)
    parser.add_argument("--asked", type=Path)
    parser.add_argument("--quick", action="store_true", help="the same: it takes seconds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        path, cache = Path(place) / "workspace", Path(place) / "cache"
        Workspace.create(path, cache=cache, text_model=None)
        before: set[Effect] = set()
        for folder in (arguments.known, arguments.asked):
            if folder is not None:
                with Workspace.open(path, cache=cache) as opened:
                    before = set(all_of(opened.graph, Effect))
                with Workspace.editor(path, cache=cache) as editor:
                    editor.ingest([folder])
        with Workspace.open(path, cache=cache) as opened:
            effects = [e for e in all_of(opened.graph, Effect) if e.kind in {Kind.PUBLISHED, Kind.MEASURED}]
            wanted = set(effects) - (before if arguments.asked else set())
            told = foretell(opened.graph, HardwareTree(opened.graph), effects, wanted)
    result = figures(told)
    for name, row in result["rank_correlation"].items():  # type: ignore[attr-defined]
        print(f"{name:40} {row}", file=sys.stderr)
    last_line(result)


if __name__ == "__main__":
    main()
