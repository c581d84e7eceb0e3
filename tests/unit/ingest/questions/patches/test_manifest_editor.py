"""Settings written into manifests."""

import pytest

from ingest.questions.patches.script_edits import ScriptEdits, edited
from kg.errors import InputError

SHARED = """x-engine: &engine
  image: vllm/vllm-openai:v0.11.0
  environment: &held
    HCCL_BUFFSIZE: "120"
  command: &args ["--model", "a/B", "--seed", "1"]
services:
  first:
    <<: *engine
    ports: ["1:1"]
  second:
    <<: *engine
    command: ["--model", "a/C", "--seed", "1"]
"""


def test_what_two_services_share_is_not_changed_for_one() -> None:
    edits = ScriptEdits(variables={"HCCL_BUFFSIZE": "200"}, flags={"--seed": ("2",)})
    made = edited(SHARED, edits, 1)
    assert made.text == SHARED
    assert {reason.partition(": ")[2] for reason in made.unwritten} == {
        "another place has it too: it is an anchor"
    }
    made = edited(SHARED, edits, 2)
    assert made.text == SHARED.replace('"a/C", "--seed", "1"', '"a/C", "--seed", "2"')


POD = """kind: Deployment  # ours
spec:
  containers:
  - image: vllm/vllm-openai:v0.9.2
    {command}
---
kind: Service
"""


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("args: [--model, a/B, --seed, '1']", "args: [--model, a/B, --seed, '2']"),
        ('args: ["--model", "a/B"]', 'args: ["--model", "a/B", "--seed", "2"]'),
        (
            "args:\n    - --model\n    - a/B  # it\n\n    env: []",
            'args:\n    - --model\n    - a/B  # it\n    - --seed\n    - "2"\n\n    env: []',
        ),
        ("command: [sh, -c, vllm serve a/B --seed 1]", "command: [sh, -c, vllm serve a/B --seed 2]"),
        (
            "command: ['sh', '-c', 'vllm serve a/B --x ''y'' --seed 1']",
            "command: ['sh', '-c', 'vllm serve a/B --x ''y'' --seed 2']",
        ),
        (
            "command:\n    - sh\n    - -c\n    - |\n      # it\n      vllm serve a/B \\\n        --seed 1\n",
            "command:\n    - sh\n    - -c\n    - |\n      # it\n      vllm serve a/B \\\n        --seed 2\n",
        ),
    ],
)
def test_a_flag_is_written_in_the_form_that_is_there(command: str, written: str) -> None:
    made = edited(POD.format(command=command), ScriptEdits(flags={"--seed": ("2",)}))
    assert (made.text, made.unwritten) == (POD.format(command=written), ())


def test_a_value_that_the_manifest_fills_in_is_left_alone() -> None:
    text = POD.format(command='args: ["--model", "a/B", "--seed=$(SEED)"]')
    made = edited(text, ScriptEdits(flags={"--seed": ("2",)}))
    assert (made.text, made.unwritten) == (text, ("--seed 2: its value is computed in the script",))


@pytest.mark.parametrize(
    ("held", "written"),
    [
        ("", "\n    env:\n    - name: HCCL_X\n      value: \"2\""),
        ("\n    env: [{name: A, value: b}]", "\n    env: [{name: A, value: b}, {name: HCCL_X, value: \"2\"}]"),
        ("\n    env:\n      - {name: HCCL_X, value: '1'}", "\n    env:\n      - {name: HCCL_X, value: '2'}"),
    ],
)  # fmt: skip
def test_a_variable_is_given_to_the_container(held: str, written: str) -> None:
    text = POD.format(command='args: ["--model", "a/B"]{0}')
    made = edited(text.replace("{0}", held), ScriptEdits(variables={"HCCL_X": "2"}))
    assert (made.text, made.unwritten) == (text.replace("{0}", written), ())


def test_a_script_in_a_block_keeps_its_indent() -> None:
    text = "kind: ConfigMap\ndata:\n  run.sh: |\n    vllm serve a/B \\\n      --seed 1\n  other: x\n"
    made = edited(text, ScriptEdits(variables={"HCCL_X": "2"}, flags={"--seed": ("2",)}))
    assert made.text == text.replace("    vllm", "    export HCCL_X=2\n    vllm").replace("seed 1", "seed 2")
    assert made.unwritten == ()


def test_a_command_in_yaml_outside_a_block_is_said_and_one_that_only_looks_like_yaml_is_written() -> None:
    with pytest.raises(InputError, match="read and not written"):
        edited(
            "- name: it\n  shell: x\n- shell: vllm serve m --seed 1\n", ScriptEdits(flags={"--seed": ("2",)})
        )
    line = "vllm serve m --x '{\"a\": 1}' --seed 1\n"
    assert edited(line, ScriptEdits(flags={"--seed": ("2",)})).text == line.replace("seed 1", "seed 2")
