"""Settings written into launch scripts."""

import json

import pytest

from ingest.questions.launches.launch import read_launches
from ingest.questions.patches.script_edits import ScriptEdits, edited
from kg.errors import InputError

SCRIPT = """#!/bin/bash
# --max-num-seqs 1 is slow
export HCCL_OP_EXPANSION_MODE="AIV"
TP=4
vllm serve /models/m \\
  --tensor-parallel-size $TP --max-num-seqs 64 --max-num-batched-tokens=8192 \\
  --compilation-config '{"cudagraph_mode": "FULL"}' 2>&1 | tee log.txt
echo done
"""


def words(text: str) -> tuple[str, ...]:
    return read_launches(text, "")[0].command.words


def test_a_flag_gets_its_value_where_it_stands() -> None:
    made = edited(
        SCRIPT, ScriptEdits(flags={"--max-num-seqs": ("128",), "--max-num-batched-tokens": ("4096",)})
    )
    assert "--max-num-seqs 128 --max-num-batched-tokens=4096" in made.text
    assert "# --max-num-seqs 1 is slow" in made.text
    assert made.text.count("\n") == SCRIPT.count("\n")


def test_the_variable_behind_a_flag_is_changed_where_it_is_assigned() -> None:
    made = edited(SCRIPT, ScriptEdits(flags={"--tensor-parallel-size": ("8",)}))
    assert "TP=8\n" in made.text
    assert "--tensor-parallel-size $TP" in made.text
    assert "8" in words(made.text)


def test_what_is_new_goes_to_the_end_of_the_command_and_before_it() -> None:
    made = edited(
        SCRIPT,
        ScriptEdits(
            variables={"TASK_QUEUE_ENABLE": "2", "HCCL_OP_EXPANSION_MODE": "HOST"},
            flags={"--async-scheduling": (), "--quantization": ("a b; rm -rf x",)},
            fields={"--compilation-config": {"pass": {"fuse": True}}, "--additional-config": {"a": 1}},
        ),
    )
    command = read_launches(made.text, "")[0].command
    assert command.environment == {"TASK_QUEUE_ENABLE": "2", "HCCL_OP_EXPANSION_MODE": "HOST"}
    assert "--async-scheduling" in command.words
    assert "a b; rm -rf x" in command.words
    objects = [json.loads(word) for word in command.words if word.startswith("{")]
    assert objects == [{"cudagraph_mode": "FULL", "pass": {"fuse": True}}, {"a": 1}]
    assert made.text.rstrip().endswith("2>&1 | tee log.txt\necho done")
    assert made.unwritten == ()


def test_options_held_in_a_variable_are_changed_there() -> None:
    script = 'ARGS="--micro-batch-size 1 --tensor-model-parallel-size 2 --bf16"\ntorchrun x.py $ARGS\n'
    made = edited(script, ScriptEdits(flags={"--micro-batch-size": ("4",), "--use-flash-attn": ()}))
    assert "--micro-batch-size 4 --tensor" in made.text
    assert made.text.endswith("$ARGS \\\n    --use-flash-attn\n")
    assert made.unwritten == ()


def test_what_cannot_be_written_is_said() -> None:
    made = edited(
        SCRIPT.replace('\'{"cudagraph_mode": "FULL"}\'', "$CONFIG"),
        ScriptEdits(fields={"--compilation-config": {"a": 1}}),
    )
    assert "no plain JSON" in made.unwritten[0]
    made = edited(
        SCRIPT.replace('{"cudagraph_mode": "FULL"}', "[1]"),
        ScriptEdits(fields={"--compilation-config": {"a": 1}}),
    )
    assert "no plain JSON object" in made.unwritten[0]


def test_other_commands_and_comments_stay() -> None:
    script = "vllm bench serve --max-num-seqs 99\n# --compilation-config '{}'\n# --max-num-seqs 7\n" + SCRIPT
    made = edited(
        script, ScriptEdits(flags={"--max-num-seqs": ("5",)}, fields={"--compilation-config": {"level": 3}})
    )
    assert "bench serve --max-num-seqs 99\n# --compilation-config '{}'\n# --max-num-seqs 7\n" in made.text
    assert "--max-num-seqs 5" in made.text
    assert '{"cudagraph_mode": "FULL", "level": 3}' in made.text


def test_short_forms_and_lists_are_read() -> None:
    script = "python -m sglang.launch_server --model m --tp 2 --cuda-graph-bs 1 2 4 --port 3"
    made = edited(script, ScriptEdits(flags={"--tp-size": ("4",), "--cuda-graph-bs": ("8", "16")}))
    assert made.text == script.replace("--tp 2 --cuda-graph-bs 1 2 4", "--tp 4 --cuda-graph-bs 8 16")
    assert made.unwritten == ()


