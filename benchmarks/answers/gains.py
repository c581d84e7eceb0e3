"""Tests the gains that a plan prints on published effects of documents it has not seen, by tier.

    python -m benchmarks.answers.gains [--effects FILE]

``--effects`` has published gains of single changes (``tuning_effects.csv``): each is simulated as the plan
simulates a change. The effects of the shipped knowledge are foretold by the other documents that speak of the
same strategy. The width of an interval is fitted without the document that is asked and without all drawn ones. Beside ours: what is
expected of any strategy (the prior, without that document), and for the chance to help the share of gains among
the others. The last line is JSON: by tier ``n``, ``documents``, ``coverage_90``, ``width`` (median, in logs),
``prior_width``, ``prior_coverage_90``, ``brier``, ``brier_base``, ``offered`` and ``offered_right`` (of those with a chance of at least
one half, the share that helped).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from pyoxigraph import NamedNode

from benchmarks import harness
from benchmarks.cost_models.effect_settings import compare_all, document
from benchmarks.worlds.shipped import ShippedKnowledge
from benchmarks.worlds.world import fresh_workspace
from kg.nouns.effects import Effect
from kg.nouns.entities import Kind, Source
from kg.nouns.gain import NORMAL_90, Gain
from kg.terms.metrics import SAME_GAIN
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.iris import name_of
from kg.triples.serialisation import all_of, from_graph
from kg.triples.tables.effects import EFFECT
from kg.triples.vocabulary import Shared
from recommender.cost_model.change import modelled_gain
from recommender.cost_model.fit.measurements import read_rows
from recommender.ranking.change import LEAST_LOG_GAIN
from recommender.ranking.changes.posterior import KIND_TRUST, ObservedEffect, posterior
from recommender.ranking.changes.prior import Prior, effect_state

GROUPS = {
    metric: "throughput" if "throughput" in group else min(group)
    for groups in SAME_GAIN.values()
    for group in groups
    for metric in group
}
"""Metrics that stand for each other, as in the ranking of strategies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """A published gain beside the one foretold without its document.

    Attributes:
        published: Log gain.
        gain: Ours.
        prior: What is expected of any strategy.
        documents: Where it is published.
    """

    published: float
    gain: Gain
    prior: Gain
    documents: frozenset[str]


def documents(graph: GraphStore, effect: Effect) -> frozenset[str]:
    """The repositories or pages where an effect is published, without the place in them."""
    cited = (triple.object for triple in graph.triples(EFFECT.iri(effect), Shared.DERIVED_FROM))
    sources = [from_graph(graph, Source, name_of(node)) for node in cited if isinstance(node, NamedNode)]
    return frozenset((source.url or source.title).split("#")[0] for source in sources)


def published(graph: GraphStore, tree: HardwareTree) -> list[Foretold]:
    """The effects of the knowledge of which another document speaks too."""
    effects = [one for one in all_of(graph, Effect) if one.kind in {Kind.PUBLISHED, Kind.MEASURED}]
    cited = {one: documents(graph, one) for one in effects}
    found = []
    for effect in effects:
        group = GROUPS.get(effect.metric, effect.metric)
        others = [
            one
            for one in effects
            if GROUPS.get(one.metric, one.metric) == group and not cited[one] & cited[effect]
        ]
        evidence = [
            ObservedEffect(
                context=one.context, mean=state.mean, n=state.n, trust=KIND_TRUST.get(one.kind, 0.0)
            )
            for one in others
            if one.strategy == effect.strategy and (state := effect_state(one)) is not None
        ]
        if effect.mean is None or not evidence:
            continue
        prior = Prior.of(others)
        gain, bare = (posterior(prior, seen, effect.context, tree.distance)[0] for seen in (evidence, ()))
        found.append(Foretold(published=effect.mean, gain=gain, prior=bare, documents=cited[effect]))
    return found


def modelled(rows: list[dict[str, str]], known: ShippedKnowledge, prior: Gain) -> list[Foretold]:
    """The published changes that a plan would give a simulated number, with the shipped spread."""
    found = []
    for one in compare_all(rows, known)[0]:
        expected, gained = one.log_gains
        if one.part or "memory" in one.row["metric"] or abs(expected) < LEAST_LOG_GAIN:
            continue
        gain = modelled_gain(expected)
        found.append(
            Foretold(published=gained, gain=gain, prior=prior, documents=frozenset({document(one.row)}))
        )
    return found


