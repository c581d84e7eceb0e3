"""``tunegraph check``: screen, JSON, SARIF, exit codes, rules of one's own, and the same in a plan."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kg.nouns.release import release_key
from recommender.applicability.framework import newest_release

COSTLY = """export ASCEND_LAUNCH_BLOCKING=1
vllm serve Qwen/Qwen3-8B --enforce-eager \\
  --max-num-seqs 32 --max-model-len 8192
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "serve.sh"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_screen_has_line_cost_and_cure_in_80_columns(run: Any, written: Any) -> None:
    ran = run("check", written(COSTLY), "--hardware", "910B3", environment={"COLUMNS": "80"})
    assert ran.code == 1
    assert "--enforce-eager (line 2)" in ran.out
    assert "remove --enforce-eager" in ran.out
    assert re.search(r"without it [\d.]+x .* of the throughput.*modelled", " ".join(ran.out.split()))
    lines = [line for line in ran.out.splitlines() if "http" not in line and not line.startswith("/")]
    assert max(map(len, lines)) <= 80


def test_json_has_everything(run: Any, written: Any) -> None:
    ran = run("check", written(COSTLY), "--hardware", "910B3", "--json")
    assert ran.code == 1
    by_rule = {item["rule"]: item for item in ran.json["findings"]}
    assert set(by_rule) == {"ascend-launch-blocking", "eager-mode"}
    eager = by_rule["eager-mode"]
    assert (eager["line"], eager["place"], eager["level"]) == (2, "flag", "error")
    assert eager["remedy"] == {"remove": ["--enforce-eager"]}
    gain = eager["priced"]["throughput"]
    assert gain["low_factor"] < gain["expected_factor"] < gain["high_factor"]
    assert ran.json["clean"] is False


def test_sarif_points_at_the_line(run: Any, written: Any) -> None:
    ran = run("check", written(COSTLY), "--sarif")
    assert ran.code == 1
    results = json.loads(ran.out)["runs"][0]["results"]
    lines = {
        item["ruleId"]: item["locations"][0]["physicalLocation"]["region"]["startLine"] for item in results
    }
    assert lines == {"ascend-launch-blocking": 1, "eager-mode": 2}


def test_a_clean_script_is_exit_0(run: Any, written: Any) -> None:
    ran = run("check", written("vllm serve Qwen/Qwen3-8B --max-model-len 8192\n"))
    assert (ran.code, "nothing found" in ran.out) == (0, True)


def test_what_launches_nothing_or_is_not_there_is_exit_2_in_every_command(
    run: Any, written: Any, tmp_path: Path
) -> None:
    for asked in (
        ["check", written("echo hello\n")],
        ["recommend", "--from-command", written("echo hello\n")],
    ):
        assert run(*asked).code == 2
    assert run("check", tmp_path / "none.sh").code == 2
    assert run("check", written(COSTLY), "--hardware", "no-such-chip").code == 2
    assert run("check", written(COSTLY), "--json", "--sarif").code == 2


def test_an_unknown_model_is_judged_and_not_priced(run: Any, written: Any) -> None:
    ran = run("check", written(COSTLY.replace("Qwen/Qwen3-8B", "own/model-x")), "--hardware", "910B3")
    assert ran.code == 1
    assert "eager-mode" in ran.out
    assert "not priced" in ran.err


def test_rules_of_ones_own_join_and_replace_shipped_ones(run: Any, written: Any, tmp_path: Path) -> None:
    rules = tmp_path / "own.yaml"
    rules.write_text(
        """sources: {us: {title: ours, url: "https://example.org"}}
rules:
  - {id: eager-mode, kind: cost, level: note, settings: [--enforce-eager], says: {en: "meant"}, source: us}
  - {id: own, kind: limit, level: error, settings: [--max-model-len], below: 16000, says: {en: "short"}, source: us}
""",
        encoding="utf-8",
    )
    found = {
        item["rule"]: item["level"]
        for item in run("check", written(COSTLY), "--rules", rules, "--json").json["findings"]
    }
    assert found == {"ascend-launch-blocking": "error", "own": "error", "eager-mode": "note"}