@pytest.mark.parametrize("quote", ["'\"'\"'", "'\\''"])
def test_a_text_in_the_quotes_of_another_shell_is_edited_there(quote: str) -> None:
    text = f"bash -c 'vllm serve m --chat {quote}a b{quote} --max-num-seqs 4'\n"
    made = edited(text, ScriptEdits(flags={"--max-num-seqs": ("8",), "--seed": ("1 2",)}))
    assert made.text == text.replace("seqs 4", f"seqs 8 --seed {quote}1 2{quote}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo hello", "no launch stands in the script"),
        ("FROM vllm/vllm-openai\nCMD --model m\n", "a Dockerfile is read and not written"),
        ("[Service]\nExecStart=/usr/bin/vllm serve m\n", "a unit of a supervisor is read and not written"),
        ("vllm serve m\r\necho\n", "its lines end in two ways"),
    ],
)
def test_what_launches_nothing_or_is_read_only_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        edited(text, ScriptEdits(flags={"--x": ("1",)}))


def test_one_of_several_servers_is_picked_and_those_alike_are_all_written() -> None:
    two, edits = "vllm serve a/B --seed 1\nvllm serve a/C --seed 1\n", ScriptEdits(flags={"--seed": ("2",)})
    assert edited(two, edits).text == "vllm serve a/B --seed 2\nvllm serve a/C --seed 1\n"
    assert edited(two, edits, 2).text == "vllm serve a/B --seed 1\nvllm serve a/C --seed 2\n"
    alike = two.replace("a/C", "a/B")
    assert edited(alike, edits).text == alike.replace("--seed 1", "--seed 2")


@pytest.mark.parametrize(
    ("script", "removed", "left"),
    [
        ("vllm serve m --enforce-eager --seed 1\n", "--enforce-eager", "vllm serve m --seed 1\n"),
        ("vllm serve m \\\n  --cpu-offload-gb 8 \\\n  --seed 1\n", "--cpu-offload-gb", "vllm serve m \\\n  --seed 1\n"),
        ("export A=1\nexport HCCL_X=2\nvllm serve m\n", "HCCL_X", "export A=1\nvllm serve m\n"),
        ("HCCL_X=2 vllm serve m\n", "HCCL_X", "vllm serve m\n"),
        ("docker run -e HCCL_X=2 --rm vllm/vllm-openai m\n", "HCCL_X", "docker run --rm vllm/vllm-openai m\n"),
        ("ARGS=(--seed 1 --enforce-eager)\nvllm serve m \"${ARGS[@]}\"\n", "--enforce-eager", "ARGS=(--seed 1)\nvllm serve m \"${ARGS[@]}\"\n"),
        ("vllm serve m\n", "--enforce-eager", "vllm serve m\n"),
        ("vllm serve m -cc '{\"a\": 1, \"b\": {\"c\": 2}}'\n", "cc.b.c", "vllm serve m -cc '{\"a\": 1}'\n"),
        ("vllm serve m --x '{\"a\": 1}' --y\n", "x.a", "vllm serve m --y\n"),
        ("from vllm import LLM\nLLM('m', x={'a': 1, 'b': 2})\n", "x.a", "from vllm import LLM\nLLM('m', x={'b': 2})\n"),
    ],
)  # fmt: skip
def test_what_only_costs_is_taken_away_with_its_value(script: str, removed: str, left: str) -> None:
    made = edited(script, ScriptEdits(removed=(removed,)))
    assert (made.text, made.unwritten) == (left, ())


def test_a_container_gets_its_variables_by_its_own_option() -> None:
    made = edited("docker run --rm vllm/vllm-openai --model m\n", ScriptEdits(variables={"HCCL_X": "2"}))
    assert made.text == "docker run -e HCCL_X=2 --rm vllm/vllm-openai --model m\n"


@pytest.mark.parametrize("value", ["$(cat n)", "`cat n`", "$(( 1 + 3 ))", "${N:-4}"])
def test_a_computed_value_is_left_alone_and_said(value: str) -> None:
    for script in (f"vllm serve m --seed {value}\n", f"S={value}\nvllm serve m --seed $S\n"):
        made = edited(script, ScriptEdits(flags={"--seed": ("2",)}))
        assert made.text == script
        assert made.unwritten == ("--seed 2: its value is computed in the script",)


def test_a_variable_with_two_readers_stays_and_the_flag_gets_the_value_itself() -> None:
    script = "N=4\nclient --n $N\nvllm serve m --seed $N\n"
    made = edited(script, ScriptEdits(flags={"--seed": ("2",)}))
    assert made.text == "N=4\nclient --n $N\nvllm serve m --seed 2\n"


