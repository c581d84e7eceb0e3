"""Plans written into launch scripts."""

from dataclasses import replace
from pathlib import Path

import pytest

from kg.errors import InputError
from kg.nouns.gain import Gain
from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from recommender.answers.tuned_script import tuned_script
from recommender.ranking.change import Change
from recommender.ranking.plan.plan import Plan
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.start import StartConfiguration

SCRIPT = "vllm serve m --max-num-seqs 64\n"
GAIN = Gain(expected=0.1, low=0.0, high=0.2)


def flag(key: str, value: Value, origin: Origin = Origin.RECIPE) -> PlanSetting:
    return PlanSetting(where=SettingPlace.FLAG, key=key, value=value, origin=origin, agreement=0.9)


CHANGE = Change(id="1", title="Better", settings=(flag("--better", value=True),), gain=GAIN, tier="published")
PLAN = Plan(
    start=StartConfiguration(
        framework="vllm",
        settings=(flag("--max-num-seqs", 64, Origin.CURRENT), flag("--block-size", 128)),
    ),
    changes=(
        CHANGE,
        replace(CHANGE, id="2", settings=(flag("--open", value=True),), provided="prompts share prefixes"),
        replace(CHANGE, id="3", settings=(flag("--unknown", value=True),), gain=None),
        replace(CHANGE, id="4", settings=(flag("--lossy", value=True),), accuracy="may-change"),
    ),
)


def test_start_and_unconditional_gains_go_into_the_script() -> None:
    made = tuned_script(PLAN, SCRIPT, "serve.sh", "tuned.sh")
    assert made.text == "vllm serve m --max-num-seqs 64 \\\n    --block-size 128 \\\n    --better\n"
    assert made.diff.startswith("--- serve.sh\n+++ tuned.sh\n")
    assert made.reasons == (
        "--block-size: recipe, set by 90% of the recipes by weight",
        "--better: Better, 1.11x (1.00 to 1.22), chance 95%, published",
    )


def test_without_a_script_one_is_written() -> None:
    made = tuned_script(PLAN)
    assert made.text.startswith("#!/usr/bin/env bash\nvllm serve MODEL")
    assert "--better" in made.text
    assert made.diff.startswith("--- /dev/null")


def test_a_file_of_settings_gets_its_keys() -> None:
    keys = [
        replace(flag(key, value), where=SettingPlace.YAML)
        for key, value in (("cutoff_len", 8), ("bf16", True))
    ]
    start = StartConfiguration(framework="llama-factory", settings=tuple(keys))
    task = "model_name_or_path: a/B-8B\nstage: sft\nfinetuning_type: lora\ncutoff_len: 4  # tokens\n"
    made = tuned_script(Plan(start=start), task, "task.yaml", "tuned.yaml")
    assert made.text == task.replace("cutoff_len: 4", "cutoff_len: 8") + "bf16: true\n"
    assert (made.unwritten, made.proof) == ((), "read again: 2 settings changed, all else as it was")


def test_fields_of_files_are_named_as_not_written() -> None:
    field = replace(flag("A.b", 1), where=SettingPlace.JSON, file="config.json")
    plan = replace(PLAN, start=replace(PLAN.start, settings=(field,)), changes=())
    made = tuned_script(plan, SCRIPT)
    assert made.diff == ""
    assert made.unwritten == ("config.json: A.b=1: not in the script",)


def test_a_switch_that_nothing_switches_off_is_taken_away() -> None:
    change = replace(CHANGE, settings=(replace(flag("--eager", value=False), removed=True),))
    made = tuned_script(replace(PLAN, changes=(change,)), "vllm serve m --eager --max-num-seqs 64\n")
    assert made.text == "vllm serve m --max-num-seqs 64 \\\n    --block-size 128\n"
    assert "--eager: Better, 1.11x (1.00 to 1.22), chance 95%, published" in made.reasons


def test_what_does_not_fit_is_not_written() -> None:
    with pytest.raises(InputError, match="does not fit"):
        tuned_script(replace(PLAN, start=replace(PLAN.start, fits=False)))


def test_a_script_of_another_engine_is_refused() -> None:
    with pytest.raises(InputError, match="launches sglang, the plan is for vllm"):
        tuned_script(PLAN, "python -m sglang.launch_server --model-path m --tp 2\n")


def test_what_a_program_says_that_the_script_runs_is_written_there() -> None:
    files = {"serve.py": "from vllm import LLM\nLLM('m')\n"}.get
    with pytest.raises(InputError, match=r"stand in serve\.py") as fault:
        tuned_script(PLAN, "python serve.py\n", beside=files)
    assert fault.value.hint == "tunegraph recommend serve.py --write FILE"
    assert tuned_script(PLAN, "python other.py\nvllm serve m\n", beside=files).diff


def test_a_script_of_the_engine_beneath_a_framework_is_its_own() -> None:
    plan = replace(PLAN, start=replace(PLAN.start, framework="mindspeed-llm", settings=()), changes=())
    assert tuned_script(plan, "torchrun pretrain_gpt.py --num-layers 32\n").diff == ""


def test_a_script_without_a_last_newline_gives_a_diff_that_applies() -> None:
    made = tuned_script(PLAN, "vllm serve m --max-num-seqs 64")
    assert "-vllm serve m --max-num-seqs 64\n\\ No newline at end of file\n" in made.diff