def test_faulty_rules_are_refused_with_all_faults(run: Any, written: Any, tmp_path: Path) -> None:
    rules = tmp_path / "own.yaml"
    rules.write_text("rules: [{id: a, kind: odd, level: loud}]\n", encoding="utf-8")
    ran = run("check", written(COSTLY), "--rules", rules)
    assert ran.code == 2
    assert "odd" in ran.err
    assert "loud" in ran.err


def test_a_plan_says_it_first_and_starts_without(run: Any, written: Any) -> None:
    path = written(COSTLY)
    ran = run("recommend", "--from-command", path, "--hardware", "910B3")
    assert ran.code == 0
    start, _, findings = ran.out.partition("What runs now costs you")
    assert "remove enforce-eager (line 2)" in findings
    assert "--enforce-eager" not in start
    assert "ASCEND_LAUNCH_BLOCKING=1" not in start
    told = run("recommend", "--from-command", path, "--hardware", "910B3", "--json").json
    assert {item["rule"] for item in told["findings"]} == {"ascend-launch-blocking", "eager-mode"}


def test_changes_of_such_a_plan_are_explained(
    run: Any, written: Any, shipped_path: Path, tmp_path: Path
) -> None:
    workspace = shutil.copytree(shipped_path, tmp_path / "workspace")
    path = written(COSTLY)
    asked = ("recommend", "--from-command", path, "--hardware", "910B3", "--json")
    change = run(*asked, workspace=workspace).json["changes"][0]["id"]
    assert run("explain", change, workspace=workspace).code == 0


def test_a_start_takes_the_load_that_is_told(run: Any, written: Any) -> None:
    path = written("vllm serve Qwen/Qwen3-32B -tp 4 --max-num-seqs 16 --max-model-len 4096\n")
    told = ("--trait", "concurrency=200", "--shape", "input_len=6000,output_len=500")
    ran = run("recommend", "--from-command", path, "--hardware", "h100-sxm", *told)
    start, _, findings = ran.out.partition("What runs now costs you")
    assert "write max-num-seqs 200 (line 1)" in findings
    assert "--max-num-seqs 200" in start
    assert "--max-model-len 6500" in start
    assert "4096" not in start


def test_a_low_share_of_the_memory_has_the_price_of_the_requests_that_do_not_fit(
    run: Any, written: Any
) -> None:
    path = written(
        "vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 4 --gpu-memory-utilization .5 --max-model-len 8192\n"
    )
    ran = run("check", path, "--hardware", "h100-sxm", "--json")
    [finding] = [item for item in json.loads(ran.out)["findings"] if item["rule"] == "memory-share-low"]
    assert finding["priced"]["throughput"]["expected_factor"] > 1.2
    fits = run("check", path, "--hardware", "h100-sxm", "--trait", "concurrency=1", "--json")
    [finding] = [item for item in json.loads(fits.out)["findings"] if item["rule"] == "memory-share-low"]
    assert finding["priced"] is None


@pytest.mark.parametrize(("command", "hardware"), [
    ("vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 4 --gpu-memory-utilization .62", "h100-sxm"),
    ("python -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 2 --mem-fraction-static .6", "h100-sxm"),
])  # fmt: skip
def test_a_share_of_the_memory_below_the_usual_matters_where_requests_find_no_room(
    run: Any, written: Any, command: str, hardware: str
) -> None:
    path = written(f"{command}\n")
    for load, level in (((), "warning"), (("--trait", "concurrency=1"), "note")):
        ran = run("check", path, "--hardware", hardware, *load, "--json")
        found = [item for item in json.loads(ran.out)["findings"] if "below-usual" in item["rule"]]
        assert [item["level"] for item in found] == [level]


def test_a_written_script_is_without_what_costs(run: Any, written: Any, tmp_path: Path) -> None:
    target = tmp_path / "tuned.sh"
    ran = run("recommend", "--from-command", written(COSTLY), "--hardware", "910B3", "--write", target)
    assert ran.code == 0
    text = target.read_text(encoding="utf-8")
    assert "--enforce-eager" not in text
    assert "ASCEND_LAUNCH_BLOCKING" not in text
    assert "--max-model-len 8192" in text
    assert run("check", target, "--hardware", "910B3").code == 0


