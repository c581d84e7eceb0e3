import copy
from collections.abc import Callable
from typing import Any

import pytest

from ingest.door.records import NameResolver, RecordError, Records
from kg.nouns.entities import Better, Kind, Status
from kg.nouns.values import Settings

Record = dict[str, Any]


@pytest.fixture
def record() -> Record:
    return {
        "task": {
            "kind": "kernel",
            "op": "gemm",
            "shape": {"M": "16", "K": 32.0, "window": None, "fixed": {"KWG": "32"}},
            "dtype": "torch.bfloat16",
            "block_shape": None,
            "distribution": "balanced",
        },
        "hardware": {"vendor": "nvidia", "name": "NVIDIA A100-PCIE-40GB", "count": 2, "nodes": 1},
        "config": {"BLOCK_M": "64", "tma": "False", "stages": "None", "name": "x8", "framework": "vllm"},
        "outcome": {"metric": "kernel_time", "unit": "ms", "value": 3.5, "status": "ok", "std": 0.5, "n": 7},
        "source": {"repo": "a/b", "path": "t.json", "licence": "MIT", "framework_version": "0.9"},
    }


def refused(names: NameResolver, record: object) -> str:
    with pytest.raises(RecordError) as error:
        Records(names).case(record)
    return str(error.value)


def test_a_record_becomes_a_case_in_si_units_and_canonical_names(names: NameResolver, record: Record) -> None:
    case = Records(names).case(record)
    work = case.problem.workload
    assert work.shape == Settings({"M": 16, "K": 32, "fixed.KWG": 32})
    assert work.precision == "bfloat16"
    assert work.traits == Settings({"distribution": "balanced"})
    assert case.problem.hardware.name == "nvidia-a100"
    assert case.problem.hardware.reported == "NVIDIA A100-PCIE-40GB"
    assert case.problem.hardware.traits == Settings({"nodes": 1})
    assert dict(case.configuration) == {
        "BLOCK_M": 64,
        "tma": False,
        "stages": None,
        "name": "x8",
        "framework": "vllm",
    }
    found = case.measurement
    assert (found.value, found.unit, found.stdev, found.repeats) == (0.0035, "s", 0.0005, 7)
    assert found.reported_unit == "ms"
    assert case.kind is Kind.MEASURED
    assert case.software == Settings({"vllm": "0.9"})
    assert case.source.url == "https://github.com/a/b"
    assert case.problem.objective.better is Better.LOWER


def test_rows_of_one_problem_share_it(names: NameResolver, record: Record) -> None:
    records = Records(names)
    other = copy.deepcopy(record)
    other["outcome"]["value"] = 4
    other["config"]["BLOCK_M"] = 128
    assert records.case(record).problem is records.case(other).problem


@pytest.mark.parametrize(
    ("outcome", "status", "kind", "reason"),
    [
        ({"status": "winner_untimed", "value": None}, Status.NOT_MEASURED, Kind.WINNER, ""),
        ({"status": "failed:Compile", "value": None}, Status.FAILED, Kind.MEASURED, "Compile"),
        ({"status": "oom", "value": None}, Status.OUT_OF_MEMORY, Kind.MEASURED, ""),
        ({"status": "timeout", "value": None}, Status.TIMED_OUT, Kind.MEASURED, ""),
        ({"status": "failed:no memory map", "value": None}, Status.FAILED, Kind.MEASURED, "no memory map"),
        ({"value": 1e20}, Status.FAILED, Kind.MEASURED, "a time of 1e+20 marks a failure"),
        ({"value": "inf"}, Status.FAILED, Kind.MEASURED, "a time of inf marks a failure"),
    ],
)
def test_a_status_is_what_it_says(
    names: NameResolver, record: Record, outcome: Record, status: Status, kind: Kind, reason: str
) -> None:
    record["outcome"] = {"metric": "latency", "unit": "us", "status": "ok", **outcome}
    case = Records(names).case(record)
    assert (case.measurement.status, case.kind, case.measurement.reason) == (status, kind, reason)
    assert case.measurement.value is None


def test_a_goal_without_a_time_is_a_target_and_its_limit_is_kept(names: NameResolver, record: Record) -> None:
    record["task"] |= {"kind": "serving", "slo": {"tpot_ms": 50.0}}
    record["outcome"] = {"metric": "tpot", "unit": "ms", "value": None, "status": "winner_untimed"}
    case = Records(names).case(record)
    assert case.kind is Kind.TARGET
    assert [(limit.metric, limit.maximum, limit.unit) for limit in case.problem.limits] == [
        ("tpot", 0.05, "s")
    ]


def test_a_number_out_of_a_document_is_published(names: NameResolver, record: Record) -> None:
    record["source"]["path"] = "docs/Results.MD"
    assert Records(names).case(record).kind is Kind.PUBLISHED


