"""``tunegraph estimate``: what a configuration would cost."""

import re
from pathlib import Path
from typing import Any

import pytest

LLAMA = ("estimate", "--model", "llama-2-7b", "--hardware", "ascend-910b1")
EIGHT = (*LLAMA, "--server", "atlas-800t-a2", "--count", 8)


def test_the_table_has_time_split_memory_and_energy(run: Any) -> None:
    ran = run(*EIGHT, "--set", "seq_len=4096", "--set", "tp=2", "--set", "zero=1")
    assert ran.code == 0
    for name in (
        "step",
        "compute",
        "communication exposed time",
        "throughput",
        "memory",
        "fits",
        "90 %",
        "energy",
    ):
        assert name in ran.out


def test_json_has_the_same_and_its_parts_add_up(run: Any) -> None:
    ran = run(*EIGHT, "--set", "seq_len=4096", "--set", "tp=2", "--json")
    assert ran.code == 0
    assert ran.json["kind"] == "modelled"
    (one,) = ran.json["estimates"]
    assert sum(one["split_s"].values()) == pytest.approx(one["time_s"])
    low, high = one["time_interval_90_s"]
    assert low < one["time_s"] < high
    assert one["memory_total_bytes"] == pytest.approx(sum(one["memory_bytes"].values()))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("tp=3",), "must divide the number of devices"),
        (("pp=8", "virtual_stages=8"), "must not be more than the layers"),
        (("seq_len=0",), "at least 1"),
        (("precision=fp8",), "fp8"),
        (("precision=w4a16",), "serving"),
        (("nosuch=1",), "nosuch"),
        (("tp",), "name=value"),
    ],
)
def test_what_cannot_be_is_refused_with_its_rule(run: Any, settings: tuple[str, ...], said: str) -> None:
    given = [part for one in ("seq_len=4096", *settings) for part in ("--set", one)]
    ran = run(*EIGHT, *given)
    assert ran.code == 2
    assert said in ran.err
    assert not ran.out


def test_a_missing_fact_is_named(run: Any) -> None:
    ran = run("estimate", "--model", "llama-2-7b", "--hardware", "ascend-310", "--set", "seq_len=128")
    assert ran.code == 3
    assert "peak_fp16_flops or" in ran.err
    intel = ("estimate", "--model", "llama-2-7b", "--hardware", "data-center-gpu-max-1550")
    links = run(*intel, "--count", 8, "--set", "seq_len=128", "--set", "tp=8")
    assert links.code == 3
    assert "link_bandwidth" in links.err
    sizes = run("estimate", "--model", "clip", "--hardware", "ascend-910b1", "--set", "seq_len=128")
    assert sizes.code == 3
    assert "hidden_size" in sizes.err


def test_one_of_several_launches_is_picked_by_its_number(run: Any, tmp_path: Path) -> None:
    script = tmp_path / "a.sh"
    lines = (f"vllm serve meta-llama/Llama-3.1-8B-Instruct -tp {size} --port 800{size}" for size in (1, 2))
    script.write_text("\n".join(lines))
    for command in ("estimate", "predict"):
        ran = run(command, "--from-command", script, "--hardware", "h100-sxm", "--server", 2)
        assert ran.code == 0
    assert (
        "tensor_parallel=2"
        in run("estimate", "--from-command", script, "--hardware", "h100-sxm", "--server", 2).out
    )


def test_an_unknown_model_or_device_is_refused(run: Any) -> None:
    assert run("estimate", "--model", "nosuchmodel", "--hardware", "ascend-910b1").code == 2
    assert run("estimate", "--model", "llama-2-7b", "--hardware", "nosuchchip").code == 2


SERVE = ("estimate", "--model", "qwen3-32b", "--hardware", "ascend-910b1", "--count", 8, "--phase", "serving")


def test_two_configurations_stand_side_by_side(run: Any) -> None:
    ran = run(*SERVE, "--compare", "tp=8", "tp=4,dp=2", "--json")
    ratios = {row["field"]: row["ratio"] for row in ran.json["comparison"]}
    first, second = ran.json["estimates"]
    assert ratios["throughput"] == pytest.approx(second["throughput"] / first["throughput"])
    shown = run(*SERVE, "--compare", "tp=8", "tp=4,dp=2")
    assert shown.code == 0
    assert "second / first" in shown.out
    assert re.search(r"^tensor_parallel +8 +4 *$", shown.out, re.MULTILINE)  # settings, a line each
    headings = [line.split("  ")[0].strip() for line in shown.out.splitlines()]
    assert {"output tokens/s", "memory", "memory time"} <= set(headings)
    assert "energy" not in headings


def test_a_sweep_says_what_no_other_beats(run: Any) -> None:
    sweep = ("--sweep", "tp=2,4,8", "--sweep", "dp=1,2,4", "--sweep", "batch=1,8")
    ran = run(*SERVE, *sweep, "--pareto", "throughput,tpot", "--json")
    assert ran.code == 0
    assert len(ran.json["estimates"]) == 6  # of 18 combinations, those on 8 devices
    front = [ran.json["estimates"][place] for place in ran.json["pareto"]["front"]]
    assert [one["throughput"] for one in front] == sorted((one["throughput"] for one in front), reverse=True)
    assert [one["tpot_s"] for one in front] == sorted((one["tpot_s"] for one in front), reverse=True)