OF_OLDER = " --num-scheduler-steps 8 --use-v2-block-manager --swap-space 4 --preemption-mode swap"


@pytest.mark.parametrize(
    ("options", "is_older"),
    [("", False), (" --num-scheduler-steps 8 --max-num-seqs 9", False), (OF_OLDER, True)],
)
def test_a_start_and_its_judgement_are_of_one_release(
    run: Any, written: Any, options: str, is_older: bool
) -> None:
    path, device = (
        written(f"vllm serve Qwen/Qwen3-8B --dtype bfloat16{options}\n"),
        ("--hardware", "h100-sxm"),
    )
    start = run("recommend", path, *device, "--json").json["start"]["version"]
    assert run("check", path, *device, "--json").json["release"] == start
    assert release_key(start) < release_key("0.33") if is_older else start == newest_release("vllm")


@pytest.mark.parametrize("release", ["", "=0.33.0"])
def test_what_a_told_release_took_away_is_written_as_what_took_its_place(
    run: Any, written: Any, tmp_path: Path, release: str
) -> None:
    text = "export VLLM_ATTENTION_BACKEND=FLASHINFER\n"
    text += "vllm serve Qwen/Qwen3-8B --guided-decoding-backend xgrammar --disable-log-requests --max-num-seqs 64\n"
    target = tmp_path / "tuned.sh"
    asked = ("--hardware", "h100-sxm", "--software", f"vllm{release}", "--write", target)
    ran = run("recommend", written(text), *asked)
    assert (ran.code, "the release is assumed" in ran.err) == (0, not release)
    if not release:
        assert target.read_text(encoding="utf-8").startswith(text.rstrip())  # behind it stands what is new
        return
    new = target.read_text(encoding="utf-8").split()
    assert {
        "VLLM_ATTENTION_BACKEND=FLASHINFER",
        "--guided-decoding-backend",
        "--disable-log-requests",
    }.isdisjoint(new)
    for key, value in (
        ("--attention-backend", "FLASHINFER"),
        ("--structured-outputs-config.backend", "xgrammar"),
    ):
        assert new[new.index(key) + 1] == value
    assert run("check", target, "--hardware", "h100-sxm", "--software", f"vllm{release}").code == 0


def test_an_upgrade_is_told_and_breaks_with_exit_1(run: Any, written: Any) -> None:
    path = written("vllm serve m --num-scheduler-steps 8 --max-num-seqs 64\n")
    ran = run("check", path, "--software", "vllm=0.8.5", "--to", "vllm=0.33")
    assert ran.code == 1
    assert "--num-scheduler-steps (line 1), since 0.10.1" in ran.out
    told = run("check", path, "--software", "vllm=0.8.5", "--to", "vllm=0.33", "--json").json["upgrade"]
    assert told["breaks"] is True
    by_key = {item["setting"]: item for item in told["changes"]}
    assert by_key["--async-scheduling"]["strategy"] == "async-scheduling"
    assert run("check", path, "--software", "vllm=0.33.0", "--to", "vllm=0.33.0").code == 0


@pytest.mark.parametrize("to", ["vllm", "=0.33", "sglang=0.5.9", "vllm=next"])
def test_no_release_to_upgrade_to_is_exit_2(run: Any, written: Any, to: str) -> None:
    assert run("check", written("vllm serve m\n"), "--software", "vllm=0.8.5", "--to", to).code == 2


def test_what_the_release_took_away_is_not_kept_in_the_start(
    run: Any, written: Callable[[str], Path]
) -> None:
    path = written("vllm serve Qwen/Qwen3-8B --port 8000 --disable-log-requests\n")
    ran = run(
        "recommend",
        "--from-command",
        path,
        "--hardware",
        "h100-sxm",
        "--count",
        1,
        "--software",
        "vllm=0.33.0",
    )
    start = ran.out.partition("Start with")[2]
    assert "--port 8000" in start
    assert "--disable-log-requests" not in start


