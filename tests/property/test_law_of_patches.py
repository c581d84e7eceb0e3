"""Law 13: a patched script runs the commands that it ran, but for the listed changes, as bash itself runs both.

The engine is a stub that writes down its words and variables. Scripts are put together from the forms in which
people write flags, variables and launches; what the editor cannot prove it must leave as it was.
"""

import os
import random
import subprocess
from pathlib import Path

import pytest

from ingest.questions.patches.script_edits import ScriptEdits, edited

FEW, MANY = 100, 3000
STUB = """#!/bin/sh
{ echo "${0##*/}"; printf '%s\\n' "$@"; echo "held ${HCCL_BUFFSIZE-nothing}"; echo; } >> "$CALLS"
"""
FLAG, OTHER = "--max-num-seqs", "--max-num-batched-tokens"
VALUES = [
    ("", "64"), ("", '"64"'), ("", "'64'"), ("", '"6"4'), ("", "6\\4"),
    ("SEQS=64\n", "$SEQS"), ("SEQS=64\n", '"${SEQS}"'), ('SEQS="64"\n', "$SEQS"), ("export SEQS=64\n", "$SEQS"),
    ("SEQS=64\nclient --n $SEQS\n", "$SEQS"), ("SEQS=64\nSEQS=32\n", "$SEQS"), ("N=64\nSEQS=$N\n", "$SEQS"),
    ("", '${SEQS:-"64"}'), ("", "${SEQS:-64}"), ("", "$(expr 32 + 32)"), ("", "`expr 32 + 32`"),
    ("", "$(( 32 + 32 ))"), ("readonly SEQS=64\n", "$SEQS"),
]  # fmt: skip
HELD = [
    ("", '{launch}'), ("export HCCL_BUFFSIZE=120\n", "{launch}"), ('export HCCL_BUFFSIZE="120"\n', "{launch}"),
    ("HCCL_BUFFSIZE=1\nexport HCCL_BUFFSIZE\n", "{launch}"), ("", "HCCL_BUFFSIZE=120 {launch}"),
    ("", "env HCCL_BUFFSIZE=120 {launch}"), ("export HCCL_BUFFSIZE=${HCCL_BUFFSIZE:-120}\n", "{launch}"),
    ("export HCCL_BUFFSIZE=$(( 100 + 20 ))\n", "{launch}"), ("export HCCL_BUFFSIZE=1\"2\"'0'\n", "{launch}"),
    ("other() { HCCL_BUFFSIZE=7 client x; }\nother\n", "{launch}"), ("HCCL_BUFFSIZE=9 client y\n", "{launch}"),
    ("export HCCL_BUFFSIZE=1\nclient z\nexport HCCL_BUFFSIZE=2\n", "{launch}"),
]  # fmt: skip
AROUND = [
    "{before}{line}\n", "{before}{line} 2>&1 | cat\n", "{before}{line} > /dev/null &\nwait\n",
    "{before}if true; then\n  {line}\nfi\n", "{before}case a in\n  a) {line} ;;\nesac\n",
    "{before}start() {{\n  {line}\n}}\nstart\n", "{before}for i in 1; do {line}; done\n",
    "{before}{line} && client done\n", "{before}# {launch_only}\n{line} # the server\n",
    "{before}cat > /dev/null <<'X'\nvllm serve no --max-num-seqs 1\nX\n{line}\n", "{before}exec {line}\n",
    "{before}client first\n{line} \\\n  --seed 1\n", "{before}{line} --note $'it\\'s'\n",
]  # fmt: skip
FORMS = [
    "vllm serve m {flag} {value}", "vllm serve m {flag}={value}", "vllm serve m --seed 1",
    "vllm serve m {flag} 1 {flag} {value}", "vllm serve m {flag} {value} " + OTHER + " {value}",
]  # fmt: skip
HELD_IN = [
    ('ARGS="--seed 1 {flag} {value}"\n', "vllm serve m $ARGS"),
    ("ARGS=(--seed 1 {flag} {value})\n", 'vllm serve m "${{ARGS[@]}}"'),
    ('ARGS="--seed 1 \\\n  {flag} {value} \\\n"\nclient $ARGS\n', "vllm serve m $ARGS"),
    ("ARGS=(--seed 1)\nARGS+=({flag} {value})\n", 'vllm serve m "${{ARGS[@]}}"'),
]  # fmt: skip


def made(rng: random.Random) -> str:
    """A script in one of the forms in which people write them."""
    given, value = rng.choice(VALUES)
    if rng.random() < 0.35:
        held, launch = rng.choice(HELD_IN)
        given += held.format(flag=FLAG, value=value)
        launch = launch.format()
    else:
        launch = rng.choice(FORMS).format(flag=FLAG, value=value)
    exported, line = rng.choice(HELD)
    line = line.format(launch=launch)
    if "HCCL_BUFFSIZE=120 vllm" in line and "exec" in line:
        line = launch
    text = rng.choice(AROUND).format(before=given + exported, line=line, launch_only=launch)
    if "exec HCCL" in text:
        text = text.replace("exec ", "")
    return "#!/usr/bin/env bash\n" + text


@pytest.fixture(scope="module")
def bench(bash: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stub")
    for name in ("vllm", "client"):
        (folder / name).write_text(STUB)
        (folder / name).chmod(0o755)
    return folder


def calls(text: str, bench: Path) -> list[tuple[str, list[str], str]]:
    """Calls of a script, as bash runs it: program, words, and the variable that reached it."""
    log = bench / "calls"
    log.unlink(missing_ok=True)
    environment = {"PATH": f"{bench}:{os.environ['PATH']}", "CALLS": str(log)}
    done = subprocess.run(["bash", "-c", text], env=environment, capture_output=True, timeout=60, check=False)
    assert not done.returncode, (text, done.stderr)
    found = [block.split("\n") for block in log.read_text().split("\n\n") if block]
    return [(lines[0], lines[1:-1], lines[-1]) for lines in found]


def with_flag(words: list[str], flag: str, value: str) -> list[str]:
    """The words with a new value at the last place of a flag, or with the flag at their end."""
    for at in reversed(range(len(words))):
        if words[at] == flag:
            return [*words[: at + 1], value, *words[at + 2 :]]
        if words[at].startswith(f"{flag}="):
            return [*words[:at], f"{flag}={value}", *words[at + 1 :]]
    return [*words, flag, value]


@pytest.mark.parametrize("number", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
def test_a_patched_script_runs_what_it_ran_but_for_the_changes(bench: Path, number: int) -> None:
    rng, written = random.Random(202648), 0
    for _ in range(number):
        script = made(rng)
        edits = ScriptEdits(
            variables={"HCCL_BUFFSIZE": "200"}, flags={FLAG: ("256",), "--block-size": ("128",)}
        )
        result = edited(script, edits)
        left = " ".join(result.unwritten)
        before, after = calls(script, bench), calls(result.text, bench)
        shown = f"{script}\n-----\n{result.text}\n-----\n{result.unwritten}"
        assert [(name, name == "vllm" or words) for name, words, _ in before] == [
            (name, name == "vllm" or words) for name, words, _ in after
        ], shown
        [(_, words, held)] = [call for call in before if call[0] == "vllm"]
        [(_, now, holds)] = [call for call in after if call[0] == "vllm"]
        if FLAG not in left:
            words, written = with_flag(words, FLAG, "256"), written + 1
        if "--block-size" not in left:
            words = with_flag(words, "--block-size", "128")
        assert now == words, shown
        wanted = held if "HCCL_BUFFSIZE" in left else "held 200"
        assert holds == wanted, shown
    assert written > 0.6 * number
