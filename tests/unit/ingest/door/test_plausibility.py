from collections.abc import Mapping
from pathlib import Path

import pytest

from ingest.door import plausibility
from ingest.door.plausibility import LOOKED_AT, mark_implausible
from ingest.door.records import NameResolver, Records
from ingest.reading import FileReport, read
from kg.nouns.entities import Case

FACTS: dict[str, Mapping[str, float | str]] = {
    "rtx-2080-ti": {"memory_bandwidth_bytes_per_s": 616e9, "peak_fp32_flops": 13.45e12},
    "nvidia-a100": {"memory_bandwidth_bytes_per_s": 1555e9, "peak_fp16_flops": 312e12},
}
"""Peaks as NVIDIA publishes them for these cards."""


def facts(name: str) -> Mapping[str, float | str]:
    return FACTS.get(name, {})


def gemm(records: Records, value: float, unit: str = "ms", op: str = "gemm") -> Case:
    return records.case(
        {
            "task": {"kind": "kernel", "op": op, "shape": {"M": 4096, "N": 4096, "K": 4096}, "dtype": "fp16"},
            "hardware": {"name": "A100"},
            "config": {"v": value},
            "outcome": {"metric": "kernel_time", "unit": unit, "value": value, "status": "ok"},
            "source": {"title": "t", "note": "n"},
        }
    )


def test_a_table_in_seconds_that_is_labelled_ms_is_kept_marked_and_told(
    names: NameResolver, shared: Path
) -> None:
    path = shared / "formats/kernel_tuner_cache/pnpoly_RTX_2080_Ti.SECONDS_NOT_MS.json.gz"
    *items, report = read([path], names, facts=facts)
    assert isinstance(report, FileReport)
    assert report.good == 4092
    assert [guess for guess in report.guesses if "the unit is in doubt" in guess]
    cases = [item for item in items if isinstance(item, Case) and item.measurement.value is not None]
    note = "kernel cn_pnpoly; unit in doubt: beyond the 616 GB/s of memory"
    assert {case.source.note for case in cases} == {note}


def test_a_table_whose_unit_is_right_is_not_doubted(names: NameResolver, shared: Path) -> None:
    path = shared / "formats/kernel_tuner_cache/pnpoly_RTX_2080_Ti.SECONDS_NOT_MS.json.gz"
    seconds = (shared / "cases/kerneltuner_pnpoly.jsonl.gz", path.with_name("convolution_milo_A100.json.gz"))
    for right in seconds:
        *_, report = read([right], names, facts=facts)
        assert isinstance(report, FileReport)
        assert report.good > 4000
        assert not [guess for guess in report.guesses if "doubt" in guess]


def test_a_product_faster_than_the_peak_is_doubted_with_all_of_its_table(names: NameResolver) -> None:
    records = Records(names)  # 2 * 4096^3 operations at 312 TFLOP/s take 0.44 ms
    rows = [gemm(records, 900.0, "us"), gemm(records, 400.0, "us"), gemm(records, 0.9, "us")]
    found = list(mark_implausible(rows, facts, records))
    assert [case.measurement.value for case in found] == [case.measurement.value for case in rows]
    assert {case.source.note for case in found} == {"n; unit in doubt: beyond the peak of 312 TFLOP/s"}
    assert len(records.guesses) == 1
    fine = rows[:2]
    assert list(mark_implausible(fine, facts, records)) == fine


def test_a_doubt_that_comes_late_marks_what_follows(names: NameResolver) -> None:
    records = Records(names)
    rows = [gemm(records, 1.0 + n) for n in range(LOOKED_AT)] + [gemm(records, 1e-4), gemm(records, 2.0)]
    notes = [case.source.note for case in mark_implausible(rows, facts, records)]
    assert set(notes[:LOOKED_AT]) == {"n"}
    assert len(set(notes[LOOKED_AT:])) == 1
    assert "doubt" in notes[-1]


def test_training_faster_than_the_peak_is_doubted(names: NameResolver) -> None:
    records = Records(names)

    def run(rate: float) -> Case:
        return records.case(
            {
                "task": {"kind": "training", "op": "pretrain", "shape": {"params": 7e9}},
                "hardware": {"name": "A100", "count": 8},
                "config": {},
                "outcome": {"metric": "throughput", "unit": "tokens/s/gpu", "value": rate, "status": "ok"},
                "source": {"title": "t"},
            }
        )

    rows = [run(3500)]  # 6 * 7e9 * 3500 = 147 TFLOP/s
    assert list(mark_implausible(rows, facts, records)) == rows
    assert "doubt" in next(iter(mark_implausible([run(3500 * 8)], facts, records))).source.note


def test_ten_times_the_bandwidth_of_the_memory_is_beyond_it(names: NameResolver) -> None:
    """4096 x 4096 results of 2 bytes and two vectors at 1,555 GB/s take 21.6 us; caches hide a part, not nine tenths."""
    records = Records(names)

    def outer(value_us: float) -> Case:
        return records.case(
            {
                "task": {
                    "kind": "kernel",
                    "op": "gemm",
                    "shape": {"M": 4096, "N": 4096, "K": 1},
                    "dtype": "fp16",
                },
                "hardware": {"name": "A100"},
                "config": {"v": value_us},
                "outcome": {"metric": "kernel_time", "unit": "us", "value": value_us, "status": "ok"},
                "source": {"title": "t"},
            }
        )

    for value, is_doubted in ((2.5, False), (1.8, True), (0.5, True)):
        [found] = mark_implausible([outer(value)], facts, records)
        assert ("doubt" in found.source.note) is is_doubted, value


@pytest.mark.parametrize(("best", "is_lone"), [(0.01, True), (0.95, False)])
def test_a_best_value_far_from_all_others_is_kept_and_said(
    names: NameResolver, best: float, is_lone: bool
) -> None:
    records = Records(names)
    rows = [gemm(records, value, op="toy") for value in (best, *(1 + at / 10 for at in range(9)))]
    assert list(mark_implausible(rows, facts, records)) == rows
    assert any("better than the next" in guess for guess in records.guesses) is is_lone


def test_a_best_value_is_said_though_many_problems_follow(
    names: NameResolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plausibility, "_CACHED", 1)
    records = Records(names)
    rows = [gemm(records, value, op="toy") for value in (0.01, *(1 + at / 10 for at in range(9)))]
    assert len(list(mark_implausible([*rows, gemm(records, 1.0, op="other")], facts, records))) == 11
    assert sum("better than the next" in guess for guess in records.guesses) == 1


def test_a_configuration_that_stands_apart_in_two_tables_is_a_design(names: NameResolver) -> None:
    records = Records(names)
    values = (0.01, *(1 + at / 10 for at in range(9)))
    rows = [gemm(records, value, op=op) for op in ("toy", "other") for value in values]
    assert list(mark_implausible(rows, facts, records)) == rows
    assert not [guess for guess in records.guesses if "better than the next" in guess]
