"""The usual losses of a job."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.profiles.mechanism_scores import shipped
from benchmarks.profiles.mechanisms import of_traces
from benchmarks.profiles.traced_runs import WORLDS, World, length_us, write
from ingest.profiles.folders import read_profile
from kg.errors import InputError
from recommender.diagnosis.analysis import evidence_by_rank
from recommender.diagnosis.baseline import LAST, JobBaseline, keep_run
from recommender.diagnosis.diagnosis import Diagnosis, diagnose

WORLD = WORLDS["trains on A100"]


def run(folder: Path, world: World, seed: int, *, keep: bool = True) -> Diagnosis:
    profile = read_profile(write(world, np.random.default_rng(seed), folder / "run.pt.trace.json"))
    found = diagnose(profile, *shipped(), usual=JobBaseline.read(folder, "job"))
    if keep:
        losses = evidence_by_rank(list(found.views), shipped()[1])
        keep_run(folder, "job", found.views, found.ledger, losses)
    return found


def altered(change: of_traces.Change) -> World:
    random = np.random.default_rng(3)
    world = change(WORLD, 0.4 * length_us(WORLD, random) / WORLD.steps, random)
    assert world is not None
    return world


def test_what_is_new_is_named_without_a_folder_beside_it(tmp_path: Path) -> None:
    assert JobBaseline.read(tmp_path, "job") is None
    assert [run(tmp_path, WORLD, seed).findings for seed in (1, 2, 3)] == [(), (), ()]
    for change, node in ((of_traces.starved, "slow-dataloader"), (of_traces.low_clock, "frequency-drop")):
        found = run(tmp_path, altered(change), 4, keep=False)
        assert [item.cause.node for item in found.findings] == [node]
        assert found.difference is not None
        assert found.difference.error < 0.01


def test_one_bad_run_does_not_become_usual(tmp_path: Path) -> None:
    starving = altered(of_traces.starved)
    for world in (WORLD, WORLD, starving):
        run(tmp_path, world, 1)
    assert run(tmp_path, starving, 5).findings[0].cause.node == "slow-dataloader"


def test_only_the_last_runs_are_kept(tmp_path: Path) -> None:
    for _ in range(LAST + 2):
        run(tmp_path, WORLD, 1)
    assert len((tmp_path / "job.jsonl").read_text().splitlines()) == LAST


@pytest.mark.parametrize("name", ["../x", "", ".x", "a/b"])
def test_a_name_is_no_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="no name of a job"):
        JobBaseline.read(tmp_path, name)


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "job.jsonl").write_text('{"steps": [1]}\n')
    with pytest.raises(InputError, match="cannot be read"):
        JobBaseline.read(tmp_path, "job")