def test_a_front_needs_a_sweep(run: Any) -> None:
    ran = run(*SERVE, "--pareto", "throughput")
    assert ran.code == 2
    assert "--sweep" in ran.err


def test_training_scripts_are_priced_as_they_are_told_and_say_whether_they_fit(
    run: Any, tmp_path: Any
) -> None:
    script = tmp_path / "sft.sh"
    adapted = (
        "trl sft --model_name_or_path meta-llama/Llama-2-7b-hf --use_peft --max_length 2048 --load_in_4bit"
    )
    script.write_text(adapted, encoding="utf-8")
    asked = ("--from-command", script, "--hardware", "a100-sxm4-80gb")
    ran = run("estimate", *asked, "--json")
    assert ran.code == 0
    (one,) = ran.json["estimates"]
    assert one["settings"]["lora_rank"] == 8
    assert one["settings"]["frozen_bits"] == 4
    sized = run("size", *asked)
    assert (sized.code, "it fits" in sized.out) == (0, True)
    script.write_text(
        "trl sft --model_name_or_path meta-llama/Llama-2-70b-hf --max_length 2048", encoding="utf-8"
    )
    assert "the fewest that hold it): it fits" in run("size", *asked).out
    whole = run("size", *asked, "--count", 8)
    assert whole.code == 4
    assert "it does not fit, but" in whole.err
    assert "it does not fit, but" in run("recommend", *asked, "--count", 8).err


def test_a_launch_that_is_kept_though_it_does_not_fit_is_told_what_makes_it_fit(
    run: Any, tmp_path: Any
) -> None:
    script = tmp_path / "full.sh"
    words = "--stage sft --finetuning_type full --cutoff_len 8192 --per_device_train_batch_size 2 --bf16 true"
    script.write_text(
        f"llamafactory-cli train --model_name_or_path Qwen/Qwen2.5-14B {words}"
        " --deepspeed examples/deepspeed/ds_z2_config.json",
        encoding="utf-8",
    )
    ran = run("recommend", script, "--hardware", "910B3", "--count", 8)
    said = " ".join(ran.err.split())
    assert "but your script is kept" in said
    assert "it does not fit, but micro-batches of 1 and all spread (ZeRO 3, FSDP) takes" in said


def test_where_accumulated_gradients_have_no_room_a_trainer_starts_without_them(run: Any) -> None:
    """As it does until it is told to accumulate; a step that is told to is refused, and so are its gradients."""
    machine = ("--hardware", "8xa100-sxm4-40gb", "--software", "transformers=")
    asked = ("--model", "qwen2.5-14b", "--phase", "training", "--shape", "seq_len=2048", *machine)
    begun = run("recommend", *asked)
    assert (begun.code, "no gradients are accumulated" in begun.out) == (0, True)
    assert "does not fit" not in f"{begun.out}{begun.err}"
    [one] = run("estimate", *asked, "--json").json["estimates"]
    assert (one["settings"]["global_batch"], one["fits"]) == (8, True)
    told = run("recommend", *asked, "--trait", "global_batch=1024")
    assert (told.code, "It does not fit on 8" in told.out) == (4, True)


def test_a_load_is_one_whether_it_is_set_or_asked_about(run: Any) -> None:
    """What is decided beside it, such as the requests of a step, is decided for it."""
    asked = (
        "estimate",
        "--model",
        "qwen3-8b",
        "--phase",
        "serving",
        "--hardware",
        "a100-sxm4-80gb",
        "--json",
    )
    load = ("concurrency=3", "input_len=64", "output_len=200")
    set_one = run(*asked, *(part for one in load for part in ("--set", one))).json["estimates"][0]
    asked_one = run(*asked, "--shape", ",".join(load)).json["estimates"][0]
    assert set_one["throughput"] == asked_one["throughput"]
    assert set_one["settings"]["batch"] == asked_one["settings"]["batch"] == 3


def test_the_size_of_a_training_is_that_of_the_layout_a_plan_begins_with(run: Any) -> None:
    asked = ("--model", "qwen2.5-7b", "--phase", "training", "--hardware", "910B1", "--count", "8")
    start = run("recommend", *asked, "--json").json["start"]
    sized = run("size", *asked)
    assert (sized.code, start["fits"]) == (0, True)
    assert sized.out.startswith("PP 2 x DP 4: a device needs") == (start["layout"]["pp"] == 2)


def test_one_pass_is_priced_with_what_bounds_it(run: Any) -> None:
    asked = (*SERVE, "--set", "tp=8", "--pass", "decode,batch=32,context=4096")
    shown = run(*asked, "--operators")
    assert shown.code == 0
    assert "decode of 32 x 1 tokens after 4096" in shown.out
    assert "bound by memory" in shown.out
    assert "gate and up" in shown.out
    assert "throughput" not in shown.out
    (one,) = run(*asked, "--json").json["passes"]
    assert (one["sequences"], one["cached"]) == (32, 4096)
    assert run(*SERVE, "--pass", "prefill,images=1x640x640").code == 3
    assert run(*SERVE, "--pass", "prefill", "--sweep", "batch=4,8").code == 2
