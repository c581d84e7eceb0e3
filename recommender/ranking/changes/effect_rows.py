"""The effects of a graph for people: each with what it makes one expect in its own context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.nouns.gain import factor_text, rounded_factor
from recommender.ranking.changes.posterior import EQUAL, KIND_TRUST, Components, ObservedEffect, posterior
from recommender.ranking.changes.prior import Prior, effect_state
from recommender.ranking.changes.shares import balanced_effects

if TYPE_CHECKING:
    from kg.nouns.effects import Effect
    from kg.nouns.gain import Gain
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRow:
    """An effect and what follows from it and its kin.

    Attributes:
        effect: What was seen.
        gain: What to expect on one more problem of its context; None where nothing was measured.
        drift: When and how it changed, in words; empty if it did not.
    """

    effect: Effect
    gain: Gain | None
    drift: str

    @property
    def gain_text(self) -> str:
        """The expected factor with its 90 % interval."""
        return factor_text(self.gain)

    def to_json(self) -> dict[str, object]:
        """Return the content as JSON-ready values."""
        effect, last = self.effect, self.effect.last_evidence
        return {
            "strategy": effect.strategy,
            "bottleneck": effect.context.bottleneck or None,
            **effect.context.to_json(),
            "metric": effect.metric,
            "kind": str(effect.kind),
            "trust": str(effect.trust),
            "n": effect.n,
            "mean_factor": rounded_factor(effect.mean),
            "posterior": None if self.gain is None else self.gain.to_json(),
            "last_evidence": None if last is None else last.isoformat(timespec="seconds"),
            "drift": self.drift or None,
        }


def effect_rows(
    graph: GraphStore,
    tree: HardwareTree,
    components: Components = EQUAL,
    strategy: str = "",
    trials: TrialStore | None = None,
) -> list[EffectRow]:
    """Return every effect, by strategy and context.

    Args:
        graph: The graph.
        tree: Its hardware.
        components: How the variance between contexts divides.
        strategy: Id of the only strategy wanted; all if empty.
        trials: Tell which source reported which gain; None to leave the effects as the graph counts them.
    """
    every = balanced_effects(graph, trials)
    priors: dict[str, Prior] = {}
    kin: dict[tuple[str, str], list[ObservedEffect]] = {}
    for effect in every:
        trust = min(effect.trust.weight, 1.0) * KIND_TRUST.get(effect.kind, 0.0)
        if (state := effect_state(effect)) is not None and trust > 0:
            kin.setdefault((effect.strategy, effect.metric), []).append(
                ObservedEffect(context=effect.context, mean=state.mean, n=state.n, trust=trust)
            )
    rows = []
    for effect in every:
        if strategy and effect.strategy != strategy:
            continue
        state, gain = effect_state(effect), None
        if state is not None:
            if effect.metric not in priors:
                priors[effect.metric] = Prior.of(item for item in every if item.metric == effect.metric)
            evidence = kin.get((effect.strategy, effect.metric), ())
            gain, _ = posterior(priors[effect.metric], evidence, effect.context, tree.distance, components)
        rows.append(EffectRow(effect=effect, gain=gain, drift="" if state is None else state.drift))
    return sorted(
        rows,
        key=lambda row: (
            row.effect.strategy, row.effect.metric, row.effect.context.hardware, row.effect.context.family,
            row.effect.context.bottleneck, row.effect.context.facts_text, str(row.effect.kind),
            str(row.effect.trust),
        ),
    )  # fmt: skip