MODEST = ScriptEdits(flags={"--seed": ("2",)}, variables={"HCCL_X": "3"})


@pytest.mark.parametrize(
    ("script", "written", "said"),
    [
        ("case a in\n  a) vllm serve m --seed 1 ;;\nesac\n", "a) vllm serve m --seed 2 ;;", "HCCL_X=3: it stands"),
        ("go() {\n  vllm serve m --seed 1\n}\ngo\n", "{\n  export HCCL_X=3\n  vllm serve m --seed 2\n}", ""),
        ("vllm serve m --seed $SEED\n", "--seed $SEED", "--seed 2: its value is that of $SEED, which is set outside"),
        ("export A=1   # why\nvllm serve m --seed 1\n", "export A=1   # why\n", ""),
        (f"vllm serve m --seed 1 --note {'y' * 990_000}\n", "--seed 2 --note yyy", ""),
        (f"# {'y' * 990_000}\nvllm serve m --seed 1\n", "vllm serve m --seed 2\n", ""),
    ],
)  # fmt: skip
def test_each_form_of_a_shell_is_written_or_said(script: str, written: str, said: str) -> None:
    made = edited(script, MODEST)
    assert written in made.text
    assert [reason for reason in made.unwritten if reason.startswith(said)] or not said
    assert bool(made.unwritten) == bool(said)


@pytest.mark.parametrize(
    "text", ["cat > run.sh <<'X'\nvllm serve m --seed 1\nX\nbash run.sh\n", "bash <<X\nvllm serve m\nX\n"]
)
def test_a_here_document_is_no_launch(text: str) -> None:
    with pytest.raises(InputError, match="no launch stands in the script"):
        edited(text, MODEST)


def test_a_variable_goes_with_its_comment_and_leaves_no_bare_export() -> None:
    made = edited("export A=1   # why\nvllm serve m\n", ScriptEdits(removed=("A",)))
    assert made.text == "vllm serve m\n"
    made = edited("export A=1; vllm serve m\n", ScriptEdits(removed=("A",)))
    assert made.text == "export A=1; vllm serve m\n"
    assert made.unwritten


def test_the_sizes_of_a_role_are_the_same_in_the_connectors_of_its_peers() -> None:
    sizes = {"prefill": {"tp_size": 2, "dp_size": 2}, "decode": {"tp_size": 1, "dp_size": 4}}
    script = "".join(
        "vllm serve a/B --kv-transfer-config '"
        + json.dumps({"kv_connector": "M", "kv_role": role, "kv_connector_extra_config": sizes})
        + "' &\n"
        for role in ("kv_producer", "kv_consumer")
    )
    extra = {"kv_connector_extra_config": {"prefill": {"tp_size": 4, "dp_size": 1}}}
    made = edited(script, ScriptEdits(fields={"--kv-transfer-config": {"x": 1, **extra}}), 1)
    first, second = (json.loads(one.command.words[-1]) for one in read_launches(made.text, ""))
    assert first["kv_connector_extra_config"] == second["kv_connector_extra_config"]
    assert second["kv_connector_extra_config"] == {**sizes, **extra["kv_connector_extra_config"]}
    assert ("x" in first, "x" in second, made.edits, made.unwritten) == (True, False, 2, ())


def test_the_commands_of_one_engine_on_several_servers_are_edited_alike() -> None:
    script = "".join(
        f"python -m sglang.launch_server --model-path a/B --tp 16 --dist-init-addr {address} --nnodes 2 {more} &\n"
        for address, more in (
            ("$HEAD:5000", "--node-rank 0"),
            ("$HEAD:5000", "--node-rank 1 --disable-cuda-graph"),
            ("$HEAD:6000", "--node-rank 0 --seed 1"),
        )
    )
    edits = ScriptEdits(flags={"--ep-size": ("16",)}, removed=("--disable-cuda-graph",))
    text = edited(script, edits, 1).text
    words = [one.command.words for one in read_launches(text, "")]
    assert ["--ep-size" in one for one in words] == [True, True, False]
    assert "--disable-cuda-graph" not in text


def test_a_truth_behind_a_switch_goes() -> None:
    made = edited(
        "vllm serve m --first true --second=True --third --seed 1\n",
        ScriptEdits(flags={"--first": (), "--second": (), "--third": ()}),
    )
    assert (made.unwritten, made.text.split()) == (
        (),
        ["vllm", "serve", "m", "--third", "--seed", "1", "\\", "--first", "\\", "--second"],
    )
