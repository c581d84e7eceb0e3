"""History of the knowledge of a workspace: effects, versions, and the next step of evolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.triples.knowledge_content import differences, knowledge_content
from kg.triples.serialisation import newest_batch
from recommender.evolution import components
from recommender.evolution.step import evolve
from recommender.ranking.changes.effect_rows import effect_rows
from recommender.store import versions as saved

if TYPE_CHECKING:
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree
    from kg.triples.knowledge_content import Difference
    from recommender.evolution.step import EvolutionChanges
    from recommender.files import LearnedFiles, WorkspaceFiles
    from recommender.ranking.changes.effect_rows import EffectRow
    from recommender.store.versions import Version


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
