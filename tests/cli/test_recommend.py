"""``tunegraph recommend``: questions, and what is wrong with them."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.commands.tuned_script import write_script
from ingest.questions.launches.running import RunningSetting
from kg.errors import InputError
from kg.nouns.setting import SettingPlace
from recommender.workspace.workspace import Workspace
from tests.shipped_hardware import add_hardware

TRAINING = ("--model", "bert-large", "--phase", "training")
B3 = ("--hardware", "910b3")
KEYS = {
    "id",
    "title",
    "strategy",
    "how",
    "settings",
    "gain",
    "tier",
    "if",
    "accuracy",
    "conflicts",
    "evidence",
}
PLAN = {
    "understood",
    "start",
    "alternatives",
    "changes",
    "further",
    "not_here",
    "bottlenecks",
    "ceiling",
}


def test_an_answer_is_json_with_everything_behind_it(run: Any) -> None:
    ran = run("recommend", *TRAINING, *B3, "--count", 8, "-k", 8, "--json")
    assert ran.code == 0
    answer = ran.json
    assert {"problem", "knowledge_version", "notes", "unchecked_limits", *PLAN} <= set(answer)
    assert "recommendations" not in answer
    assert answer["problem"]["hardware"] == "ascend-910b3"
    assert answer["start"]["layout"]["devices"] == 8
    assert len(answer["changes"]) == 8
    for item in answer["changes"]:
        assert set(item) == KEYS
        gain = item["gain"]
        assert gain is None or gain["low_factor"] <= gain["expected_factor"] <= gain["high_factor"]
        assert item["settings"] or item["how"]
        assert all(support["source"] or support["problem"] for support in item["evidence"])


def test_a_model_that_fits_nowhere_on_what_was_asked_gets_the_smallest_layout_that_holds_it(run: Any) -> None:
    question = ("recommend", "--model", "deepseek-v3", "--phase", "serving", *B3)
    ran = run(*question, "--count", 1, "--json")
    assert ran.code == 4
    assert ran.json["start"]["fits"] is False
    layout = ran.json["start"]["layout"]
    assert layout["devices"] > 1
    assert "exit code 4" in ran.err
    people = run(*question, "--count", 1)
    assert people.code == 4
    assert (
        f"It does not fit on 1 x ascend-910b3. The smallest layout that does: TP {layout['tp']}" in people.out
    )
    assert f"{layout['devices']} devices." in people.out


SERVING = ("--model", "qwen3-8b", "--phase", "serving", "--shape", "input_len=1024,output_len=256", *B3)


def test_a_rate_is_answered_with_the_fewest_devices_and_what_they_cost(run: Any) -> None:
    ran = run(
        "size", *SERVING, "--limit", "tpot<=80ms", "--rate", "50/s", "--price", "2/h", "--json",
        "--hardware", "ascend-910b1",
    )  # fmt: skip
    assert ran.code == 0
    devices = [item["devices"] for item in ran.json["options"]]
    assert devices == sorted(devices)
    first = ran.json["options"][0]
    assert first["requests_per_s"] >= 50
    assert first["price_per_million_tokens"] == pytest.approx(
        2 * first["devices"] / (50 * 256 * 3600) * 1e6, rel=1e-3
    )
    assert first["watt_hours_per_million_tokens"] > 0


def test_a_rate_under_limits_that_nothing_keeps_exits_with_four(run: Any) -> None:
    ran = run("size", *SERVING, "--limit", "tpot<=1us", "--rate", "50/s")
    assert ran.code == 4
    assert "No deployment keeps the limits. Nearest: " in ran.out


def test_a_file_of_a_gguf_type_is_served_by_llama_cpp_with_a_context_for_all_slots(run: Any) -> None:
    question = ("--model", "Meta-Llama-3-8B-Instruct-Q4_K_M.gguf", "--phase", "serving", "--json")
    done = run("recommend", *question, "--hardware", "geforce-rtx-4090")
    start = done.json["start"]
    words = " ".join(start["paste"]).replace("\\", "").split()
    slots, context = (int(words[words.index(name) + 1]) for name in ("--parallel", "--ctx-size"))
    assert start["framework"] == "llama.cpp"
    assert "Meta-Llama-3-8B-Instruct-Q4_K_M.gguf" in words
    assert context == slots * 1280  # 1,024 and 128 tokens, in pages of 256
    two = ("--hardware", "geforce-rtx-4090", "--count", 2)
    layout = run("recommend", "--model", "Llama-3.1-70B-Q4_K_M.gguf", *question[2:], *two).json["start"][
        "layout"
    ]
    assert (layout["pp"], layout["tp"]) == (2, 1)  # 43 GB, which it shares out by layers
    done = run("recommend", *question, "--hardware", "910b3", "--software", "vllm-ascend")
    assert done.code == 3
    assert "vllm-ascend reads no files of q4_k_m" in done.err


def test_a_rate_that_no_number_of_instances_serves_is_told_as_that(run: Any) -> None:
    ran = run("size", *SERVING, "--rate", "1e9/s")
    assert ran.code == 4
    assert re.match(
        r"No 4096 instances serve that rate\. Nearest: .*[\d,]+ requests/s\.$",
        " ".join(ran.out.split("\n\n")[1].split()),
    )
    nearest = run("size", *SERVING, "--rate", "1e9/s", "--json").json["nearest"]
    assert nearest["chance"] == 0
    assert nearest["ttft_s"] is None  # the queue grows without end


@pytest.mark.parametrize("option", [("--rate", "50/s"), ("--price", "2/h"), ("--pareto",)])
def test_options_of_size_point_to_it(run: Any, option: tuple[str, ...]) -> None:
    ran = run("recommend", *SERVING, *option)
    assert ran.code == 2
    assert "size --model qwen3-8b" in " ".join(ran.err.split())


def test_the_same_question_gives_the_same_bytes(run: Any) -> None:
    question = ("recommend", *TRAINING, *B3, "--bottleneck", "allreduce-wait=0.28,host-bound=0.2", "--json")
    seeds = [{"PYTHONHASHSEED": seed} for seed in ("1", "2")]
    first, second = (run(*question, environment=seed) for seed in seeds)
    assert first.code == second.code == 0
    assert first.out == second.out


def test_the_table_is_the_result_and_everything_else_is_beside_it(run: Any) -> None:
    ran = run("recommend", "--model", "bert-large", *B3, "-k", 1)
    assert ran.code == 0
    assert ran.out.startswith("bert-large train on ascend-910b3\nStart with torch-npu ")
    assert "more (-k 50)" in ran.out
    assert "\n1. " not in ran.out
    assert "\n9. " in run("recommend", "--model", "bert-large", *B3, "-k", 50).out
    assert "note: no phase given: training is assumed" in ran.err
    assert "note:" not in ran.out
    assert "Why: tunegraph explain " in ran.err


@pytest.mark.parametrize(
    ("options", "says", "hint"),
    [
        (("--model", "bret-large", *B3), "no model named 'bret-large'", "did you mean bert-large"),
        ((*TRAINING, "--hardware", "910b33"), "no hardware named '910b33'", "did you mean ascend-910b3"),
        (("--op", "attention_decod", *B3), "no case of an operator named", "did you mean"),
        (
            (*TRAINING, *B3, "--objective", "throughputt"),
            "no metric named 'throughputt'",
            "did you mean throughput",
        ),
        (
            (*TRAINING, *B3, "--bottleneck", "allreduce-wiat"),
            "no bottleneck named",
            "did you mean collective-wait",
        ),
        (("--model", "bert-large", "--phase", "trian", *B3), "unknown phase 'trian'", "known: training"),
        (
            (*TRAINING, *B3, "--limit", "peek_memory<=32GB"),
            "no metric named 'peek_memory'",
            "did you mean peak_memory?",
        ),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(
    run: Any, options: tuple[str, ...], says: str, hint: str
) -> None:
    ran = run("recommend", *options)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.fault
    assert hint in ran.err


def _content(kind: str) -> bytes:
    text = "model: bert-large\nphase: training\nhardware: 昇腾910B3\n"
    return {
        "empty": b"",
        "truncated": b'{"model": "bert-large", "hardware": ["910b3"',
        "gbk": text.encode("gbk"),
        "huge": text.encode() + b"#" * 2_000_000,
        "bomb": b"a: &a [x, x]\nb: &b [*a, *a]\nmodel: *b\n",
        "no devices": text.encode() + b"count: 0\n",
        "date": text.encode() + b"current: {since: 2020-01-01}\n",
    }[kind]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("empty", "line 1: empty"),
        ("truncated", "no YAML"),
        ("gbk", "not UTF-8"),
        ("huge", "too large for a problem file"),
        ("bomb", "line 1: anchors and aliases are not used here"),
        ("no devices", "0 is not a number of devices"),
        ("date", "current: since: date is not a value"),
    ],
)
def test_a_bad_problem_file_is_refused_with_a_line(run: Any, tmp_path: Path, kind: str, says: str) -> None:
    file = tmp_path / "problem.yaml"
    file.write_bytes(_content(kind))
    ran = run("recommend", file)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.fault


def test_a_launch_is_asked_about_as_a_question_is(run: Any, tmp_path: Path) -> None:
    script, words = tmp_path / "serve.sh", ("--hardware", "h100-sxm", "--json")
    script.write_text("vllm serve Qwen/Qwen3-8B --enforce-eager\n")
    for command in ("recommend", "estimate"):
        ran = run(command, script, *words)
        assert ran.code == 0, ran.err
        assert ran.out == run(command, "--from-command", script, *words).out


def test_every_unknown_key_is_named_with_its_line(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "problem.yaml"
    file.write_text("model: bert-large\nmodle: x\ncuont: 8\n")
    ran = run("recommend", file)
    assert (ran.code, ran.out) == (2, "")
    assert "2 faults" in ran.fault
    assert [line.strip() for line in ran.err.splitlines()[1:3]] == [
        "line 2: file: unknown key modle",
        "line 3: file: unknown key cuont",
    ]


@pytest.mark.parametrize("path", ["nowhere.yaml", "."])
def test_a_file_that_is_none_is_named(run: Any, tmp_path: Path, path: str) -> None:
    ran = run("recommend", path, folder=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.fault.startswith(f"{path}: ")
    assert "--from-command SCRIPT" in ran.err


def test_a_closed_pipe_ends_it_quietly(script: str, clean: dict[str, str], shipped_path: Path) -> None:
    command = f"{script} kb list settings --software vllm-ascend=0.18 | head -1"
    done = subprocess.run(
        ["sh", "-c", command],
        env={**clean, "TUNEGRAPH_WORKSPACE": str(shipped_path)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout.split()[0], done.stderr) == (b"place", b"")


def test_an_output_that_is_full_is_one_line(script: str, clean: dict[str, str], shipped_path: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123  a device
        done = subprocess.run(
            [script, "--workspace", str(shipped_path), "recommend", *TRAINING, *B3, "--json"],
            env=clean,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["tunegraph: cannot use the output: No space left on device"]


def _kernel(tile: int, cost: float) -> str:
    return json.dumps(
        {
            "task": {"kind": "kernel", "op": "stencil", "shape": {"n": 4096}},
            "hardware": {"vendor": "nvidia", "name": "NVIDIA A100-SXM4-80GB", "count": 1},
            "config": {"tile": tile},
            "outcome": {
                "metric": "kernel_time",
                "unit": "ms",
                "value": cost,
                "better": "lower",
                "status": "ok",
            },
            "source": {"repo": "a/b", "path": "c.json", "commit": "d", "licence": "MIT"},
        }
    )


@pytest.mark.long
def test_evidence_of_another_vendor_is_no_recommendation(run: Any, tmp_path: Path, empty_path: Path) -> None:
    """A wide table of one foreign device: such answers were wrong by a factor where they could be checked."""
    cases = tmp_path / "cases.jsonl"
    cases.write_text("\n".join(_kernel(tile, 1.0 + (tile % 97) ** 2) for tile in range(1, 400)) + "\n")
    with Workspace.editor(empty_path, cache=tmp_path) as editor:
        add_hardware(editor, "nvidia", "a100-sxm4-80gb")
        add_hardware(editor, "ascend", "ascend-910b3")
        editor.ingest([cases])
    question = ("--op", "stencil", "--hardware", "ascend-910b3", "--shape", "n=1024", "--count", "1")
    ran = run("recommend", *question, "-k", "3", workspace=empty_path)
    assert ran.code == 3, ran.out
    assert ran.out.splitlines()[2].startswith(
        "No recommendation: the nearest timed case is of another vendor"
    )
    assert ran.out.count("configuration of similar cases") == 2
    told = run("recommend", *question, "--json", workspace=empty_path)
    assert told.code == 3
    assert len(told.json["abstained"]["measure_next"]) == 2
    near = run("recommend", "--op", "stencil", "--hardware", "NVIDIA A100-SXM4-80GB", "--shape", "n=1024", "--count", "1",
               workspace=empty_path)  # fmt: skip
    assert near.code == 0, near.out
    assert "above the best" in near.out


SERVE = """export HCCL_OP_EXPANSION_MODE=AIV
vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --max-num-seqs 64
"""


def test_a_plan_is_written_into_a_copy_of_the_script(run: Any, tmp_path: Path) -> None:
    script, tuned = tmp_path / "serve.sh", tmp_path / "tuned.sh"
    script.write_text(SERVE)
    question = ("recommend", "--from-command", script, *B3, "--write")
    ran = run(*question, tuned)
    assert ran.code == 0
    assert ran.out.startswith(f"--- {script}\n+++ {tuned}\n")
    assert "--tensor-parallel-size 4" in tuned.read_text()  # the first change: it is modelled to be faster
    assert "--quantization" not in tuned.read_text()
    assert script.read_text() == SERVE
    again = run(*question, tuned)
    assert (again.code, again.out) == (2, "")
    assert f"{tuned} exists" in again.fault


def test_what_stands_in_a_file_of_a_trainer_is_said_to_stay_there(run: Any, tmp_path: Path) -> None:
    script, words = (
        tmp_path / "run.sh",
        "--per_device_train_batch_size 1 --gradient_accumulation_steps 4 --bf16",
    )
    script.write_text(
        f"deepspeed --num_gpus 4 train.py --model_name_or_path Qwen/Qwen3-8B --deepspeed ds.json {words}\n"
    )
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 3}, "wall_clock_breakdown": true}')
    ran = run("recommend", script, "--hardware", "a100-sxm4-80gb", "--write", tmp_path / "new.sh")
    assert "wall_clock_breakdown: taken away" not in ran.out
    assert "without wall_clock_breakdown: it stands in a file" in " ".join(ran.err.split())


COMPOSE = """services:
  engine:
    image: vllm/vllm-openai:v0.11.0  # pinned
    command: ["--model", "Qwen/Qwen3-8B", "--max-num-seqs", "32", "--enforce-eager", "--port", "8000", "--api-key", "sk-123", "--tokenizer", "my/words"]
    environment: [CUDA_LAUNCH_BLOCKING=1, A=1]