def test_a_written_script_starts_where_the_old_one_did_not(run: Any, written: Any, tmp_path: Path) -> None:
    script = written(
        "export CUDA_DEVICE_MAX_CONNECTIONS=32\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 "
        "--hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --ffn-hidden-size 11008 --swiglu "
        "--tensor-model-parallel-size 2 --micro-batch-size 2 --global-batch-size 250 --bf16\n"
    )
    target = tmp_path / "new.sh"
    run("recommend", "--from-command", script, "--hardware", "h100-sxm", "--write", str(target))
    text = target.read_text(encoding="utf-8")
    assert "export CUDA_DEVICE_MAX_CONNECTIONS=1\n" in text
    assert "--global-batch-size 256" in text
    assert "refused" not in run("check", str(target), "--hardware", "h100-sxm", "--json").out


def test_what_a_launcher_is_told_counts_and_stays_with_the_launcher(run: Any, written: Any) -> None:
    command = (
        "accelerate launch --num_processes 8 --use_fsdp --fsdp_sharding_strategy FULL_SHARD --mixed_precision bf16 "
        "run_clm.py --model_name_or_path meta-llama/Meta-Llama-3-8B --block_size 4096 "
        "--per_device_train_batch_size 1 --gradient_checkpointing true\n"
    )
    ran = run("recommend", "--from-command", written(command), "--hardware", "a100-sxm4-80gb")
    start, _, findings = ran.out.partition("What runs now costs you:")
    assert "--per_device_train_batch_size 1" in start
    assert not any(word in start for word in ("fsdp", "mixed", "use-fsdp", "num-processes", "--bf16"))
    assert "gradient_checkpointing" in findings


def test_a_later_checkpoint_is_as_long_as_its_own_configuration(run: Any, written: Any) -> None:
    for name, is_too_long in (("Qwen3-30B-A3B-Instruct-2507", False), ("Qwen3-30B-A3B", True)):
        path = written(f"vllm serve Qwen/{name} --max-model-len 200000\n")
        found = [
            item["rule"]
            for item in json.loads(run("check", path, "--hardware", "h200", "--json").out)["findings"]
        ]
        assert ("length-beyond-model" in found) is is_too_long
    asked = ("--phase", "serving", "--hardware", "h200", "--shape", "input_len=100000,output_len=100")
    assert "yarn" not in run("recommend", "--model", "Qwen3-30B-A3B-Instruct-2507", *asked).out
    assert "yarn" in run("recommend", "--model", "Qwen3-30B-A3B", *asked).out


def test_a_start_of_deepspeed_keeps_its_file_and_is_told_no_other_way_to_share(
    run: Any, tmp_path: Path
) -> None:
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}')
    script = tmp_path / "run.sh"
    script.write_text(
        "deepspeed --num_gpus 8 run_clm.py --model_name_or_path Qwen/Qwen2.5-14B --deepspeed ds.json "
        "--per_device_train_batch_size 1 --gradient_checkpointing True --bf16 True --max_seq_length 4096\n"
    )
    start = run("recommend", "--from-command", script, "--hardware", "a100-sxm4-80gb").out
    assert "--deepspeed ds.json" in start
    assert "--fsdp" not in start
    assert "zero-optimization" not in start


def test_a_price_says_that_the_host_which_updates_weights_is_not_in_it(run: Any, tmp_path: Path) -> None:
    states = {"stage": 3, "offload_optimizer": {"device": "cpu"}}
    (tmp_path / "ds.json").write_text(json.dumps({"zero_optimization": states}))
    script = tmp_path / "run.sh"
    script.write_text(
        "deepspeed --num_gpus 8 run_clm.py --model_name_or_path Qwen/Qwen2.5-14B --deepspeed ds.json "
        "--per_device_train_batch_size 1 --bf16 True --max_seq_length 4096\n"
    )
    for verb in ("recommend", "estimate"):
        said = run(verb, "--from-command", script, "--hardware", "a100-sxm4-80gb")
        assert "the host updates the weights" in said.out + said.err


