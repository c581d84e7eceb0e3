"""Trust of a source is set alike in graph and rows, and moves its gains."""

from datetime import UTC, datetime
from pathlib import Path

from kg.nouns.entities import Case, Kind, Measurement, Source, Trust
from kg.nouns.values import Settings
from kg.rows.ledger import Ledger
from kg.rows.trials import TrialStore
from kg.triples.graph import GraphStore, Triple
from kg.triples.iris import literal, source_iri
from kg.triples.tables.descriptions import TripleDescriptions
from kg.triples.vocabulary import TG
from recommender.store.writing.source_trusts import SourceTrusts
from tests.samples.problems import make_problem

SOURCE = Source(title="a table")


def case(source: Source = SOURCE) -> Case:
    return Case(
        problem=make_problem("copy", "card", kind="operator"),
        configuration=Settings({"tile": 16}),
        measurement=Measurement(metric="latency", unit="s", value=1.0),
        kind=Kind.MEASURED,
        source=source,
    )


def test_trust_is_kept_in_rows_and_stated_in_the_graph_where_it_is_not_medium(tmp_path: Path) -> None:
    graph = GraphStore()
    with TrialStore(tmp_path / "trials.sqlite3") as trials:
        trusts = SourceTrusts(graph, trials)
        ledger = Ledger(graph, {}, datetime(2026, 1, 1, tzinfo=UTC))
        removed: list[Triple] = []
        added = TripleDescriptions()
        assert trusts.of(SOURCE.id) is Trust.MEDIUM
        assert not trusts.set_for([case()], None, 1, ledger, removed, added)
        assert trusts.set_for([case()], Trust.LOW, 1, ledger, removed, added)
        statement = Triple(source_iri(SOURCE.id), TG.TRUST, literal("low"))
        assert (removed, added) == ([], [statement])
        assert trials.trust_of(SOURCE.id) is Trust.LOW
        graph.extend(added)
        assert trusts.set(SOURCE.id, Trust.MEDIUM, 2, ledger, removed, added)
        assert (removed, added) == ([statement], [statement])


def test_a_source_that_comes_with_low_trust_keeps_it(tmp_path: Path) -> None:
    low = Source(title="a table", trust=Trust.LOW)
    graph = GraphStore()
    with TrialStore(tmp_path / "trials.sqlite3") as trials:
        trusts = SourceTrusts(graph, trials)
        ledger = Ledger(graph, {}, datetime(2026, 1, 1, tzinfo=UTC))
        assert trusts.set_for([case(low)], None, 1, ledger, [], TripleDescriptions())
        assert trusts.of(low.id) is Trust.LOW
        trusts.forget()
        assert trusts.of(low.id) is Trust.LOW