def test_a_stated_kind_strategy_baseline_and_software_are_kept(names: NameResolver, record: Record) -> None:
    record |= {
        "kind": "claimed",
        "strategy": "flash-attention",
        "bottleneck": "hbm-bandwidth",
        "baseline": {"value": 7, "config": {"BLOCK_M": 32}},
        "software": {"cann": 8.0},
    }
    case = Records(names).case(record)
    assert (case.kind, case.strategy, case.bottleneck) == (Kind.CLAIMED, "flash-attention", "hbm-bandwidth")
    assert case.baseline is not None
    assert case.baseline.value == 0.007
    assert case.log_gain == pytest.approx(0.6931, abs=1e-4)
    assert case.software == Settings({"cann": "8.0", "vllm": "0.9"})


def test_precisions_by_role_are_one_text_and_the_rest_are_traits(names: NameResolver, record: Record) -> None:
    record["task"]["dtype"] = {"kv_cache": "FP8", "attn": "torch.bfloat16", "act": "Silu", "bias": "False"}
    work = Records(names).case(record).problem.workload
    assert work.precision == "attn=bfloat16,kv_cache=fp8"
    assert work.traits == Settings({"act": "Silu", "bias": False, "distribution": "balanced"})


def test_spellings_of_fused_moe_are_one(names: NameResolver, record: Record) -> None:
    records = Records(names)
    record["task"] = {"kind": "kernel", "op": "fused_moe_down", "shape": {"E": 8}, "dtype": "fp8_w8a8_down"}
    other = copy.deepcopy(record)
    other["task"] |= {"op": "fused_moe", "dtype": "float8", "traits": {"gemm": "down"}}
    assert records.case(record).problem.id == records.case(other).problem.id


def test_a_chip_in_a_server_is_the_device(names: NameResolver, record: Record) -> None:
    record["hardware"] = {"name": "Atlas 800I A3", "chip": "Ascend 910C", "count": 16}
    hardware = Records(names).case(record).problem.hardware
    assert (hardware.name, hardware.reported) == ("ascend-910c", "Atlas 800I A3")
    assert hardware.traits == Settings({"server": "Atlas 800I A3"})


def test_an_architecture_tells_devices_of_one_name_apart(names: NameResolver, record: Record) -> None:
    record["hardware"] = {"name": "A100", "arch": "PCIe 40GB", "type": "GPU"}
    assert Records(names).case(record).problem.hardware.name == "a100-pcie"
    record["hardware"]["arch"] = "default"
    assert Records(names).case(record).problem.hardware.name == "nvidia-a100"


def test_what_had_to_be_assumed_is_told_once(names: NameResolver, record: Record) -> None:
    records = Records(names)
    record["hardware"]["name"] = "Foo 9"
    record["task"]["model"] = "Bar"
    records.case(record)
    record["outcome"]["value"] = 9
    records.case(record)
    assert list(records.guesses) == [
        "model 'Bar' is not in the knowledge; kept as it is",
        "hardware 'Foo 9' is not in the knowledge; kept as 'foo9'",
    ]


def test_all_faults_of_a_record_come_at_once(names: NameResolver, record: Record) -> None:
    del record["config"]
    record["hardware"]["count"] = 0
    record["outcome"]["unit"] = "ms"
    record["kind"] = "rumour"
    record["strategy"] = "Flash Attention"
    told = refused(names, record)
    for part in ("config: missing", "hardware.count: 0", "kind: 'rumour'", "strategy: 'Flash Attention'"):
        assert part in told


def set_outcome(**fields: object) -> Callable[[Record], None]:
    return lambda record: record["outcome"].update(fields)


