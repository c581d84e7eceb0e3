"""Changes to try: what the script offers, what is asked for, and what is left alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from ingest.questions.patches.script_edits import ScriptEdits
from kg.errors import InputError
from recommender.tune.candidates import (
    TuneChange,
    configuration_of,
    further,
    named_changes,
    plan_changes,
    script_changes,
)
from recommender.tune.launch_script import LaunchScript
from recommender.tune.request import TuneRequest
from recommender.workspace.workspace import Workspace

LLAMA = "llama-server -m a.gguf --port 1 -c 8192 -t 4 -b 512 --api-key sk-1 -ngl 99 -ctk q8_0\n"
VLLM = "export HCCL_BUFFSIZE=512\nvllm serve Qwen/Qwen3-32B -tp 4 --max-num-seqs 64 --max-model-len 8192 --enforce-eager\n"


def read(text: str) -> LaunchScript:
    return LaunchScript.read(Path("/srv/model/serve.sh"), Path("/srv/model"), text)


def names(text: str) -> list[str]:
    return [item.name for item in script_changes(read(text))]


def test_what_is_furthest_from_its_default_is_taken_away_first() -> None:
    assert names("llama-server -m a.gguf -t 1 -b 32 -ub 1\n") == [
        "without -ub", "without -b", "without -t", "-ub 2", "-b 64", "-b 16", "-t 2",
    ]  # fmt: skip
    assert "without -b" not in names("llama-server -m a.gguf -b 2048\n")  # its default
    assert names("llama-server -m a.gguf --no-cont-batching\n")[0] == "without --no-cont-batching"
    assert names("llama-server -m a.gguf --cont-batching\n")[0] != "without --cont-batching"


def test_what_the_release_took_away_is_taken_away_and_not_doubled() -> None:
    found = names("vllm serve a/B --num-scheduler-steps 8 --max-num-seqs 64\n")
    assert [name for name in found if "scheduler" in name] == ["without --num-scheduler-steps"]
    assert "--max-num-seqs 128" in found


def test_paths_of_a_machine_are_left_alone() -> None:
    assert names("export MIES_INSTALL_PATH=mindie\n./bin/mindieservice_daemon\n") == []


def test_what_changes_what_is_served_is_left_alone() -> None:
    for text in (LLAMA, VLLM):
        found = " ".join(names(text))
        for left in ("-c ", "--port", "-m", "--api-key", "-ctk", "-tp", "--max-model-len"):
            assert f"without {left.strip()}" not in found


def test_users_that_divide_the_context_are_tried_with_more_of_it_alone() -> None:
    """A request may be as long as before: where the context is the program's own, users are left alone."""
    script = read("llama-server -m a.gguf -c 4096 -np 4 -b 512\n")
    [first, *_] = [item for item in script_changes(script) if "-np" in item.name]
    assert (first.name, first.key) == ("-np 8 -c 8192", "-np")
    more = further(first)
    assert more is not None
    assert more.edits.flags == {"-np": ("16",), "-c": ("16384",)}
    assert not [name for name in names("llama-server -m a.gguf -np 4 -b 512\n") if "-np" in name]
    assert [item.name for item in named_changes(["-np=8"], script, [])] == ["-np 8"]


def test_batches_that_the_script_leaves_to_the_program_are_tried_from_its_default() -> None:
    found = names("llama-server -m a.gguf -t 4\n")
    assert {"--batch-size 4096", "--batch-size 1024"} <= set(found)
    assert "--batch-size 4096" not in names(LLAMA)  # it says -b


TRAINS = (
    "python run_clm.py --per_device_train_batch_size 4 --gradient_accumulation_steps {turns} --bf16 False"
)


def trained(text: str) -> dict[str, TuneChange]:
    script = LaunchScript.read(Path("/srv/train.sh"), Path("/srv"), text, trains=True)
    return {change.name: change for change in script_changes(script)}


def test_a_batch_of_a_trainer_goes_against_the_batches_that_it_sums_up() -> None:
    found = trained(TRAINS.format(turns=2) + " --block_size 512")
    same = found["--per_device_train_batch_size 8 --gradient_accumulation_steps 1"]
    assert "the same samples" in same.why
    assert "2x the samples" in found["--per_device_train_batch_size 8"].why
    assert "2x the samples" in found["without --per_device_train_batch_size"].why  # 8 is the default
    assert not any("block_size" in name for name in found)  # another length is another training


def test_number_formats_of_a_trainer_are_told_and_not_tried_unasked() -> None:
    found = trained(TRAINS.format(turns=1))
    assert found["--bf16=true"].provided
    assert found["--tf32=true"].provided
    assert "--bf16=true" not in trained(TRAINS.format(turns=1).replace("False", "True"))


def test_a_step_that_helped_is_followed_by_the_next() -> None:
    double, half = (item for item in script_changes(read(LLAMA)) if item.name in {"-t 8", "-t 2"})
    assert getattr(further(double), "name", "") == "-t 16"
    assert getattr(further(half), "name", "") == "-t 1"
    assert further(TuneChange(name="x", edits=ScriptEdits(), why="asked for", key="-t", number=4)) is None


