"""A release as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.oracle.settings.mining import mine
from tools.oracle.settings.plans import PLANS, SYSTEM, Plan

if TYPE_CHECKING:
    from pathlib import Path


def test_sections_of_a_file_are_objects_with_the_fields_of_their_class(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text(
        "from pydantic import BaseModel, Field\n"
        "class Shards(BaseModel):\n"
        "    model_config = dict(extra='forbid')\n"
        "    count: int = Field(1, ge=0, alias='shard_count')\n"
        "    old: bool = Field(None, json_schema_extra={'deprecated': True, 'new_param': 'count'})\n"
    )
    plan = Plan(software="toy", source="", library=("config.py",), sections={"shards": "Shards"}, file="json")
    found = {item.key: item for item in mine(plan, tmp_path)}
    assert found["shards"].forbids
    count = found["shards.shard_count"]
    assert (count.type, count.default, count.low, count.aliases) == ("int", 1, 0, ("shards.count",))
    assert found["shards.old"].replaced_by == "shards.count"


def test_facts_of_pages_are_added_to_what_sources_leave_open(tmp_path: Path) -> None:
    (tmp_path / "envs.py").write_text('import os\nVALUE = os.environ["TOY"]\n')
    plan = Plan(
        software="toy", source="", environment=("*.py",), facts={"TOY": {"choices": [0, 1], "default": 1}}
    )
    [item] = mine(plan, tmp_path)
    assert (item.choices, item.default, item.stated) == ((0, 1), 1, True)


def test_plans_are_read_from_their_table() -> None:
    assert PLANS["vllm"].source == "https://github.com/vllm-project/vllm/blob/{ref}/{path}"
    assert PLANS["vllm"].dotted
    assert PLANS["torch-npu"].facts["TASK_QUEUE_ENABLE"]["default"] == 1
    assert "PATH" in SYSTEM
