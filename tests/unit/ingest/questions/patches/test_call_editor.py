"""Settings written into programs in Python."""

import pytest

from ingest.questions.patches.script_edits import ScriptEdits, edited

PROGRAM = '''"""Doc."""
from vllm import LLM

N = 4
llm = LLM(
    model="a/B",
    max_num_seqs=N,  # few
    seed=args.seed,
    enforce_eager=True,
)
'''


def test_arguments_are_changed_added_and_taken_away_in_their_lines() -> None:
    edits = ScriptEdits(
        flags={"--max-num-seqs": ("8",), "--async-scheduling": ()}, removed=("--enforce-eager",)
    )
    made = edited(PROGRAM, edits)
    expected = PROGRAM.replace("max_num_seqs=N", "max_num_seqs=8")
    assert made.text == expected.replace("enforce_eager=True,\n", "async_scheduling=True,\n")
    assert made.unwritten == ()


def test_a_computed_argument_is_left_alone_and_said() -> None:
    made = edited(PROGRAM, ScriptEdits(flags={"--seed": ("1",)}))
    assert (made.text, made.unwritten) == (PROGRAM, ("--seed 1: its value is computed in the script",))


@pytest.mark.parametrize("holder", ["dict(model='a/B', seed=1)", "{'model': 'a/B', 'seed': 1}"])
def test_arguments_in_a_dictionary_are_changed_there(holder: str) -> None:
    text = f"from vllm import LLM\nkw = {holder}\nllm = LLM(**kw)\n"
    made = edited(text, ScriptEdits(flags={"--seed": ("2",)}))
    assert made.text == text.replace("1", "2")


def test_a_variable_is_set_before_the_engine_is_imported() -> None:
    made = edited(PROGRAM, ScriptEdits(variables={"HCCL_X": "2"}))
    assert made.text.startswith(
        '"""Doc."""\nimport os\n\nos.environ["HCCL_X"] = "2"\n\nfrom vllm import LLM\n'
    )
    assert edited(made.text, ScriptEdits(variables={"HCCL_X": "3"})).text == made.text.replace('"2"', '"3"')
    assert "environ" not in edited(made.text, ScriptEdits(removed=("HCCL_X",))).text
