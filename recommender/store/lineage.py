"""History of the knowledge of a workspace: effects, versions, and the next step of evolution."""

from dataclasses import dataclass

from kg.nouns.effects import Effect
from kg.nouns.gain import Gain, factor_text, rounded_factor
from kg.rows.trials import TrialStore
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.knowledge_content import Difference, differences, knowledge_content
from kg.triples.serialisation import newest_batch
from recommender.evolution import components
from recommender.evolution.step import EvolutionChanges, evolve
from recommender.files import LearnedFiles, WorkspaceFiles
from recommender.ranking.changes.posterior import EQUAL, KIND_TRUST, Components, ObservedEffect, posterior
from recommender.ranking.changes.prior import Prior, effect_state
from recommender.ranking.changes.shares import balanced_effects
from recommender.store import versions as saved
from recommender.store.versions import Version


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Effects and versions of a workspace, to be read.

    Attributes:
        layout: Its files.
        graph: Its graph.
        trials: Its rows.
        tree: Its hardware.
    """

    layout: WorkspaceFiles
    graph: GraphStore
    trials: TrialStore
    tree: HardwareTree

    def effects(self, strategy: str = "") -> list[EffectRow]:
        """List the gains of strategies by context, with the gain to expect there again."""
        return effect_rows(
            self.graph, self.tree, components.load(self._learned.components), strategy, self.trials
        )

    def versions(self) -> list[Version]:
        """Return the saved versions of the knowledge, oldest first."""
        return saved.versions(self.layout, newest_batch(self.graph))

    def diff(self, first: str, second: str = saved.NOW) -> list[Difference]:
        """Compare two versions node by node; ``now`` is the current knowledge.

        Raises:
            UnknownEntityError: There is no such version.
        """
        sides = [
            knowledge_content(self.graph) if name == saved.NOW else saved.content(self.layout, name)
            for name in (first, second)
        ]
        return differences(*sides)

    def next_step(self, *, most: int = 10) -> EvolutionChanges:
        """Compute the next step of evolution without writing it."""
        versions = self.versions()
        return evolve(
            self.graph,
            self.trials,
            self.tree,
            known_hardware=versions[-1].hardware if versions else None,
            components=components.load(self._learned.components),
            most=most,
        )

    @property
    def _learned(self) -> LearnedFiles:
        return self.layout.learned(newest_batch(self.graph))


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
