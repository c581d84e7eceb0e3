"""Steps by the formulas alone, as they were when they were last checked: none of their figures moves unseen.

Machines, models and settings stand beside their figures in ``step_references.json``, and operators have their
priors, so that neither new facts nor a new calibration moves them: only a change of a formula does. After one that
is meant, ``python tests/unit/recommender/cost_model/test_step_references.py`` writes the figures anew.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recommender.cost_model.estimate import estimate
from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.model import model_of
from recommender.cost_model.machine import machine
from recommender.cost_model.operators.kinds import KINDS, Operators
from recommender.cost_model.settings.plans import PHASES, name_of

PLACE = Path(__file__).with_name("step_references.json")
HELD: dict[str, Any] = json.loads(PLACE.read_text(encoding="utf-8"))
DIGITS = 7


@cache
def _machine(place: str, count: int) -> Any:
    held = HELD["machines"][place]
    return machine(place, held["device"], count=count, server=held["name"], server_facts=held["server"])


@cache
def _priors() -> Operators:
    return Operators({}, Device("reference", HELD["machines"]["npu"]["device"]))


def step_figures(case: dict[str, Any]) -> dict[str, float]:
    """All figures of a step by name."""
    model = HELD["models"][case["model"]]
    steps = estimate(
        model=model_of(case["model"], model["architecture"], model["facts"]),
        machine=_machine(case["machine"], case["count"]),
        phase=case["phase"],
        settings=[case["settings"]],
        operators=_priors(),
    )
    found: dict[str, Any] = {
        "time_s": steps.time_s, "hidden_s": steps.hidden_s, "throughput": steps.throughput,
        "power_w": steps.power_w, "energy_j": steps.energy_j, "spread": [steps.spread],
        **{f"{name} s": part for name, part in steps.split_s.items()},
        **{f"{name} bytes": part for name, part in steps.memory_bytes.items()},
        **steps.extra,
    }  # fmt: skip
    return {name: rounded(part[0]) for name, part in found.items() if part is not None}


def operator_figures(stem: str, row: list[float], place: str) -> list[float]:
    """Microseconds of one call of an operator by its formula and priors, and what its correction is learned of."""
    device = Device(place, HELD["machines"][place]["device"])
    kind = KINDS[stem]
    times, features = kind.analytic(device, np.array([row], dtype=np.float64), kind.prior)
    return [rounded(value) for value in (times[0], *features[0])]


def rounded(value: float) -> float:
    return float(f"{float(value):.{DIGITS}g}")


@pytest.mark.parametrize(
    "case", HELD["steps"], ids=[f"{c['phase']} {c['model']} {c['settings']}" for c in HELD["steps"]]
)
def test_a_step_takes_what_it_took(case: dict[str, Any]) -> None:
    assert step_figures(case) == pytest.approx(case["figures"], rel=2 * 10**-DIGITS * 5)


@pytest.mark.parametrize(
    "call", HELD["operators"], ids=lambda call: f"{call['stem']} {call['row']} {call['machine']}"
)
def test_an_operator_takes_what_it_took(call: dict[str, Any]) -> None:
    found = operator_figures(call["stem"], call["row"], call["machine"])
    assert found == pytest.approx(call["figures"], rel=1e-6)


@pytest.mark.parametrize("phase", PHASES)
def test_every_setting_is_in_a_step(phase: str) -> None:
    stated = [
        settings for case in HELD["steps"] if case["phase"] == phase for settings in case["settings"].items()
    ]
    moved = {name_of(name, PHASES[phase]) for name, value in stated}
    assert set(PHASES[phase]) == moved | ({"data_parallel"} if phase == "training" else set())  # it follows


if __name__ == "__main__":
    for one in HELD["steps"]:
        one["figures"] = step_figures(one)
    for one in HELD["operators"]:
        one["figures"] = operator_figures(one["stem"], one["row"], one["machine"])
    sections = [f'"{name}": {json.dumps(HELD[name], indent=1)}' for name in ("machines", "models")]
    for name in ("steps", "operators"):
        rows = ",\n".join(map(json.dumps, HELD[name]))
        sections.append(f'"{name}": [\n{rows}\n]')
    PLACE.write_text("{\n" + ",\n".join(sections) + "\n}\n", encoding="utf-8")
