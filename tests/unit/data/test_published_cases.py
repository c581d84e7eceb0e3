"""Laws of the shipped cases: one value for one configuration, a page for each, the numbers of the source."""

import csv
import json
import os
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import data
from kg.terms.units import unit

SHARED = Path(os.environ.get("TUNEGRAPH_SHARED", Path(data.__file__).parents[2] / "shared")) / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the material beside the project is not here")

BETTER = {
    "throughput": "higher", "mfu": "higher", "compute_rate": "higher", "time_to_train": "lower",
    "time_to_first_token": "lower", "time_per_output_token": "lower",
}  # fmt: skip
CHIPS = {
    "Ascend 310",
    "Ascend 310P",
    "Ascend 310P3",
    "Ascend 910",
    "Ascend 910B",
    "Ascend 910C",
    "Ascend 910C card",
}
KNOBS = re.compile(r"[A-Za-z][\w.-]*")


def load(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.text(f"cases/{name}.jsonl").splitlines()]


PUBLISHED = load("ascend_published")
TARGETS = load("ascend_targets")
BOTH = [*PUBLISHED, *TARGETS]


def problem_of(case: dict[str, Any]) -> str:
    hardware = {key: item for key, item in case["hardware"].items() if key != "reported_name"}
    return json.dumps([case["task"], hardware, case["outcome"]["metric"]], sort_keys=True)


def test_ids_are_unique_and_name_their_file() -> None:
    assert [
        case_id for case_id, count in Counter(case["case_id"] for case in BOTH).items() if count > 1
    ] == []
    assert all(case["case_id"].startswith("ascend_published/") for case in PUBLISHED)
    assert all(case["case_id"].startswith("ascend_targets/") for case in TARGETS)


def test_shipped_cases_stay_small() -> None:
    sizes = {name: len(data.text(name).encode()) for name in data.files("cases", ".jsonl")}
    assert sum(sizes.values()) < 1_000_000, sizes


def test_every_case_says_what_ran_where_and_how() -> None:
    for case in BOTH:
        task, hardware = case["task"], case["hardware"]
        assert task["kind"] in {"training", "serving"}
        assert task["op"]
        assert task["model"]
        assert hardware["vendor"] == "huawei"
        assert hardware.get("chip", hardware["name"]) in CHIPS
        assert hardware.get("count", 1) >= 1
        assert case["config"]
        for section in (task["shape"], case["config"]):
            for knob, value in section.items():
                assert KNOBS.fullmatch(knob), knob
                assert value is not None, (case["case_id"], knob)
                assert value != "", (case["case_id"], knob)


def test_every_source_can_be_opened() -> None:
    for case in BOTH:
        source = case["source"]
        assert re.match(r"https://(github\.com|arxiv\.org)/", source["url"]), case["case_id"]
        if "repo" in source:
            place = re.fullmatch(
                r"https://github\.com/([^/]+/[^/]+)/(?:blob|tree)/([^/]+)/([^#]+)(?:#L(\d+))?", source["url"]
            )
            assert place is not None, source["url"]
            assert place[1] == source["repo"]
            assert place[2] == source.get("commit", "HEAD")
            assert place[3] == source["path"]
            assert place[4] == (str(source["line"]) if "line" in source else None)


def test_a_published_value_is_positive_with_a_known_unit_and_direction() -> None:
    for case in PUBLISHED:
        outcome = case["outcome"]
        assert case["kind"] == "published"
        assert outcome["status"] == "ok"
        assert outcome["value"] > 0
        assert outcome["better"] == BETTER[outcome["metric"]]
        assert unit(outcome["unit"]).to_si(outcome["value"]) > 0


def test_problems_do_not_mix_units() -> None:
    units = defaultdict(set)
    for case in PUBLISHED:
        units[problem_of(case)].add(case["outcome"]["unit"])
    assert [problem for problem, met in units.items() if len(met) > 1] == []


def test_one_configuration_of_a_problem_has_one_value() -> None:
    seen = Counter((problem_of(case), json.dumps(case["config"], sort_keys=True)) for case in BOTH)
    assert [key for key, count in seen.items() if count > 1] == []


def test_there_is_something_to_compare() -> None:
    configurations = Counter(problem_of(case) for case in PUBLISHED)
    assert sum(count > 1 for count in configurations.values()) >= 100
    kinds = Counter(case["task"]["kind"] for case in PUBLISHED)
    assert min(kinds["training"], kinds["serving"]) >= 200


def test_parallel_degrees_fill_the_devices() -> None:
    for case in PUBLISHED:
        config = case["config"]
        if "count" in case["hardware"] and "tp" in config and not config.get("prefill_decode_disaggregation"):
            ranks = config["tp"] * config.get("pp", 1) * config.get("dp", 1) * config.get("cp", 1)
            assert ranks == case["hardware"]["count"], case["case_id"]


