"""Results of benchmarks and logs of trainers: every tool's form, and the bad ones."""

import json
from pathlib import Path

import pytest
import yaml

from ingest.door.records import NameResolver
from ingest.questions.launches.launch import read_launch
from ingest.reading import FileReport
from kg.nouns.entities import Case
from tests.samples.outputs import OLDER, OUTPUTS, VLLM_SERVE
from tests.samples.readings import ingest, ingest_all, written

H100 = "NVIDIA H100 80GB HBM3"


def taken(
    path: Path, text: str, names: NameResolver, *, hardware: str = H100, script: str = ""
) -> tuple[dict[str, Case], FileReport]:
    launch = dict(read_launch(script, "serve.sh").question) if script else {}
    cases, report = written(path, text, names, hardware, launch=launch)
    return {case.measurement.metric: case for case in cases}, report


SAMPLES = OUTPUTS | OLDER


@pytest.mark.parametrize("tool", SAMPLES)
def test_what_a_tool_writes_is_read(tool: str, tmp_path: Path, names: NameResolver) -> None:
    name, text, expected = SAMPLES[tool]
    cases, report = taken(tmp_path / name, text, names)
    assert report.bad == 0, report.faults
    found = {metric: case.measurement.value for metric, case in cases.items()}
    assert ("tpot" in found) == ("tpot" in expected)
    assert {metric: found.get(metric) for metric in expected} == pytest.approx(expected)


def test_a_served_run_says_its_work(tmp_path: Path, names: NameResolver) -> None:
    cases, _ = taken(tmp_path / "r.json", json.dumps(VLLM_SERVE), names)
    work = cases["throughput"].problem.workload
    assert dict(work.shape) == {"input_len": 1024, "output_len": 256, "concurrency": 16}
    assert dict(cases["throughput"].software) == {"vllm": ""}


SCRIPT = "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --max-num-seqs 64\n"


def test_script_and_result_are_one_case(tmp_path: Path, names: NameResolver) -> None:
    cases, report = taken(tmp_path / "r.json", json.dumps(VLLM_SERVE), names, script=SCRIPT)
    case = cases["throughput"]
    assert case.problem.hardware.count == 4
    assert dict(case.configuration) == {"tensor_parallel_size": 4, "max_num_seqs": 64}
    assert report.bad == 0


def test_settings_of_a_launch_are_those_of_its_program(tmp_path: Path, names: NameResolver) -> None:
    script = "python -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 4\n"
    cases, report = taken(tmp_path / "r.json", json.dumps(VLLM_SERVE), names, script=script)
    assert dict(cases["throughput"].software) == {"sglang": ""}
    assert "the file says vllm, the launch sglang, which is kept" in str(report.guesses)


def test_a_result_of_another_model_than_the_script_is_refused(tmp_path: Path, names: NameResolver) -> None:
    other = SCRIPT.replace("Qwen3-32B", "Qwen3-8B")
    cases, report = taken(tmp_path / "r.json", json.dumps(VLLM_SERVE), names, script=other)
    assert not cases
    assert "the result is of Qwen3-32B, the launch told with it of Qwen/Qwen3-8B" in str(report.faults[0])


def test_without_hardware_the_option_is_named(tmp_path: Path, names: NameResolver) -> None:
    cases, report = taken(tmp_path / "r.json", json.dumps(VLLM_SERVE), names, hardware="")
    assert not cases
    assert "--hardware" in str(report.faults[0])


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"completed": 0}, "no request was answered"),
        ({"mean_ttft_ms": "150 s"}, "two units"),
        (
            {name: None for name in VLLM_SERVE if "_ms" in name or "throughput" in name},
            "none of output_throughput",
        ),
    ],
)
def test_what_is_no_measurement_is_refused(
    changed: dict[str, object], reason: str, tmp_path: Path, names: NameResolver
) -> None:
    cases, report = taken(tmp_path / "r.json", json.dumps({**VLLM_SERVE, **changed}), names)
    assert not cases
    assert reason in str(report.faults[0])


def test_a_median_stands_for_a_mean_that_is_not_there(tmp_path: Path, names: NameResolver) -> None:
    without = {name: value for name, value in VLLM_SERVE.items() if name != "mean_ttft_ms"}
    cases, report = taken(tmp_path / "r.json", json.dumps(without), names)
    assert cases["ttft"].measurement.value == pytest.approx(0.14)
    assert any("no mean" in guess for guess in report.guesses)


def test_an_aborted_run_of_aiperf_is_refused(tmp_path: Path, names: NameResolver) -> None:
    name, text, _ = OUTPUTS["AIPerf"]
    cases, report = taken(
        tmp_path / name, text.replace('"was_cancelled": false', '"was_cancelled": true'), names
    )
    assert not cases
    assert "broken off" in str(report.faults[0])


def test_a_sweep_in_lines_gives_a_run_each_and_a_cut_line_one_fault(
    tmp_path: Path, names: NameResolver
) -> None:
    lines = [json.dumps(VLLM_SERVE | {"max_concurrency": at}) for at in (1, 4, 16)]
    (tmp_path / "sweep.jsonl").write_text("\n".join(lines) + "\n" + lines[0][:200])
    cases, report = ingest(names, tmp_path / "sweep.jsonl", H100)
    loads = {case.problem.workload.shape["concurrency"] for case in cases}
    assert (loads, report.bad) == ({1, 4, 16}, 1)


