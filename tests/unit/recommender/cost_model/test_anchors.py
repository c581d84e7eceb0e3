"""Measured steps that estimates are anchored on."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.protocols.anchoring import LEAST_SPREAD, fit_anchors, nine_tenths
from recommender.cost_model.anchors import OWN_SITE, Anchors, MeasuredStep, StepKey, shipped_anchors
from recommender.cost_model.estimate import estimate
from recommender.cost_model.operators.kinds import shipped
from tests.unit.recommender.cost_model.machines import machine_of, model

KEY = StepKey(phase="serving", engine="one", device="a", architecture="dense", model="m")


def steps(*ratios: float, key: StepKey = KEY) -> list[MeasuredStep]:
    return [MeasuredStep(key=key, log_ratio=ratio, source=f"row {i}") for i, ratio in enumerate(ratios)]


def anchors(*held: MeasuredStep, site: str = "") -> Anchors:
    fitted = fit_anchors([*held, *steps(0.1, -0.1, key=replace(KEY, engine="other", model="o"))])
    return replace(fitted, site=site)


def test_a_correction_goes_to_what_was_measured_and_less_so_further_away() -> None:
    held = anchors(*steps(0.5, 0.5, 0.5, 0.5, 0.5, 0.5))
    near, device, engine = (
        held.correction(key) for key in (KEY, replace(KEY, device="b"), replace(KEY, engine="new", model="n"))
    )
    assert near
    assert device
    assert engine
    assert 0.3 < near.log_factor < 0.5
    assert abs(engine.log_factor) < device.log_factor <= near.log_factor
    assert near.spread < device.spread < engine.spread


def test_stating_less_never_makes_surer() -> None:
    held = anchors(*steps(0.5, 0.5, 0.5, 0.5, 0.5, 0.5))
    for stated in (KEY, replace(KEY, engine="new", model="n")):
        less = [replace(stated, **{name: ""}) for name in ("engine", "device", "model")]
        spreads = [found.spread for key in (stated, *less) if (found := held.correction(key))]
        assert len(spreads) == 4
        assert min(spreads) >= spreads[0] - 1e-12


def test_more_steps_shrink_less_and_are_surer() -> None:
    few, many = (anchors(*steps(*[0.4] * n)).correction(KEY) for n in (1, 12))
    assert few
    assert many
    assert few.log_factor < many.log_factor
    assert many.spread < few.spread


def test_a_kind_that_is_off_by_more_has_a_wider_interval_drawn_towards_all() -> None:
    experts = replace(KEY, architecture="experts latent", engine="two")
    held = fit_anchors(
        [
            *(
                MeasuredStep(key=replace(KEY, model=f"m{i}"), log_ratio=0.02 * (-1) ** i, source=f"d{i}")
                for i in range(9)
            ),
            *(
                MeasuredStep(key=replace(experts, model=f"e{i}"), log_ratio=0.6 * (-1) ** i, source=f"e{i}")
                for i in range(9)
            ),
        ]
    )
    errors = held.errors
    assert errors.by_kind["serving of dense"] < errors.overall / 2
    assert errors.overall / 3 < errors.by_kind["serving of experts"] <= 1.2 * errors.overall
    dense, other = (held.correction(replace(key, model="new")) for key in (KEY, experts))
    assert dense
    assert other
    assert dense.spread < other.spread
    nobody = held.correction(replace(KEY, architecture="state space", model="new"))
    assert nobody
    assert nobody.spread >= errors.overall  # of a kind that nobody measured all are all there is


def test_an_engine_that_nobody_measured_is_as_unsure_as_engines_were_when_left_out() -> None:
    rows = [
        MeasuredStep(
            key=replace(KEY, engine=engine, model=f"{engine}{i}"), log_ratio=level + 0.02 * (-1) ** i, source=f"{engine}{i}"
        )
        for engine, level in (("one", 0.5), ("two", -0.5))
        for i in range(8)
    ]  # fmt: skip
    held = fit_anchors(rows)
    known, new, unstated = (
        held.correction(replace(KEY, engine=name, model="new")) for name in ("one", "three", "")
    )
    assert known
    assert new
    assert unstated
    assert held.errors.of_new_engines > 2 * held.errors.overall
    assert known.spread < new.spread / 2
    assert unstated.spread >= held.errors.of_new_engines


def test_widths_hold_nine_tenths_of_errors_and_one_more_to_come() -> None:
    off = np.linspace(-1, 1, 21)
    assert nine_tenths(off) == pytest.approx(0.9 / 1.645, rel=0.1)
    assert nine_tenths(off[:9]) == pytest.approx(1 / 1.645, rel=1e-3)  # of nine the largest
    assert nine_tenths(np.zeros(30)) == LEAST_SPREAD


def test_one_row_far_off_hardly_counts() -> None:
    ratios = [0.2] * 8
    plain, off = (anchors(*steps(*given)).correction(KEY) for given in (ratios, [*ratios, 3.0]))
    assert plain
    assert off
    assert off.log_factor - plain.log_factor < 0.1


def test_a_phase_that_nobody_measured_is_left_alone() -> None:
    assert anchors(*steps(0.5)).correction(replace(KEY, phase="training")) is None


def test_three_own_runs_of_a_system_move_it_nearly_all_the_way() -> None:
    own = steps(0.7, 0.65, 0.75, key=replace(KEY, site="own"))
    shared = anchors(*steps(0.0, 0.05, -0.05))
    held = Anchors(
        steps=(*shared.steps, *own), deviations=shared.deviations, errors=shared.errors, site="own"
    )
    after = held.correction(replace(KEY, engine=""))
    before = shared.correction(KEY)
    assert before
    assert after
    assert after.log_factor > 0.5
    assert after.spread < 0.3
    assert "3 measured steps of one" in after.basis


def test_anchors_are_read_as_they_were_written(tmp_path: Path) -> None:
    held = anchors(*steps(0.1, 0.2, 0.3))
    held.write(tmp_path / "steps.json")
    again = Anchors.read(tmp_path / "steps.json")
    assert [step.key for step in again.steps] == [step.key for step in held.steps]
    one, two = held.correction(KEY), again.correction(KEY)
    assert one
    assert two
    assert two.log_factor == pytest.approx(one.log_factor, abs=1e-3)


def test_every_shipped_step_has_a_source_that_can_be_opened() -> None:
    assert len(shipped_anchors().steps) >= 20
    assert all(step.source.startswith("https://") for step in shipped_anchors().steps)


def test_an_anchored_estimate_is_physics_times_its_factor() -> None:
    where, sizes = machine_of("ascend-910c", 16, "atlas-800t-a3"), model("deepseek-r1")
    settings = [{"dp": 2, "ep": 16, "batch": 8, "precision": "int8"}]
    ratio = 0.25
    deviations = dict.fromkeys(shipped_anchors().deviations, 1e-3) | {"engine": 3.0, "noise": 1e-3}
    key = StepKey(phase="serving", engine="one", device="ascend-910c")
    held = Anchors(steps=tuple(steps(ratio, ratio, key=key)), deviations=deviations)
    plain, anchored = (
        estimate(
            model=sizes, machine=where, phase="serving", settings=settings, engine="one",
            operators=replace(shipped(), anchors=one),
        )
        for one in (Anchors(), held)
    )  # fmt: skip
    assert anchored.time_s[0] == pytest.approx(plain.time_s[0] * math.exp(ratio), rel=1e-3)
    assert anchored.throughput[0] == pytest.approx(plain.throughput[0] * math.exp(-ratio), rel=1e-3)
    assert sum(part[0] for part in anchored.split_s.values()) == pytest.approx(anchored.time_s[0])
    assert not plain.basis
    assert anchored.basis == "2 measured steps of one on ascend-910c"


def test_three_runs_of_a_system_narrow_it_and_hold_nine_tenths_of_its_others() -> None:
    """Every shipped system with more runs, each three of them told as one's own, the others asked."""
    shipped = shipped_anchors()
    inside, widths, were = [], [], []
    for key in dict.fromkeys(step.key for step in shipped.steps):
        system = [step for step in shipped.steps if step.key == key]
        rest = tuple(step for step in shipped.steps if step.key != key)
        before = replace(shipped, steps=rest)
        for chosen in itertools.combinations(system, 3) if len(system) > 3 else ():
            own = tuple(replace(step, key=replace(step.key, site=OWN_SITE)) for step in chosen)
            told = replace(shipped, steps=(*rest, *own), site=OWN_SITE)
            (was, now), *_ = told.narrowed(before).values()
            assert now <= was
            widths.append(now)
            were.append(was)
            after = told.correction(key)
            assert after is not None
            off = [abs(step.log_ratio - after.log_factor) for step in system if step not in chosen]
            inside += [one <= 1.645 * after.spread for one in off]
    assert len(inside) > 100
    assert 0.85 <= np.mean(inside) <= 0.95
    assert np.median(widths) < 0.85 * np.median(were)


@pytest.mark.parametrize(("engine", "usual", "off"), [("llama.cpp", 0.75, 0.8), ("vllm", 0.18, 0.3)])
def test_own_runs_where_no_step_is_published_move_others_by_what_they_have_in_common(
    engine: str, usual: float, off: float, tmp_path: Path
) -> None:
    key = StepKey(phase="serving on GPUs", engine=engine, device="a-laptop", model="m", site=OWN_SITE)
    own = [
        MeasuredStep(key=key, log_ratio=off + far, source=f"row {far}", spread=usual)
        for far in (-0.1, 0, 0.1)
    ]
    shipped_anchors().with_own(own).write(tmp_path / "steps.json")
    held = Anchors.read(tmp_path / "steps.json")
    assert shipped_anchors().correction(key, usual) is None
    same, other, elsewhere = (
        held.correction(replace(key, site="", model=model, engine=named), usual)
        for model, named in (("m", engine), ("another", engine), ("another", "some other"))
    )
    assert same
    assert other
    assert elsewhere
    assert same.log_factor > off / 2  # three runs of one system say most of it
    assert off > same.log_factor >= other.log_factor > elsewhere.log_factor >= 0
    assert same.spread < usual
    assert same.spread <= other.spread <= elsewhere.spread <= usual
