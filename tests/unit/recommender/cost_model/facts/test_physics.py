"""Tables of the cost model that people keep."""

import re
from pathlib import Path

import numpy as np
import pytest

import recommender.cost_model
from recommender.cost_model.facts.physics import (
    PHYSICS,
    number_or_word,
    physics_by_place,
    physics_of,
    rows_of,
)
from recommender.cost_model.settings.engine_defaults import engine_defaults
from recommender.cost_model.settings.plans import CHOICES, SERVING

SOURCES = [path.read_text("utf-8") for path in Path(recommender.cost_model.__path__[0]).rglob("*.py")]


@pytest.mark.parametrize("table", ["physics", "engines", "drafts"])
def test_every_row_says_where_it_is_from(table: str) -> None:
    rows = rows_of(table)
    assert rows
    assert [row for row in rows if len(row["source"]) < 4] == []
    names = [tuple(row.get(key) for key in ("name", "engine", "setting", "since", "method")) for row in rows]
    assert len(set(names)) == len(names)


NVIDIA = ("matmul_bf16", "attention_prefill")


def test_every_constant_is_used_and_every_use_has_one() -> None:
    used = {name for text in SOURCES for name in re.findall(r'PHYSICS\[\s*"([^"]+)"', text)}
    used |= {name for text in SOURCES for name in re.findall(r'" if \w+(?:\.\w+)? else "(\w+)"\]', text)}
    groups = {name for text in SOURCES for name in re.findall(r'physics_\w+\(\s*"([^"]+)"', text)}
    groups |= {"state_bytes", "narrow_state_bytes", "own_share", *(f"nvidia.{stem}" for stem in NVIDIA)}
    groups |= {f"prior.{group}" for row in rows_of("operators") for group in row["prior"].split()}
    assert used <= set(PHYSICS)
    assert [name for name in groups if not physics_of(name)] == []
    idle = [
        name for name in PHYSICS if name not in used and not any(name.startswith(f"{g}.") for g in groups)
    ]
    assert idle == []


def test_groups_have_the_order_of_their_choices() -> None:
    for group, choice in (
        ("state_bytes", "optimizer_kind"),
        ("narrow_state_bytes", "optimizer_kind"),
        ("logit_bytes", "loss_kind"),
        ("sequences", "objective_kind"),
        ("frozen_passes", "objective_kind"),
    ):
        assert tuple(physics_of(group)) == CHOICES[choice]
    assert list(physics_by_place("logit_bytes", np.array([2.0, 0.0]))) == [4.0, 6.0]


def test_engines_state_settings_of_the_cost_model() -> None:
    for row in rows_of("engines"):
        assert row["setting"] in SERVING or row["setting"] in {"captured_from_sequences", "oldest"}
        value = engine_defaults("serving", row["engine"], row["since"] or "0.0.1").get(row["setting"])
        assert value in {None, number_or_word(row["value"])}


def test_a_cell_is_a_number_or_a_word() -> None:
    assert [number_or_word(text) for text in ("1", "0.5", "lock-step")] == [1, 0.5, "lock-step"]
    assert isinstance(number_or_word("1"), int)
