"""Effects of a batch are the same whether its outcomes come at once or one by one."""

from datetime import timedelta

from kg.nouns.effects import RECENT, Effect, to_unats
from kg.nouns.entities import (
    Baseline,
    Case,
    Kind,
    Measurement,
    Source,
    Trust,
)
from kg.nouns.outcomes import Outcome
from kg.nouns.values import Settings
from kg.rows.ledger import Ledger
from kg.triples.graph import GraphStore
from kg.triples.serialisation import all_of
from kg.triples.tables.descriptions import TripleDescriptions
from tests.samples.conclusions import NOW, copies, outcome_of

PROBLEM = copies(8)


def told(number: int) -> tuple[Case, Outcome]:
    case = Case(
        problem=PROBLEM,
        configuration=Settings({"tile": 16, "tp": 1 + number % 2}),
        measurement=Measurement(metric="throughput", unit="1/s", value=100.0 + number),
        kind=Kind.MEASURED,
        source=Source(title=f"test {number}"),
        baseline=Baseline(value=100.0, configuration=Settings({"tp": 1 + number % 2})),
        strategy="overlap",
    )
    return case, outcome_of(case, f"outcome-{number}", NOW + timedelta(minutes=number))


def taken(batches: list[list[int]]) -> dict[Settings, Effect]:
    """Effects after batches of outcomes, by the circumstances of their contexts."""
    graph = GraphStore()
    for numbers in batches:
        ledger = Ledger(graph, {}, NOW)
        for number in numbers:
            case, outcome = told(number)
            ledger.count(case, Trust.MEDIUM, outcome)
        added = TripleDescriptions()
        graph.replace(ledger.settle(added), added)
    return {effect.context.facts: effect for effect in all_of(graph, Effect)}


def test_one_batch_of_many_outcomes_is_many_batches_of_one() -> None:
    numbers = list(range(1, 2 * RECENT + 20))
    assert taken([numbers]) == taken([[number] for number in reversed(numbers)])


def test_outcomes_are_counted_in_their_own_circumstances_with_their_gains_and_times() -> None:
    found = taken([[1, 2, 3]])
    odd, even = (found[Settings({"batch": 8, "tp": degree})] for degree in (2, 1))
    gains = [to_unats(told(number)[0].log_gain or 0.0) for number in (1, 2, 3)]
    assert (odd.n, odd.sum_unats, even.n, even.sum_unats) == (2, gains[0] + gains[2], 1, gains[1])
    assert odd.last_evidence == NOW + timedelta(minutes=3)
    assert [item.id for item in odd.recent] == ["outcome-1", "outcome-3"]