def test_changes_that_are_asked_for() -> None:
    script = read(VLLM)
    texts = ["--max-num-seqs=32,128", "--enforce-eager=", "OMP_NUM_THREADS=8", "--async-scheduling=true"]
    found = list(named_changes(texts, script, []))
    assert [item.name for item in found] == [
        "--max-num-seqs 32", "--max-num-seqs 128", "without --enforce-eager", "OMP_NUM_THREADS 8",
        "--async-scheduling true",
    ]  # fmt: skip
    assert found[4].edits.flags == {"--async-scheduling": ()}
    assert found[3].edits.variables == {"OMP_NUM_THREADS": "8"}
    for text in ("speed", "--=3", "= 4"):
        with pytest.raises(InputError, match="no change of the plan"):
            list(named_changes([text], script, []))


def test_a_flag_that_the_program_would_refuse_costs_no_start() -> None:
    script = read(VLLM.replace("-tp", "--own-flag 3 -tp"))
    for text, says in {
        "--max-num-sequences=4": "vllm has no such flag",
        "--max-num-seqs=4,many": r"--max-num-seqs=many: it takes int 1\.\.",
        "--enforced=": "vllm has no such flag",
        "--max-num-batched-tokens=": "the script does not set it",
    }.items():
        with pytest.raises(InputError, match=says):
            list(named_changes([text], script, []))
    assert len(list(named_changes(["--own-flag=4", "--own-flag=", "OWN=1"], script, []))) == 3


def test_a_flag_is_asked_for_in_any_of_its_spellings() -> None:
    [found] = named_changes(["--ubatch-size="], read("llama-server -m m.gguf -ub 1\n"), [])
    assert found.edits == ScriptEdits(removed=("-ub",))


def test_what_a_configuration_sets_by_name() -> None:
    script = read(VLLM)
    found = configuration_of(
        ScriptEdits(flags={"--max-num-seqs": ("128",)}, removed=("--enforce-eager",)), script
    )
    assert dict(found) == {"HCCL_BUFFSIZE": "512", "max_num_seqs": "128"}
    assert "enforce_eager" in configuration_of(ScriptEdits(), script)


def test_a_change_is_kept_and_read_again() -> None:
    for item in script_changes(read(VLLM)):
        again = TuneChange.from_json(item.to_json())
        assert again == item
        assert again.digest == item.digest


def planned(shipped: Workspace, text: str) -> list[TuneChange]:
    script = read(text)
    question = {
        "model": "qwen3-32b", "phase": "serving", "hardware": "ascend-910b3", "count": 4, "software": {"vllm": ""},
    }  # fmt: skip
    problem, notes = shipped.ask.questions.problem(question)
    return list(plan_changes(shipped.launches.recommend(problem, script.settings, notes=notes), script))


def test_what_check_says_is_to_be_written_is_tried(shipped: Workspace) -> None:
    flags = "--gpu-memory-utilization 0.5 --no-enable-prefix-caching --dtype float32 --max-model-len 1024"
    found = {item.name: item for item in planned(shipped, f"vllm serve Qwen/Qwen3-32B -tp 4 {flags}\n")}
    raised = found["--gpu-memory-utilization 0.9"]
    assert raised.why == "check: memory-share-low"
    assert raised.edits.flags == {"--gpu-memory-utilization": ("0.9",)}
    assert found["without --no-enable-prefix-caching"].why == "check: prefix-caching-off"
    assert not [name for name in found if name.startswith(("--dtype", "--max-model-len"))]
    own = {item.name: item.why for item in script_changes(read("vllm serve /m/a --enforce-eager\n"))}
    assert own["without --enforce-eager"] == "the script sets it"


def test_a_plan_comes_first_in_the_words_of_the_script(shipped: Workspace) -> None:
    found = planned(shipped, VLLM)
    assert found[0].name == "without --enforce-eager"
    assert any(item.name == "the plan's start" for item in found)
    assert all(
        not key.startswith(("--dtype", "--quantization")) for item in found for key in item.edits.flags
    )
    gains = [item.expected for item in found if item.expected is not None]
    assert gains == sorted(gains, reverse=True)


def test_a_change_under_a_condition_that_only_the_user_knows_is_tried_where_it_is_asked_for(
    shipped: Workspace, tmp_path: Path
) -> None:
    """No prompt of a probe is like another: what helps where prompts share nothing would always win."""
    (tmp_path / "serve.sh").write_text("vllm serve Qwen/Qwen3-32B -tp 4 --max-num-seqs 64\n")
    question = {
        "model": "qwen3-32b",
        "phase": "serving",
        "hardware": "h100-sxm",
        "count": 4,
        "software": {"vllm": ""},
    }
    request = TuneRequest(
        script=str(tmp_path / "serve.sh"), script_digest="", folder=str(tmp_path), question=question
    )
    title = "Prefix cache off for prompts that share nothing"
    prepared = shipped.tuning.prepare(request)
    assert (
        f"left out: {title}: it holds if prompts share no prefix; --change with its name tries it"
        in prepared.notes
    )
    assert not [item.name for item in prepared.candidates if "--no-enable-prefix-caching" in item.edits.flags]
    named = shipped.tuning.prepare(replace(request, changes=(title,)))
    assert [item.name for item in named.candidates] == [title]