def test_batched_inference_gives_rates_of_samples() -> None:
    """A table whose rate falls as fast as its batch grows counts batches; such tables are left out."""
    rates: dict[str, dict[int, float]] = defaultdict(dict)
    for case in PUBLISHED:
        if case["task"]["op"] == "infer" and "batch" in case["config"]:
            rates[problem_of(case)][case["config"]["batch"]] = case["outcome"]["value"]
    swept = [table for table in rates.values() if 1 in table and max(table) >= 32]
    assert len(swept) >= 50
    assert all(table[max(table)] * 10 >= table[1] for table in swept)


def test_training_on_more_devices_is_neither_slower_nor_beyond_linear() -> None:
    """A fifth above linear is allowed for noise; tables outside contradict themselves and are left out."""
    rates: dict[str, dict[int, float]] = defaultdict(dict)
    for case in PUBLISHED:
        if (
            case["task"]["op"] == "train"
            and case["outcome"]["metric"] == "throughput"
            and "batch" not in case["config"]
        ):
            alike = json.dumps(
                [case["task"], case["config"], case.get("software"), case["source"]["path"]], sort_keys=True
            )
            if not case["outcome"]["unit"].endswith("/device"):
                rates[alike][case["hardware"].get("count", 0)] = case["outcome"]["value"]
    pairs = [(table[1], table[8]) for table in rates.values() if {1, 8} <= table.keys()]
    assert len(pairs) >= 50
    assert all(one <= eight <= 9.6 * one for one, eight in pairs)


def test_targets_are_choices_without_a_time() -> None:
    for case in TARGETS:
        outcome = case["outcome"]
        assert case["kind"] == "target"
        assert (outcome["metric"], outcome["unit"], outcome["better"]) == (
            "time_per_output_token",
            "ms",
            "lower",
        )
        assert (outcome["value"], outcome["status"]) == (None, "winner_untimed")
        assert case["task"]["slo"]["tpot_ms"] > 0
        assert {knob.split(".")[0] for knob in case["config"] if knob.endswith(".tp-size")} in (
            {"mixed"},
            {"prefill", "decode"},
        )


def published_rows() -> dict[str, dict[str, str]]:
    with (SHARED / "ascend_endtoend.csv").open(encoding="utf-8", newline="") as rows:
        return {row["id"]: row for row in csv.DictReader(rows)}


@needs_shared
def test_published_values_are_those_of_the_table() -> None:
    rows = published_rows()
    for case in PUBLISHED:
        row_id, _, part = case["case_id"].removeprefix("ascend_published/").partition("-")
        row, value = rows[row_id], case["outcome"]["value"]
        if part:
            stated = {"tpot": r"TPOT ([\d.]+) ?ms", "mfu": r"MFU ([\d.]+)%"}[part]
            found = re.search(stated, row["config"])
            assert found is not None, case["case_id"]
            assert value == float(found[1])
        else:
            assert value == float(row["value"]), case["case_id"]
        assert case["source"].get("reported_model", case["task"]["model"]) == row["model"]
        assert case["task"]["kind"] == {"train": "training", "infer": "serving"}[row["task"]]
        assert case["source"].get("path", "") in row["source"]
        assert case["source"].get("commit", "") in row["source"]
        if "batch" in case["config"]:
            assert str(case["config"]["batch"]) == row["batch"]


@needs_shared
def test_device_counts_are_those_of_the_table() -> None:
    rows = published_rows()
    for case in PUBLISHED:
        row = rows[case["case_id"].removeprefix("ascend_published/").split("-")[0]]
        parallel = "tp" in case["config"] and "prefill_decode_disaggregation" not in case["config"]
        if row["n_devices"] and not parallel:
            assert str(case["hardware"]["count"]) == row["n_devices"], case["case_id"]


@needs_shared
def test_targets_are_those_of_the_table() -> None:
    with (SHARED / "ascend_expert_configs.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    for case in TARGETS:
        mine = [row for row in rows if row["section"] == case["source"]["note"]]
        assert {row["role"] for row in mine} == {
            knob.split(".")[0] for knob in case["config"] if knob.endswith(".tp-size")
        }
        for row in mine:
            assert float(row["tpot_target"].removesuffix("ms")) == case["task"]["slo"]["tpot_ms"]
            assert row["hardware"] == f"{case['hardware']['name']} {case['hardware']['count']}Card"
            for flag in ("tp-size", "max-running-requests", "chunked-prefill-size", "speculative-num-steps"):
                assert str(case["config"].get(f"{row['role']}.{flag}", "")) == row[flag], case["case_id"]
