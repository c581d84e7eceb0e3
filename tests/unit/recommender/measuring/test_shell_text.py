"""Hostile values in every place of a shell text: none runs, whatever the quotes around it."""

import os
import subprocess
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.errors import InputError
from kg.nouns.values import Settings
from recommender.experiment.metrics import readings_of
from recommender.measuring.command import CommandObjective
from recommender.measuring.shell_text import shell_script

HOSTILE = (
    "fast$(touch PWNED)",
    "`touch PWNED`",
    "a; touch PWNED #",
    "'; touch PWNED; '",
    '"; touch PWNED; "',
    '\\"; touch PWNED; \\"',
    "a\ntouch PWNED\n",
    "x[$(touch PWNED)]",
    "$(touch PWNED)' $(touch PWNED) \"",
)
TEXTS = (
    "./show {x}",
    "./show --mode={x}",
    './show "{x}"',
    "./show '{x}'",
    './show "--mode={x}" \'{{"mode": {x}}}\'',
    "v={x}; ./show $v",
    "bash -c './show {x}'",
    'bash -c "./show {x}"',
    'sh -c "MODE=1 ./show --mode={x} tail"',
    "env A=1 bash -lc 'cd . && ./show {x}'",
    "bash -c './show $1' bash {x}",
    './ssh node "./show {x}"',
    "./ssh node ./show {x}",
    "echo $(./show {x})",
    "./show `./show {x}`",
    "if true; then ./show {x}; fi",
)
"""``./ssh`` hands its arguments to a second shell, as ssh does."""

REFUSED = (
    "bash -c './show \"{x}\"'",
    "bash -c \"./show '{x}'\"",
    "ssh node \"bash -c './show {x}'\"",
    "ssh node bash -c {x}",
    "bash -c 'bash -c {x}'",
    "eval ./show {x}",
    "eval './show {x}'",
    "python3 -c 'print({x})'",
    'python -c "print({x})"',
    "./run-there './show {x}'",
    "bash <<END\n./show {x}\nEND",
    "bash <<< {x}",
    "sed -i s/a/{x}/ file",
    "watch ./show {x}",
    "./show '{options} now'",
    "./show 'no end {x}",
)


def objective(
    text: str | tuple[str, ...], folder: Path, options: tuple[str, ...] | None = None
) -> CommandObjective:
    return CommandObjective(
        command=text,
        readings=readings_of((), (), better=""),
        folder=folder,
        base=dict(os.environ),
        options=options,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in (
        ("show", '#!/bin/sh\nprintf "%s\\0" "$@" >> said\n'),
        ("ssh", '#!/bin/sh\nshift\nexec sh -c "$*"\n'),
    ):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def run(command: CommandObjective, **values: object) -> None:
    command.evaluate(Settings(values), threading.Event())


@pytest.mark.parametrize("text", TEXTS[2::2])
def test_no_hostile_value_runs(text: str, folder: Path) -> None:
    command = objective(text, folder)
    for value in HOSTILE:
        run(command, x=value)
        assert not (folder / "PWNED").exists(), (text, value)
    assert (folder / "said").exists()


@pytest.mark.parametrize("text", TEXTS)
def test_a_plain_value_arrives_as_it_is(text: str, folder: Path) -> None:
    run(objective(text, folder), x="fast")
    assert "fast" in (folder / "said").read_text()


@pytest.mark.parametrize("text", TEXTS[:5])
def test_a_hostile_value_arrives_as_it_is(text: str, folder: Path) -> None:
    run(objective(text, folder), x=HOSTILE[0])
    assert HOSTILE[0] in (folder / "said").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ("bash", "-c", "./show {x}"),
        ("./ssh", "node", "./show {x}"),
        ("env", "A=1", "sh", "-c", "./show -m {x}"),
    ],
)
def test_a_list_that_ends_in_a_second_shell_runs_no_value_either(
    words: tuple[str, ...], folder: Path
) -> None:
    for value in HOSTILE:
        run(objective(words, folder), x=value)
    assert not (folder / "PWNED").exists()
    assert HOSTILE[0] in (folder / "said").read_text()


@pytest.mark.parametrize("text", REFUSED)
def test_what_no_quoting_makes_safe_is_refused(text: str, folder: Path) -> None:
    with pytest.raises(InputError, match="the command"):
        objective(text, folder)


@pytest.mark.parametrize(
    "words", [("bash", "-c", "./show '{x}'"), ("python3", "-c", "print({x})"), ("eval", "{x}")]
)
def test_what_no_quoting_makes_safe_is_refused_in_a_list(words: tuple[str, ...], folder: Path) -> None:
    with pytest.raises(InputError, match="could be run as code"):
        objective(words, folder)


def test_what_looks_alike_is_not_refused(folder: Path) -> None:
    for text in (
        "python train.py -c {x}",
        "docker run -e TILE={x} image",
        "./bench --eval {x}",
        "find . -name {x}",
    ):
        objective(text, folder)


def test_arithmetic_takes_numbers_alone(folder: Path) -> None:
    command = objective("./show $(( {x} * 2 ))", folder)
    run(command, x=21)
    assert (folder / "said").read_text() == "42\0"
    with pytest.raises(InputError, match="is no number"):
        run(command, x="x[$(touch PWNED)]")


def test_flags_are_words_of_their_own(folder: Path) -> None:
    run(objective("./show {options} end", folder, ("--a", "b c; touch PWNED")))
    assert (folder / "said").read_text() == "--a\0b c; touch PWNED\0end\0"
    assert not (folder / "PWNED").exists()


def test_an_absent_value_is_no_word(folder: Path) -> None:
    run(objective("./show {x} --b={y} end", folder))
    assert (folder / "said").read_text() == "--b=\0end\0"


@settings(max_examples=12, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30))
def test_any_text_arrives_as_it_is(value: str) -> None:
    script = shell_script("printf %s {x}; sh -c 'printf %s {x}'")
    import shlex

    variables = {script.plain["x"]: value, script.quoted["x"]: shlex.quote(value)}
    done = subprocess.run(
        ["sh", "-c", script.text], env={**os.environ, **variables}, capture_output=True, check=True
    )
    assert done.stdout == (value * 2).encode()
