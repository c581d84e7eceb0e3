"""The user's script as it is started: its own text, place and shell, with a port and a name of ours."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ingest.questions.patches.script_edits import ScriptEdits
from kg.errors import InputError
from recommender.tune.launch_script import LaunchScript, joined

SERVE = "#!/bin/bash\nMODEL=/m/tiny\nvllm serve $MODEL --max-num-seqs 4 --port 9000\n"


def read(text: str, **more: Any) -> LaunchScript:
    return LaunchScript.read(Path("/srv/model/serve.sh"), Path("/srv/model"), text, **more)


def test_a_server_gets_a_port_and_a_name_and_nothing_else() -> None:
    script = read(SERVE)
    assert (script.program, script.is_server, script.stated_port) == ("vllm", True, 9000)
    text, port = script.at(script.text, 12345, "ours")
    assert port == 12345
    assert "--port 12345" in text
    assert "--served-model-name ours" in text
    assert "--max-num-seqs 4" in text
    assert read("vllm serve /m/a\n").stated_port == 8000


def test_an_engine_without_a_flag_of_its_port_keeps_its_own() -> None:
    script = read(
        "export MIES_INSTALL_PATH=mindie\n./bin/mindieservice_daemon\n", ready="http://x:1025/health"
    )
    assert script.at(script.text, 12345, "ours")[1] in {0, 1025}


def test_edits_are_written_and_what_cannot_be_is_said() -> None:
    script = read(SERVE)
    text, left = script.with_edits(ScriptEdits(flags={"--max-num-seqs": ("8",)}, variables={"A": "1"}))
    assert "--max-num-seqs 8" in text
    assert "export A=1" in text
    assert left == ()
    assert script.with_edits(ScriptEdits()) == (SERVE, ())
    unknown = read("./mine\n", ready="http://x:1/health")
    assert unknown.with_edits(ScriptEdits(flags={"--a": ()}))[1] == (
        "--a: it does not stand in the script once, with its value",
    )
    assert unknown.with_edits(ScriptEdits(variables={"A": "1"})) == ("./mine\n", ())


def test_flags_of_a_program_that_nothing_knows_are_changed_where_they_stand() -> None:
    text = "torchrun train.py --workers 0 --fp16 --lr=1e-3 --name 'a b' --amp data/ --x -1\n# not --name\n"
    script = read(text, trains=True)
    edits = ScriptEdits(flags={"--workers": ("4",), "--lr": ("2e-3",)}, removed=("--fp16",))
    after = text.replace("--workers 0", "--workers 4").replace("1e-3", "2e-3").replace("--fp16", "")
    assert script.with_edits(edits) == (after, ())
    for edits in (
        ScriptEdits(flags={"--name": ("c",)}),  # it stands there twice
        ScriptEdits(flags={"--x": ("3",)}),
        ScriptEdits(flags={"--worker": ("3",)}),
        ScriptEdits(flags={"--fp16": ()}),
        ScriptEdits(removed=("--amp",)),  # what follows may be its value
    ):
        made, left = script.with_edits(edits)
        assert (made, len(left)) == (text, 1)


def test_a_script_runs_as_if_it_were_the_file(tmp_path: Path) -> None:
    """``$0`` and ``BASH_SOURCE`` are the user's own file, and the shell is that of its first line."""
    path = tmp_path / "here.sh"
    text = '#!/usr/bin/env bash\ncd "$(dirname "${BASH_SOURCE[0]}")"; echo "$0 $PWD $BASH_VERSION"\n'
    script = LaunchScript(text=text, source=text, path=path, folder=tmp_path, engine=read(SERVE).engine)
    done = subprocess.run(
        script.command(text), capture_output=True, text=True, check=True, env=dict(os.environ), cwd="/"
    )
    zero, folder, version = done.stdout.split()
    assert (zero, folder) == (str(path), str(tmp_path))
    assert version


def test_a_start_is_shown_without_its_secrets() -> None:
    edits = ScriptEdits(
        flags={"--api-key": ("sk-1",), "--a": ("x y",)}, removed=("--b",), variables={"HF_TOKEN": "t"}
    )
    shown = read(SERVE).edits_text(edits)
    assert "sk-1" not in shown
    assert "HF_TOKEN=[secret]" in shown
    assert "without --b" in shown
    fields = ScriptEdits(fields={"--additional-config": {"prefetch": {"enabled": True}}})
    assert read(SERVE).edits_text(fields) == """--additional-config '{"prefetch": {"enabled": true}}'"""
    assert read(SERVE).edits_text(ScriptEdits()) == "the script as it is"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("echo hello\n", "no launch is found"),
        ("vllm serve /m/a --port 1 &\nvllm serve /m/b --port 2 --max-num-seqs 9\n", "it starts 2 programs"),
        ("docker run -p 80 vllm/vllm-openai:v0.9.0 --model /m/a\n", "published on is not told"),
        ("bash -c 'docker run vllm/vllm-openai:v0.9.0 --model /m/a'\n", "neither mark nor end it"),
        ("ssh node1 vllm serve /m/a\n", "neither mark nor end it"),
        ("from vllm import LLM\nLLM(model='/m/a')\n", "is not started here"),
    ],
)
def test_what_cannot_be_started_or_ended_here_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read(text)


def test_a_container_behind_a_url_is_refused_too() -> None:
    with pytest.raises(InputError, match="docker starts it where tunegraph can neither mark nor end it"):
        read("docker run -d -p 8000:8000 my/own-image\n", ready="http://127.0.0.1:8000/health")


def test_later_edits_win() -> None:
    first = ScriptEdits(flags={"--a": ("1",), "--b": ("1",)}, fields={"--c": {"x": 1}})
    then = [ScriptEdits(removed=("--a",)), ScriptEdits(flags={"--b": ("2",)}, fields={"--c": {"y": 2}})]
    made = joined([first, *then])
    assert (dict(made.flags), made.removed) == ({"--b": ("2",)}, ("--a",))
    assert made.fields["--c"] == {"x": 1, "y": 2}
    back = joined([made, ScriptEdits(flags={"--a": ("3",)})])
    assert (back.flags["--a"], back.removed) == (("3",), ())
