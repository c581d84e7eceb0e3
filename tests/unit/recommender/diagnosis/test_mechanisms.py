"""Faults of traces by mechanism: each is named first, alone and beside the run without it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.profiles.mechanisms.of_traces import TRACED
from benchmarks.profiles.traced_runs import WORLDS, length_us, write
from ingest.profiles.folders import read_profile
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.rank.program_signs import signs_of


@pytest.mark.parametrize(
    ("name", "job"),
    [
        ("launches wait", "trains on A100"),
        ("another program takes turns", "trains on A100"),
        ("tokens are made in line", "serves on MI300X"),
        ("memory is slower", "convolves"),
        ("prompts between tokens", "serves on MI300X"),
        ("layers are reduced", "serves on MI300X"),
        ("attention is slower", "trains wide, unmarked"),
    ],
)
def test_a_mechanism_is_named_first(
    tmp_path: Path, network: Any, thresholds: Any, name: str, job: str
) -> None:
    item = next(each for each in TRACED if each.name == name)
    random = np.random.default_rng(11)
    step = length_us(WORLDS[job], random) / WORLDS[job].steps
    world = item.change(WORLDS[job], step * 0.4, random)
    assert world is not None
    now, base = (
        read_profile(write(each, random, tmp_path / f"{at}.pt.trace.json"))
        for at, each in enumerate((world, WORLDS[job]))
    )
    for before in (base, None) if item.alone else (base,):
        first = diagnose(now, network, thresholds, before=before).findings[0]
        assert first.cause.node in item.nodes


def test_launches_that_wait_show_the_variable_that_makes_them(tmp_path: Path) -> None:
    world = next(each for each in TRACED if each.name == "launches wait").change(
        WORLDS["trains on A100"], 4000.0, np.random.default_rng(3)
    )
    assert world is not None
    shown = {
        name: signs_of(
            read_profile(write(each, np.random.default_rng(3), tmp_path / f"{name}.pt.trace.json"))
        )
        for name, each in (("waits", world), ("plain", WORLDS["trains on A100"]))
    }
    assert shown["waits"]["CUDA_LAUNCH_BLOCKING"] == "1"
    assert "CUDA_LAUNCH_BLOCKING" not in shown["plain"]