def test_what_only_costs_is_taken_away_and_a_placeholder_is_never_written() -> None:
    drafted = flag("speculative_config.model", "DRAFT_MODEL")
    plan = replace(
        PLAN, changes=(), start=replace(PLAN.start, settings=(replace(drafted, where=SettingPlace.JSON),))
    )
    made = tuned_script(plan, "vllm serve m --enforce-eager\n", removed=["--enforce-eager"])
    assert made.text == "vllm serve m\n"
    assert made.unwritten == ("speculative_config: it needs a draft model of your own",)
    assert made.proof.startswith("read again: 1 command, 1 setting changed, all else as it was")


def test_what_drafts_is_written_whole_or_not_at_all() -> None:
    settings = (
        flag("--speculative-algorithm", "EAGLE3"),
        flag("--speculative-draft-model-path", "DRAFT_MODEL"),
    )
    drafted = replace(PLAN, start=replace(PLAN.start, framework="sglang", settings=settings), changes=())
    made = tuned_script(drafted, "python -m sglang.launch_server --model-path m\n")
    assert "speculative" not in made.text
    assert len(made.unwritten) == 2
    assert made.reasons == ()


def test_a_script_keeps_its_mode(tmp_path: Path) -> None:
    script, target = tmp_path / "serve.sh", tmp_path / "tuned.sh"
    script.write_text(SCRIPT)
    script.chmod(0o750)
    tuned_script(PLAN, SCRIPT).write(target, script)
    assert target.stat().st_mode & 0o777 == 0o750


def test_another_layout_is_tested_before_it_is_written() -> None:
    layout = replace(CHANGE, title="Divide it as TP 2", settings=(flag("--tensor-parallel-size", 2),))
    made = tuned_script(replace(PLAN, changes=(layout,)), SCRIPT)
    assert "--tensor-parallel-size" not in made.text
    assert made.unwritten == ("Divide it as TP 2: test it first",)


def test_what_could_not_be_taken_away_is_not_said_to_be_gone() -> None:
    plan = replace(PLAN, start=replace(PLAN.start, settings=()), changes=())
    made = tuned_script(plan, "vllm serve m ${EXTRA:---enforce-eager}\n", removed=["--enforce-eager"])
    assert made.diff == ""
    assert not any("taken away" in line for line in made.reasons)


def test_what_was_told_beside_the_script_is_written_over_what_it_says() -> None:
    told = PlanSetting(where=SettingPlace.FLAG, key="--seed", value=5, origin=Origin.CURRENT)
    plan = replace(PLAN, start=replace(PLAN.start, settings=(told,)))
    script = "vllm serve m --seed 4\n"
    assert "--seed 4" in tuned_script(plan, script).text
    assert "--seed 5" in tuned_script(plan, script, stated={"seed"}).text


def test_devices_that_a_plan_takes_beyond_those_that_are_shown_are_said() -> None:
    plan = replace(PLAN, start=replace(PLAN.start, layout=ParallelLayout(tp=4)))
    made = tuned_script(plan, "ASCEND_RT_VISIBLE_DEVICES=0,1 vllm serve m\n")
    assert "devices that the script does not show: it shows 2, the plan takes 4" in made.unwritten
    assert not tuned_script(plan, "ASCEND_RT_VISIBLE_DEVICES=0,1,2,3 vllm serve m\n").unwritten


def test_the_files_of_a_script_are_written_beside_it_and_never_over_others(tmp_path: Path) -> None:
    script = tmp_path / "serve.sh"
    script.write_text("vllm serve m --config s.yaml\n")
    made = tuned_script(
        PLAN, script.read_text(), "serve.sh", "new.sh", removed=["--enforce-eager"],
        elsewhere=["--enforce-eager"], beside={"s.yaml": "enforce-eager: true\nseed: 1\n"}.get,
    )  # fmt: skip
    made.write(tmp_path / "new.sh", script)
    assert (tmp_path / "new-s.yaml").read_text() == "seed: 1\n"
    assert "--config new-s.yaml" in (tmp_path / "new.sh").read_text()
    assert made.diff.endswith("+++ new-s.yaml\n@@ -1,2 +1 @@\n-enforce-eager: true\n seed: 1\n")
    with pytest.raises(InputError, match=r"new-s.yaml exists"):
        made.write(tmp_path / "newer.sh", script)


def test_a_length_that_stands_by_another_name_is_not_written_again() -> None:
    script = "from trl import SFTConfig\nargs = SFTConfig('out', max_seq_length=2048)\n"
    start = replace(PLAN.start, framework="trl", settings=(flag("--max_length", 2048), flag("--bf16", True)))
    made = tuned_script(replace(PLAN, start=start, changes=()), script, "train.py", "tuned.py")
    assert made.text.splitlines()[1] == "args = SFTConfig('out', max_seq_length=2048, bf16=True)"


def test_the_default_of_a_release_is_written_only_over_something_else() -> None:
    start = replace(
        PLAN.start, settings=(flag("--tensor-parallel-size", 1), flag("--block-size", 128)), version="0.11.0"
    )
    plan = replace(PLAN, start=start, changes=())
    made = tuned_script(plan, SCRIPT)
    assert "--tensor-parallel-size" not in made.text
    assert "--tensor-parallel-size 1: the default of the release" in made.unwritten
    assert "-tp 1" in tuned_script(plan, "vllm serve m -tp 2\n").text