@pytest.mark.parametrize(
    ("command", "cure"),
    [
        ("vllm serve Qwen/Qwen3-32B --gpu-memory-utilization 0.5 --max-model-len 16384",
         "--gpu-memory-utilization 0.92"),
        ("vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 2", "--max-model-len"),
        ("python -m sglang.launch_server --model-path Qwen/Qwen3-32B --mem-fraction-static 0.6",
         "--mem-fraction-static 0.8"),
    ],
)  # fmt: skip
def test_every_command_says_first_that_a_launch_does_not_start(
    run: Any, written: Any, command: str, cure: str
) -> None:
    path = written(f"{command}\n")
    ran = run("check", path, "--hardware", "h100-sxm", "--json")
    first = json.loads(ran.out)["findings"][0]
    assert (ran.code, first["rule"]) == (1, "no-room-to-start")
    assert first["remedy"]["write"].startswith(cure)
    for asked in ("recommend", "estimate"):
        said = run(asked, "--from-command", path, "--hardware", "h100-sxm").out
        head = " ".join(said.split("\n", 8)[:8])
        assert "his launch does not start" in head, asked
        assert cure in " ".join(head.split()), asked
    start = run("recommend", "--from-command", path, "--hardware", "h100-sxm").out.partition("Start with")[2]
    assert cure in start  # and what is printed starts


@pytest.mark.parametrize(("samples", "tokens", "starts"), [(4, 4096, False), (1, 1024, True)])
def test_activations_need_room_beside_the_weights(
    run: Any, tmp_path: Path, samples: int, tokens: int, *, starts: bool
) -> None:
    """Alone they are less than twice the device, which the model of memory may be off by."""
    path = tmp_path / "sft.yaml"
    path.write_text(
        "model_name_or_path: Qwen/Qwen2.5-14B-Instruct\nfinetuning_type: lora\nquantization_bit: 4\nbf16: true\n"
        f"cutoff_len: {tokens}\nper_device_train_batch_size: {samples}\n"
    )
    asked = (path, "--hardware", "rtx 4090", "--count", 1)
    found = [item["rule"] for item in json.loads(run("check", *asked, "--json").out)["findings"]]
    assert ("no-room-to-start" not in found) is starts


TRAINER = "train.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --bf16 true"


@pytest.mark.parametrize(
    ("launcher", "more", "starts"),
    [
        ("torchrun --nproc_per_node 8", "", False),
        ("accelerate launch --multi_gpu --num_processes 8", "--gradient_checkpointing true", False),
        ("torchrun --nproc_per_node 8", "--fsdp 'full_shard auto_wrap'", True),
        ("torchrun --nproc_per_node 8", "--use_peft true", True),
        ("torchrun --nproc_per_node 8", "--deepspeed conf/not-there.json", True),  # who knows
        ("accelerate launch", "", True),  # a file of its own may say how it is divided
    ],
)
def test_a_training_whose_states_are_beyond_a_device_is_told(
    run: Any, written: Any, launcher: str, more: str, *, starts: bool
) -> None:
    path = written(f"{launcher} {TRAINER} {more}\n")
    findings = json.loads(run("check", path, "--hardware", "a100-40gb", "--json").out)["findings"]
    assert ("no-room-to-start" in [item["rule"] for item in findings]) is not starts
    if not starts:
        assert findings[0]["remedy"] == {}
        assert "ZeRO 3" in findings[0]["says"]["en"]
        for asked in (("check",), ("recommend", "--from-command")):
            assert "remove" not in run(*asked, path, "--hardware", "a100-40gb").out
        said = " ".join(run("estimate", "--from-command", path, "--hardware", "a100-40gb").err.split())
        assert "not in your launch, but in the start that recommend gives: zero_stage=3" in said


def test_a_plan_says_what_a_setting_costs_that_only_the_memory_justifies(run: Any, written: Any) -> None:
    path = written(
        "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --bf16 "
        "--ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 "
        "--swiglu --seq-length 4096 --num-experts 8 --moe-router-topk 2 --micro-batch-size 1 "
        "--global-batch-size 256 --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 "
        "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1\n"
    )
    ran = run("recommend", "--from-command", path, "--hardware", "h100-sxm")
    findings = " ".join(ran.out.partition("What runs now costs you:")[2].split())
    assert "remove recompute-granularity, recompute-method, recompute-num-layers" in findings
    assert "modelled; right where the activations do not fit" in findings
