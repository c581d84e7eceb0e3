"""Which marks of batches a crash can leave, and which are damage."""

import pytest

from kg.triples.finders import BatchRecord
from recommender.store.upkeep.marks import Marks

RECORDS = {1: BatchRecord(rows=3, seal="a"), 2: BatchRecord(rows=2, seal="b")}
SOUND = {
    "records": RECORDS,
    "published": 2,
    "newest_row": 2,
    "noted": 2,
    "seals": {1: "a", 2: "b"},
    "rows": 5,
    "manifest": (2, "b"),
}


def contradictions(**changed: object) -> list[str]:
    return list(Marks(**{**SOUND, **changed}).contradictions())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "left",
    [
        {},
        {"newest_row": 3, "seals": {1: "a", 2: "b", 3: "c"}},  # killed before the acknowledgement
        {"noted": 1, "published": 1, "manifest": (1, "a")},  # killed after it
        {"noted": None, "seals": {}, "manifest": None},  # a workspace of an older program
        {"published": None},
        {
            "records": {},
            "published": 0,
            "newest_row": 1,
            "noted": None,
            "rows": 0,
            "manifest": None,
            "seals": {},
        },
    ],
)
def test_what_a_crash_can_leave_is_no_damage(left: dict[str, object]) -> None:
    assert contradictions(**left) == []


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ({"noted": 3}, "the trial store has acknowledged batch 3"),
        ({"noted": None, "newest_row": 4}, "the trial store has rows of batch 4"),
        ({"published": 3}, "the published graph has batch 3"),
        ({"manifest": (3, "c")}, "workspace.json has acknowledged batch 3"),
        ({"rows": 4}, "acknowledges 5 rows, the trial store has 4"),
        ({"seals": {2: "x"}}, "batch 2 has another seal in the graph than in the trial store"),
        ({"manifest": (1, "x")}, "batch 1 has another seal in the graph than in workspace.json"),
    ],
)
def test_more_than_that_is_damage(damage: dict[str, object], says: str) -> None:
    [found] = contradictions(**damage)
    assert says in found