def nested(asked: Sequence[Foretold], found: Sequence[Foretold], drawn: frozenset[str]) -> list[Foretold]:
    """Gains with spreads fitted to the documents that are neither drawn nor their own."""
    respread = []
    for one in asked:
        others = [other for other in found if not other.documents & (one.documents | drawn)]
        if others:
            respread.append(replace(one, gain=modelled_gain(one.gain.expected, fitted_spread(others))))
    return respread


def fitted_spread(found: Sequence[Foretold]) -> tuple[float, float]:
    """The likeliest spread of a change that does nothing and its growth, as wide as nine tenths of the errors."""
    gains = np.array([one.gain.expected for one in found])
    errors = np.array([one.published for one in found]) - gains
    least, growth = (grid.ravel() for grid in np.meshgrid(np.geomspace(0.02, 0.5, 60), np.linspace(0, 1, 60)))
    spreads = np.hypot(least[:, None], growth[:, None] * gains)
    best = int(np.argmin((np.log(spreads) + (errors / spreads) ** 2 / 2).sum(1)))
    share = min(1.0, 0.9 * (1 + 1 / len(found)))
    widened = float(np.quantile(np.abs(errors / spreads[best]), share)) / NORMAL_90
    return float(least[best] * widened), float(growth[best] * widened)


def figures(found: Sequence[Foretold], known: Sequence[Foretold]) -> dict[str, object]:
    """Coverage, width and chance of some gains; the base rate is of the other documents of ``known``."""
    if not found:
        names = (
            "coverage_90", "width", "prior_width", "prior_coverage_90", "brier", "brier_base", "offered_right"
        )  # fmt: skip
        return {"n": 0, "documents": 0, "offered": 0, **dict.fromkeys(names)}
    helped = np.array([one.published > 0 for one in found], dtype=float)
    chance = np.array([one.gain.probability_of_gain for one in found])
    base = np.array([_share_without(known, one) for one in found])
    offered = helped[chance >= 0.5]
    inside, by_prior = (
        [gain.low <= one.published <= gain.high for one, gain in pairs]
        for pairs in ([(one, one.gain) for one in found], [(one, one.prior) for one in found])
    )
    return {
        "n": len(found), "documents": len(frozenset().union(*(one.documents for one in found))),
        "coverage_90": round(float(np.mean(inside)), 3),
        "width": round(float(np.median([one.gain.high - one.gain.low for one in found])), 3),
        "prior_width": round(float(np.median([one.prior.high - one.prior.low for one in found])), 3),
        "prior_coverage_90": round(float(np.mean(by_prior)), 3),
        "brier": round(float(np.mean((chance - helped) ** 2)), 3),
        "brier_base": round(float(np.mean((base - helped) ** 2)), 3),
        "offered": len(offered),
        "offered_right": round(float(np.mean(offered)), 3) if len(offered) else None,
    }  # fmt: skip


def _share_without(found: Sequence[Foretold], asked: Foretold) -> float:
    """The share of gains among the effects of other documents; one half without any."""
    others = [one.published > 0 for one in found if not one.documents & asked.documents]
    return float(np.mean(others)) if others else 0.5


def main() -> None:
    """Run and print."""
    arguments = harness.read(__doc__, harness.place("--effects", required=False))
    with fresh_workspace() as opened:
        tree = HardwareTree(opened.graph)
        of_documents = published(opened.graph, tree)
        effects = [one for one in all_of(opened.graph, Effect) if one.kind is Kind.PUBLISHED]
        whole = [one for one in effects if GROUPS.get(one.metric) == "throughput"]
        prior = posterior(Prior.of(whole), (), effects[0].context, tree.distance)[0]
    simulated: list[Foretold] = []
    if arguments.effects is not None:
        simulated = modelled(read_rows(arguments.effects), ShippedKnowledge.load(), prior)
    held = arguments.draw("document", (name for one in simulated for name in one.documents))
    cited = arguments.draw("cited document", (name for one in of_documents for name in one.documents))
    drawn = frozenset[str]() if arguments.all else held
    asked = [one for one in simulated if one.documents & held]
    told = [one for one in of_documents if one.documents & cited]
    result: dict[str, object] = {
        "modelled": figures(nested(asked, simulated, drawn), simulated),
        "modelled_shipped_spread": figures(asked, simulated),
        "published": figures(told, of_documents),
    }
    others = [one for one in simulated if not one.documents & drawn]
    result["spread"] = [round(part, 3) for part in fitted_spread(others)] if others else None
    arguments.last_line(result, n=len(asked) + len(told))


if __name__ == "__main__":
    main()
