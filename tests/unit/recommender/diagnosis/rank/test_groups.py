"""What a communicator is for, where the group of all ranks has the same members."""

from dataclasses import replace
from typing import Any

import pytest

from ingest.profiles.facts.details import Details, ProcessGroup
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Collective
from recommender.diagnosis.rank.groups import EXPERTS, TENSOR, uses_of_groups


@pytest.mark.parametrize(
    ("about", "use"), [("exp", EXPERTS), ("tp_exp", EXPERTS), ("tp", TENSOR), ("pp", None)]
)
def test_a_group_that_says_its_use_goes_before_the_default_one(
    make: Any, about: str, use: str | None
) -> None:
    gather = Collective(
        name="hcom_allGather__1", group="88120047", step="", is_p2p=False, elapse_ms=1.0, transit_ms=1.0,
        wait_ms=0.0, start_us=None, transfers=(), place=FactPlace("communication.json"),
    )  # fmt: skip
    groups = tuple(
        ProcessGroup(name=f"group_{name}", about=name, ranks=(0, 1)) for name in ("default_group", about)
    )
    ranks = [
        replace(make(rank=number).ranks[0], collectives=(gather,), details=Details(groups=groups))
        for number in (0, 1)
    ]
    assert uses_of_groups(ranks).get("88120047") == use