def set_section(name: str, /, **fields: object) -> Callable[[Record], None]:
    return lambda record: record[name].update(fields)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (set_outcome(value=-1), "outcome.value: -1 is negative"),
        (set_outcome(value=0), "outcome.value: a time of zero"),
        (set_outcome(value=float("nan")), "outcome.value: NaN"),
        (set_outcome(value=True), "outcome.value: not a number"),
        (set_outcome(value=None), "outcome.value: missing, though the status is ok"),
        (set_outcome(value=1.0, status="failed"), "though the status is failed"),
        (set_outcome(status="fine"), "outcome.status: 'fine' is none of"),
        (set_outcome(unit="parsec"), "outcome.unit: unknown unit 'parsec'"),
        (set_outcome(unit="J"), "outcome.unit: 'J' is a unit of energy, kernel_time has one of time"),
        (set_outcome(unit=None), "outcome.unit: missing"),
        (set_outcome(better="higher"), "outcome.better: of kernel_time, lower is better"),
        (set_outcome(metric="beauty"), "outcome.better: missing, and 'beauty' is no known metric"),
        (set_outcome(metric=None), "outcome.metric: missing"),
        (set_outcome(std=-1), "outcome.std: no spread"),
        (set_outcome(n=0), "outcome.n: no number of repeats"),
        (set_outcome(value=5e-324, unit="ns"), "beyond what can be converted"),
        (set_section("hardware", count=2_000_000), "hardware.count: 2000000 devices"),
        (set_section("hardware", count="8"), "hardware.count: '8' is no number of devices"),
        (set_section("hardware", name=""), "hardware.name: not a name"),
        (set_section("task", kind="dance"), "task.kind: 'dance' is none of"),
        (set_section("task", op=None), "task.op: missing"),
        (set_section("task", shape=[1]), "task.shape: not an object"),
        (set_section("task", shape={"M": float("inf")}), "inf is not a finite number"),
        (set_section("task", slo={"fast": 1}), "task.slo.fast: ends in no unit"),
        (set_section("config", a=2**63), "config: an integer of more than 63 bits"),
        (set_section("config", a=[[[[[[[[[1]]]]]]]]]), "config: nested more than 8 deep"),
        (set_section("config", a="\ud800"), "config: text with the control character U+D800"),
        (set_section("config", a=object()), "config: holds what JSON does not know"),
        (set_section("source", path=3), "source.path: text, not a number"),
        (lambda record: record.update(source={"licence": "MIT"}), "source: needs a title"),
        (lambda record: record.update(baseline={"value": 0}), "baseline.value: 0 is no positive number"),
        (lambda record: record.update(baseline=3), "baseline: an object, not a number"),
        (lambda record: record.update(problem=[]), "problem: an object, not a list"),
        (lambda record: record.update(problem={"limits": [{"metric": "x"}]}), "problem.limits: needs"),
        (lambda record: record.update(problem={"bottlenecks": {"a": 2}}), "a share is between 0 and 1"),
        (lambda record: record.update(software="new"), "software: an object, not text"),
        (lambda record: record.update(task="gemm"), "task: an object, not text"),
    ],
)
def test_nonsense_is_refused_with_its_reason(
    names: NameResolver, record: Record, spoil: Callable[[Record], None], reason: str
) -> None:
    spoil(record)
    assert reason in refused(names, record)


@pytest.mark.parametrize("raw", [[], "text", 3, None, {}])
def test_what_is_no_record_is_refused(names: NameResolver, raw: object) -> None:
    assert refused(names, raw)


def test_a_fault_does_not_stick_to_the_next_record(names: NameResolver, record: Record) -> None:
    records = Records(names)
    bad = copy.deepcopy(record)
    bad["hardware"]["count"] = -1
    with pytest.raises(RecordError):
        records.case(bad)
    assert records.case(record).problem.hardware.count == 2


@pytest.mark.parametrize(
    ("metric", "unit", "factor", "is_refused"),
    [
        ("throughput", "tokens/s", 29, False),
        ("throughput", "tokens/s", 31, True),
        ("throughput", "tokens/s", 1 / 31, True),
        ("throughput", "tokens/s", 1e30, True),
        ("operator_time", "ms", 1 / 60, False),
        ("operator_time", "ms", 1 / 501, True),
    ],
)
def test_a_gain_that_no_strategy_does_is_a_fault(
    names: NameResolver, record: Record, metric: str, unit: str, factor: float, is_refused: bool
) -> None:
    better = "higher" if metric == "throughput" else "lower"
    record["outcome"] = {
        "metric": metric, "unit": unit, "value": 2.0 * factor, "status": "ok", "better": better
    }  # fmt: skip
    record["baseline"] = {"value": 2.0, "config": {}}
    assert Records(names).case(copy.deepcopy(record))  # without a strategy nobody learns a gain from it
    record["strategy"] = "some-strategy"
    if is_refused:
        assert "more than any strategy does" in refused(names, record)
    else:
        assert Records(names).case(record)


@pytest.mark.parametrize(
    "mark", ["\x1b]0;x\x07", "\x9b2J", "\u202e", "\u200f", "\U000e0041", "\x08", "\x7f", "\r"]
)
@pytest.mark.parametrize(
    "place",
    [("config", "mode"), ("hardware", "name"), ("source", "note"), ("outcome", "metric"), ("task", "op")],
)
def test_control_characters_are_a_fault(
    names: NameResolver, record: Record, place: tuple[str, str], mark: str
) -> None:
    record[place[0]][place[1]] = f"fast{mark}"
    assert "control character" in refused(names, record)


def test_a_control_character_in_a_name_or_a_reason_is_a_fault(names: NameResolver, record: Record) -> None:
    record["config"]["mo\x1bde"] = 1
    assert "control character U+001B" in refused(names, record)
    del record["config"]["mo\x1bde"]
    record["outcome"] = {"metric": "kernel_time", "unit": "ms", "status": "failed", "reason": "a\x1b[2J"}
    assert "control character" in refused(names, record)
    record["outcome"]["reason"] = "line one\n\tline two"
    assert Records(names).case(record)


@pytest.mark.parametrize(
    ("section", "key"),
    [("task", "op"), ("hardware", "name"), ("source", "path"), ("source", "repo"), ("config", "a\nb")],
)
def test_a_name_with_a_line_end_is_refused(
    names: NameResolver, record: Record, section: str, key: str
) -> None:
    record[section] = {**record.get(section, {}), key: "one\ntwo"}
    with pytest.raises(RecordError, match="a name with a line end"):
        Records(names).case(record)
