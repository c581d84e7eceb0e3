"""A script's commands with their variables filled in, and nothing run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.questions.launches.script import UNKNOWN
from ingest.questions.launches.shell import read_script


def words(text: str) -> list[tuple[str, ...]]:
    return [command.words for command in read_script(text).commands]


def test_variables_continuations_quotes_and_arithmetic_are_filled_in() -> None:
    script = """
    NPUS=8; NNODES=2
    WORLD=$(($NPUS * NNODES))
    TP=${TP:-4}
    ARGS="
        --layers 32 \\
        --name 'a b'
    "
    run $ARGS --world "$WORLD" \\
        --tp ${TP} 'single $TP' >> log.txt 2>&1
    """
    assert words(script) == [
        ("run", "--layers", "32", "--name", "'a", "b'", "--world", "16", "--tp", "4", "single $TP")
    ]


def test_arrays_and_appended_variables() -> None:
    assert words('A=(--x 1 "two words"); A+=(--y); B="p"; B+="q"\nrun "${A[@]}" $B') == [
        ("run", "--x", "1", "two words", "--y", "pq")
    ]


def test_environment_reaches_only_what_it_is_for() -> None:
    script = read_script("export A=1\nB=2\nC=3 run\nrun")
    assert [dict(command.environment) for command in script.commands] == [{"A": "1", "C": "3"}, {"A": "1"}]


def test_what_is_not_known_stays_marked_and_is_never_run(tmp_path: object) -> None:
    [command] = read_script(f"run $(touch {tmp_path}/made) `id` $NOWHERE ${{X%%y}}").commands
    assert len(command.words) == 5
    assert all(UNKNOWN in word for word in command.words[1:])
    assert not list(tmp_path.iterdir())  # type: ignore[attr-defined]


def test_every_branch_is_read_and_that_is_said() -> None:
    script = read_script("if [ $1 = a ]; then\n TP=2\nelse\n TP=4\nfi\nrun --tp $TP")
    assert script.commands[-1].words == ("run", "--tp", "4")
    assert "conditions and loops" in script.notes[0]


def test_variables_that_double_each_other_end() -> None:
    script = "\n".join(["a=xxxxxxxxxx", *("a=$a$a$a$a" for _ in range(20)), "run $a"])
    assert len(read_script(script).commands[-1].words[1]) < 1_000_000


def test_a_here_document_is_passed_over() -> None:
    assert words("cat <<EOF > x\nvllm serve a\nEOF\nrun") == [("cat",), ("run",)]


@given(st.text(alphabet="abT=$(){}[]\"'`\\|&;<> \n\t#01@!-", max_size=200))
def test_any_text_is_read(text: str) -> None:
    for command in read_script(text).commands:
        assert command.words


@pytest.mark.parametrize(
    "inside", ["python -c 'print(8)'", 'python -c "print(f(8))"', "echo $(a ')' | b)", "f '\"'"]
)
def test_quotes_and_brackets_nest_in_what_a_command_prints(inside: str) -> None:
    [run] = read_script(f"N=$({inside})\nrun $N $((2*(3+1))) last").commands
    assert (run.words[0], *run.words[2:]) == ("run", "8", "last")


def test_of_markdown_only_the_fenced_blocks_are_read_each_at_its_place() -> None:
    page = "It's slow:\n```bash\nrun --a 1\n```\nor run --b\n```\nrun --c\n```\n"
    commands = read_script(page).commands
    assert [(one.words, one.line) for one in commands] == [(("run", "--a", "1"), 3), (("run", "--c"), 7)]
    assert all(page[slice(*one.spans[0])] == "run" for one in commands)
    assert words("#!/bin/bash\ncat <<E\n```\nx\n```\nE\nrun") == [("cat",), ("run",)]
