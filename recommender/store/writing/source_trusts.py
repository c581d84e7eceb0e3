"""Trust of the sources of a workspace, kept alike in graph, rows and effects."""

from collections.abc import Sequence

from kg.nouns.entities import Case, Trust
from kg.rows.cases import trusts_after
from kg.rows.ledger import Ledger
from kg.rows.trials import TrialStore
from kg.triples.graph import GraphStore, Triple
from kg.triples.iris import literal, source_iri
from kg.triples.tables.descriptions import Descriptions
from kg.triples.vocabulary import TG


class SourceTrusts:
    """The trust of each source; all that is not medium is read when first needed.

    Args:
        graph: States the trust that is not medium.
        trials: Keeps it with the number of the batch that set it.
    """

    def __init__(self, graph: GraphStore, trials: TrialStore) -> None:
        self._graph = graph
        self._trials = trials
        self._by_id: dict[str, Trust] | None = None

    def of(self, source_id: str) -> Trust:
        """Return the trust of a source."""
        return self._stated().get(source_id, Trust.MEDIUM)

    def set_for(
        self,
        cases: Sequence[Case],
        wanted: Trust | None,
        batch: int,
        ledger: Ledger,
        removed: list[Triple],
        added: Descriptions,
    ) -> bool:
        """Set the trust of the sources of cases; return whether any changed.

        Args:
            cases: The cases.
            wanted: Their trust from now on; None to leave it, except that low trust of a source is kept.
            batch: Number of the batch.
            ledger: Moves gains to the effects of the new trust.
            removed: Gets the triples to remove from the graph.
            added: Gets what to add.
        """
        changed = False
        for source in {case.source.id: case.source for case in cases}.values():
            default = Trust.LOW if source.trust is Trust.LOW else self.of(source.id)
            changed |= self.set(source.id, wanted or default, batch, ledger, removed, added)
        return changed

    def set(
        self,
        source_id: str,
        trust: Trust,
        batch: int,
        ledger: Ledger,
        removed: list[Triple],
        added: Descriptions,
    ) -> bool:
        """Set the trust of a source from a batch on; return whether it changed. See :meth:`set_for`."""
        before = self.of(source_id)
        if trust is before:
            return False
        ledger.move(self._trials, source_id, before, trust)
        self._trials.set_trust(batch, source_id, trust)
        self._stated()[source_id] = trust
        node = source_iri(source_id)
        removed += self._graph.triples(node, TG.TRUST)
        if trust is not Trust.MEDIUM:
            added.describe(node, [(TG.TRUST, literal(trust.value))])
        return True

    def forget(self) -> None:
        """Read all trust again, after a batch that failed."""
        self._by_id = None

    def _stated(self) -> dict[str, Trust]:
        if self._by_id is None:
            self._by_id = trusts_after(self._trials, 0)
        return self._by_id
