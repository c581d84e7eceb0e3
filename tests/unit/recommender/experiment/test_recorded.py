"""Measurements made elsewhere: every form is read, its design judged, and what is wrong is said."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kg.errors import CaseFormatError, InputError
from recommender.experiment.design import CONTROL
from recommender.experiment.recording import Recorded, recorded
from recommender.experiment.schemes import SESSION, Scheme
from recommender.experiment.standing import standing
from recommender.experiment.verdict import Verdict

LATENCY: dict[str, Any] = {"metrics": ["latency:ms"]}


def values(factor: float, count: int = 30, seed: int = 1) -> list[float]:
    rng = np.random.default_rng(seed)
    return [factor * math.exp(0.02 * noise) for noise in rng.normal(size=count)]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def table(tmp_path: Path, rows: list[dict[str, Any]], name: str = "t.csv") -> Path:
    lines = [",".join(rows[0])] + [",".join(str(cell) for cell in row.values()) for row in rows]
    return write(tmp_path / name, "\n".join(lines) + "\n")


def paired(count: int = 30, gain: float = 0.9, seed: int = 2) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows = []
    for pair in range(count):
        for arm in rng.permutation(["before", "after"]):
            factor = gain if arm == "after" else 1.0
            rows.append({"pair": pair, "arm": arm, "latency": factor * math.exp(0.02 * rng.normal())})
    return rows


def verdict(found: Recorded) -> Verdict:
    return standing(found.samples, found.design).verdict


def test_a_row_a_measurement_in_random_pairs(tmp_path: Path) -> None:
    path = table(tmp_path, paired())
    found = recorded([path], **LATENCY, in_order=True)
    assert (found.design.scheme, found.design.unit) == (Scheme.RANDOMISED, "s")
    assert verdict(found) is Verdict.BETTER
    assert found.samples[0].mean("latency") == pytest.approx(1e-3, rel=0.2)
    assert standing(found.samples, found.design).comparisons[0].interval.pairs == 30


def test_a_row_a_pair(tmp_path: Path) -> None:
    lines = [f"{a};{b}" for a, b in zip(values(1.0), values(0.9, seed=3), strict=True)]
    found = recorded([write(tmp_path / "w.csv", "control;treatment\n" + "\n".join(lines))], **LATENCY)
    assert found.design.scheme is Scheme.PAIRED
    assert verdict(found) is Verdict.BETTER


def test_all_of_one_then_all_of_the_other(tmp_path: Path) -> None:
    rows = [{"arm": "A", "latency": value} for value in values(1.0)]
    rows += [{"arm": "B", "latency": value} for value in values(0.98, seed=4)]
    found = recorded([table(tmp_path, rows)], **LATENCY, in_order=True)
    assert found.design.scheme is Scheme.SEQUENTIAL
    assert verdict(found) is Verdict.UNDECIDED  # 2 % would be seen in pairs, not here


def test_times_put_rows_in_order(tmp_path: Path) -> None:
    rows = paired()
    stamped = [{"time": f"2026-01-01T00:{place:02}:00", **row} for place, row in enumerate(rows)]
    stamped.reverse()
    found = recorded([table(tmp_path, stamped)], **LATENCY)
    assert found.design.scheme is Scheme.RANDOMISED
    assert [item.at_s for item in found.samples] == sorted(item.at_s for item in found.samples)


def test_json_in_three_forms(tmp_path: Path) -> None:
    lists = {"A": {"values": values(1000.0), "unit": "ms"}, "B": {"values": values(0.8), "unit": "s"}}
    forms = {
        "lists.json": json.dumps(lists),
        "rows.json": json.dumps(paired()),
        "lines.jsonl": "\n".join(map(json.dumps, paired())),
    }
    for name, text in forms.items():
        request: dict[str, Any] = {"metrics": ["latency"]} if name == "lists.json" else LATENCY
        assert verdict(recorded([write(tmp_path / name, text)], **request)) is Verdict.BETTER, name


def test_two_logs(tmp_path: Path) -> None:
    logs = [
        write(tmp_path / f"{name}.log", "hello\n" + "".join(f"step took {v} ms\n" for v in values(f)))
        for name, f in (("a", 100.0), ("b", 80.0))
    ]
    found = recorded(logs, patterns=[r"step_time:ms=took (\S+)"], warmup=2)
    assert (len(found.samples), found.design.unit, found.design.scheme) == (56, "s", Scheme.SEQUENTIAL)
    assert verdict(found) is Verdict.BETTER


def test_a_guardrail_is_a_column(tmp_path: Path) -> None:
    rows = [{**row, "energy": 2 if row["arm"] == "after" else 1} for row in paired()]
    guarded: dict[str, Any] = {"metrics": ["latency:ms"], "guards": ["energy<=+5%"]}
    assert verdict(recorded([table(tmp_path, rows)], **guarded, in_order=True)) is Verdict.WORSE


def test_failures_are_outcomes(tmp_path: Path) -> None:
    rows = [{**row, "status": "oom" if row["arm"] == "after" else "ok", "latency": 1.0} for row in paired()]
    found = recorded([table(tmp_path, rows)], **LATENCY, in_order=True)
    [item] = standing(found.samples, found.design).comparisons
    assert (item.verdict, item.failures.treatment, item.failures.reason) == (Verdict.WORSE, 30, "oom")


def test_arms_have_names_of_their_own(tmp_path: Path) -> None:
    rows = [{**row, "arm": {"before": "v1", "after": "v2"}[row["arm"]]} for row in paired()]
    path = table(tmp_path, rows)
    with pytest.raises(InputError, match="which arm is control") as fault:
        recorded([path], **LATENCY)
    assert "v1" in fault.value.hint
    found = recorded([path], names=("v1", "v2"), **LATENCY)
    assert {item.arm for item in found.samples} == {CONTROL, "treatment"}
    with pytest.raises(InputError, match="none of the arms"):
        recorded([path], names=("v1", "v3"), **LATENCY)
    with pytest.raises(InputError, match="both v1"):
        recorded([path], names=("v1", "v1"), **LATENCY)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (
            "x.json",
            '{"A": {"values": [1, 2], "unit": "ms"}, "B": {"values": [1], "unit": "W"}}',
            "is in s for A",
        ),
        ("x.json", '{"A": {"values": [1, 2], "unit": "ms"}, "B": [1, 2]}', "no unit for B"),
        ("x.json", '{"A": [1, 2], "B": 3}', "no list of values"),
        ("x.json", "[1, 2]", "expected rows"),
        ("x.json", "{", "neither JSON"),
        ("x.csv", "", "no rows"),
        ("x.csv", "arm,latency\n", "no rows"),
        ("x.csv", "arm,speed\nA,1\nB,2\n", "no column of latency"),
        ("x.csv", "who,latency\nA,1\nB,2\n", "no column for the arm"),
        ("x.csv", "arm,latency\nA,1\nB,zero\n", "no number"),
        ("x.csv", "arm,latency\nA,1\nB,nan\n", "is nan"),
        ("x.csv", "arm,latency\nA,1\nB,0\n", "above zero"),
        ("x.csv", "arm,latency\nA,1\nB,-2\n", "above zero"),
        ("x.csv", "arm,latency,unit\nA,1,furlong\nB,2,s\n", "unknown unit"),
        ("x.csv", "arm,latency,time\nA,1,noon\nB,2,1\n", "noon"),
        ("x.csv", "arm,latency\nA,1\nA,2\n", "which arm is treatment"),
    ],
)
def test_what_cannot_be_compared_is_said(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        recorded([write(tmp_path / name, text)], metrics=["latency"])


def test_every_wrong_row_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaseFormatError) as fault:
        recorded([write(tmp_path / "x.csv", "arm,latency\nA,x\nB,2\n,3\n")], **LATENCY)
    assert [item.place for item in fault.value.faults] == ["row 2", "row 4"]


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        recorded([tmp_path / "none.csv"], **LATENCY)
    with pytest.raises(InputError, match="3 files"):
        recorded([tmp_path] * 3, **LATENCY)
    with pytest.raises(InputError, match="which column"):
        recorded([tmp_path])
    with pytest.raises(InputError, match="where the logs have"):
        recorded([tmp_path, tmp_path])
    log = write(tmp_path / "a.log", "nothing\n")
    with pytest.raises(InputError, match="no line has step_time"):
        recorded([log, log], patterns=[r"step_time:ms=took (\S+)"])
    (tmp_path / "latin.csv").write_bytes("arm,latency\nA,\xe9\n".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        recorded([tmp_path / "latin.csv"], **LATENCY)


def test_too_few_are_undecided(tmp_path: Path) -> None:
    rows = [{"arm": arm, "latency": value} for arm, value in (("A", 1), ("A", 1.01), ("B", 0.5), ("B", 0.51))]
    found = recorded([table(tmp_path, rows)], **LATENCY)
    assert verdict(found) is Verdict.UNDECIDED


def test_what_two_sessions_may_differ_by_is_in_the_interval_of_a_sequential_record(tmp_path: Path) -> None:
    """Without noise in either part only the spread between sessions is left, and the interval is as wide as it says."""
    rows = [{"arm": "A", "latency": 1 + k % 2 * 1e-6} for k in range(30)]
    rows += [{"arm": "B", "latency": 0.999 + k % 2 * 1e-6} for k in range(30)]
    found = recorded([table(tmp_path, rows)], **LATENCY, in_order=True)
    interval = standing(found.samples, found.design).comparisons[0].interval
    assert interval.high - interval.low > 2 * SESSION