def test_warm_up_steps_are_left_out_and_said(tmp_path: Path, names: NameResolver) -> None:
    name, text, _ = OUTPUTS["Megatron"]
    cases, report = taken(tmp_path / name, text, names)
    case = cases["step_time"]
    assert (case.measurement.repeats, case.problem.hardware.count) == (3, 8)
    assert any("--model NAME" in guess for guess in report.guesses)
    again, _ = ingest(names, tmp_path / name, H100, launch={"model": "qwen3-8b"})
    assert {one.problem.workload.model for one in again} == {"qwen3-8b"}
    assert dict(case.configuration) == {"micro_batch_size": 2}
    assert any("first 1 of 4 steps are left out" in guess for guess in report.guesses)


def test_runs_one_after_another_in_a_log_are_runs_of_one_command(tmp_path: Path, names: NameResolver) -> None:
    _, text, _ = OUTPUTS["vllm bench serve, printed"]
    again = text.partition("\n")[2].replace("409.60", "500.00")
    (tmp_path / "two.log").write_text(f"{text}\n{again}")
    cases, _ = ingest(names, tmp_path / "two.log", H100)
    found = [case for case in cases if case.measurement.metric == "throughput"]
    assert [case.measurement.value for case in found] == [409.6, 500.0]
    assert len({case.problem.workload.model for case in found}) == 1


def test_what_the_tools_wrote_here_is_read(shared: Path, names: NameResolver) -> None:
    _, reports = ingest_all(names, shared / "field" / "outputs", hardware=H100)
    read_here = {report.path.name for report in reports if report.good and not report.bad}
    assert len(read_here) == 6


def test_a_restart_with_another_layout_is_a_run_of_its_own(tmp_path: Path, names: NameResolver) -> None:
    lines = []
    for degree, first, rest in ((4, 9000.0, 1000.0), (8, 19000.0, 1500.0)):
        lines += [
            "------------------------ arguments ------------------------",
            f"  tensor_model_parallel_size ...................... {degree}",
            "-------------------- end of arguments ---------------------",
            *(
                f" iteration {at}/ 9 | elapsed time per iteration (ms): {rest if at else first} | lm loss: 8.1 |"
                for at in range(6)
            ),
        ]
    (tmp_path / "train.log").write_text("\n".join(lines))
    cases, _ = ingest(names, tmp_path / "train.log", H100)
    found = {case.configuration["tensor_model_parallel_size"]: case.measurement.value for case in cases}
    assert found == {4: pytest.approx(1.0), 8: pytest.approx(1.5)}


def test_a_load_that_only_the_folder_names_keeps_runs_apart(tmp_path: Path, names: NameResolver) -> None:
    summary = (
        "Metric,avg,p99\nRequest Latency (ms),20{0}.5,29\n\n"
        "Metric,Value\nOutput Token Throughput (tokens/sec),{0}1.5\n"
    )
    for load in (4, 16):
        folder = tmp_path / f"qwen-openai-chat-concurrency{load}"
        folder.mkdir()
        (folder / "profile_export_aiperf.csv").write_text(summary.format(load))
    cases, _ = ingest_all(names, tmp_path, hardware=H100)
    loads = {
        case.problem.workload.shape["concurrency"]: case.measurement.value
        for case in cases
        if case.measurement.metric == "throughput"
    }
    assert loads == {4: 41.5, 16: 161.5}


def test_what_guidellm_saves_as_yaml_is_read(tmp_path: Path, names: NameResolver) -> None:
    metrics = {
        "output_tokens_per_second": {"successful": {"mean": 812.5}},
        "time_to_first_token_ms": {"successful": {"mean": 120.5}},
    }
    runs = [
        {"config": {"strategy": {"streams": streams}}, "scheduler_state": {}, "metrics": metrics}
        for streams in (8, 32)
    ]
    document = {"metadata": {"guidellm_version": "0.8.1"}, "benchmarks": runs}
    (tmp_path / "benchmarks.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    cases, _ = ingest(names, tmp_path / "benchmarks.yaml", H100)
    assert {case.problem.workload.shape["concurrency"] for case in cases} == {8, 32}
    assert {case.measurement.value for case in cases} == {812.5, 0.1205}


def test_runs_of_a_sweep_differ_in_what_it_varied(tmp_path: Path, names: NameResolver) -> None:
    runs = [VLLM_SERVE | {"run_number": 0, "max-num-seqs": size} for size in (32, 64)]
    for number, run in enumerate(runs):
        (tmp_path / f"run={number}.json").write_text(json.dumps(run))
    (tmp_path / "summary.json").write_text(json.dumps(runs))
    cases, _ = ingest_all(names, tmp_path, hardware=H100)
    rates = [case for case in cases if case.measurement.metric == "throughput"]
    assert [dict(case.configuration) for case in rates] == [{"max_num_seqs": 32}, {"max_num_seqs": 64}]
    both, _ = taken(tmp_path / "of_both.json", json.dumps(runs[0]), names, script=SCRIPT)
    assert dict(both["throughput"].configuration) == {"tensor_parallel_size": 4, "max_num_seqs": 32}
