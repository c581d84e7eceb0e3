"""Thirty measured operators and the published steps as reference values that must not move unseen."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import data
from recommender.cost_model.operators.collective import OPERATIONS
from recommender.cost_model.operators.kinds import KINDS, shipped

OPERATORS = list(csv.DictReader(Path(__file__).with_name("measured_operators.csv").open(encoding="utf-8")))
TOLERANCE = {"matmul_bf16": 0.3, "moe_bf16": 0.46, "moe_w8a8": 0.35, "collective": 0.4}
"""Largest relative error of one call; 0.15 for the other kinds. One in ten repeats of an expert call in 16 bit
differs by 46 per cent."""


def modelled_us(row: dict[str, str]) -> float:
    call = dict(part.split("=") for part in row["call"].split())
    if "op" in call:
        call["code"] = str(OPERATIONS[call["op"]])
    operators = shipped()
    x = np.array([[float(call[name]) for name in KINDS[row["kind"]].columns]])
    return float(operators[row["kind"]].times_us(operators.reference, x)[0])


@pytest.mark.parametrize("row", OPERATORS, ids=[f"{row['kind']}: {row['call']}" for row in OPERATORS])
def test_a_measured_operator_takes_what_was_measured(row: dict[str, str]) -> None:
    assert modelled_us(row) == pytest.approx(float(row["measured_us"]), rel=TOLERANCE.get(row["kind"], 0.15))


def test_thirty_measured_operators_are_within_six_per_cent_in_the_median() -> None:
    errors = [abs(modelled_us(row) / float(row["measured_us"]) - 1) for row in OPERATORS]
    assert len(errors) >= 30
    assert np.median(errors) < 0.06


def test_published_steps_are_within_a_factor_of_physics_alone() -> None:
    held = json.loads(data.text("cost_model/steps.json"))
    serving = np.array([row["log_ratio"] for row in held["steps"] if row["phase"] == "serving"])
    assert len(serving) >= 20
    # half of them within 1.45; what it was when they were shipped is in docs/figures-notes.md
    assert np.median(np.abs(serving)) < np.log(1.45)
    assert abs(np.median(serving)) < np.log(1.2)