"""


def test_a_plan_is_written_into_a_compose_file_and_the_start_keeps_its_addresses(
    run: Any, tmp_path: Path
) -> None:
    file, tuned = tmp_path / "compose.yaml", tmp_path / "tuned.yaml"
    file.write_text(COMPOSE)
    question = ("recommend", "--from-command", file, "--hardware", "h100-sxm")
    ran = run(*question, "--write", tuned)
    assert ran.code == 0, ran.err
    service = yaml.safe_load(tuned.read_text())["services"]["engine"]
    assert "--enforce-eager" not in service["command"]
    assert service["environment"] == ["A=1"]
    assert "  # pinned\n" in tuned.read_text()
    assert "all else as it was" in ran.out
    start = run(*question).out.partition("Start with")[2]
    assert "--port 8000 --api-key SECRET" in start
    assert "--tokenizer my/words" in start
    assert "sk-123" not in start
    assert "sk-123" in service["command"]
    assert "CUDA_LAUNCH_BLOCKING" not in start.partition("What runs now")[0]


def test_what_cannot_be_written_is_one_line(run: Any, tmp_path: Path) -> None:
    script = tmp_path / "serve.sh"
    script.write_text(SERVE)
    question = ("recommend", "--from-command", script, *B3, "--write")
    assert "exists" in run(*question, tmp_path).fault
    assert "no such folder" in run(*question, tmp_path / "no" / "tuned.sh").fault
    assert run("recommend", "--from-command", tmp_path, *B3, "--write", "-").code == 2
    script.write_text("kind: Deployment\nspec: {containers: [{image: nginx}]}\n")
    assert "no launch is found" in run(*question, "-").fault
    other = (RunningSetting(key="--seed", value="1", place=SettingPlace.FLAG),)
    script.write_text(SERVE)
    with pytest.raises(InputError, match="changed while it was read"):
        write_script(None, "-", str(script), None, other)  # type: ignore[arg-type]  # it is not reached


def test_sizes_of_a_text_that_are_not_those_of_the_told_model_are_said(run: Any, tmp_path: Path) -> None:
    script = tmp_path / "pretrain_llama2_70b.sh"
    script.write_text(
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 80 --hidden-size 8192 "
        "--num-attention-heads 64 --seq-length 4096\n"
    )
    ran = run("recommend", "--from-command", script, "--model", "qwen3-8b", "--hardware", "h100-sxm")
    assert ran.code == 0
    assert "the sizes of the text are not those of qwen3-8b" in ran.err


def test_files_that_deploy_are_written_and_never_over_others(run: Any, tmp_path: Path) -> None:
    question = (
        "recommend",
        "--model",
        "qwen3-8b",
        "--phase",
        "serving",
        "--hardware",
        "h100-sxm",
        "--count",
        2,
    )
    there = run(*question, "--write-dir", tmp_path)
    assert there.code == 2
    assert "exists" in there.fault
    assert there.out == ""
    folder = tmp_path / "files"
    ran = run(*question, "--write-dir", folder)
    assert {path.name for path in folder.iterdir()} == {"serve.sh", "compose.yaml", "kubernetes.yaml"}
    assert "read back" in ran.out
    assert run("check", folder / "serve.sh", "--hardware", "h100-sxm").code == 0
    assert run(*question, "--write-dir", tmp_path / "other", "--json").code == 2
