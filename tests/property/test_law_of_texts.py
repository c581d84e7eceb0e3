"""Law 14 for texts: a launch of any length, in any form that is read, is answered or refused within five CPU seconds."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.kinds.command_line import BUDGET_S, CommandLine
from tests.quiet_machine import run_in_budget

SIZE = 900_000
"""Letters; a file of a launch may have a million bytes."""
START = "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4"
MANIFEST = """apiVersion: v1
kind: Pod
metadata: {{name: a}}
spec:
  containers:
  - name: a
    image: vllm/vllm-openai:v0.10.0
    command: ["vllm", "serve", "Qwen/Qwen3-32B"]
    {}
"""


def many(unit: Callable[[int], str], size: int = SIZE) -> str:
    """A unit as often as it fits, each with its number."""
    return "".join(map(unit, range(size // len(unit(10_000)))))


TEXTS = {
    "variables.sh": many(lambda n: f"export V_{n}='a value of {n}'\n") + START,
    "unused.sh": many(lambda n: f"V_{n}={n}\n") + START,
    "chained.sh": "V_0=1\n" + many(lambda n: f"V_{n + 1}=$V_{n}\n") + f"{START} --max-num-seqs $V_9999",
    "doubled.sh": "A=11\n" + "A=$A$A\n" * 60 + f"{START} --max-num-seqs $A",
    "flags.sh": START + many(lambda n: f" --flag-{n} {n}"),
    "spread.sh": START + many(lambda n: f" \\\n --flag-{n}={n}"),
    "same.sh": START + many(lambda _: " --max-num-seqs 64"),
    "words.sh": START + many(lambda n: f" w{n}"),
    "launches.sh": f"{START}\n" * (SIZE // len(START)),
    "background.sh": many(lambda n: f"{START} --port {n} &\n"),
    "loops.sh": "for i in a b; do\n" * 3_000 + START + "\ndone" * 3_000,
    "conditions.sh": many(lambda n: f"if [ -f {n} ]; then X={n}; else Y=$((1+{n})); fi\n") + START,
    "functions.sh": many(lambda n: f"f{n}() {{ {START}; }}\nf{n}\n"),
    "nested.sh": 'bash -c "' * 20_000 + START,
    "quotes.sh": "'\"" * (SIZE // 2) + START,
    "object.sh": f"{START} --additional-config '" + '{"a":' * 90_000 + "1" + "}" * 90_000 + "'",
    "fields.sh": START + " --additional-config '{" + many(lambda n: f'"f{n}":{n},') + '"x":1}\'',
    "comment.sh": "# vllm serve --port " * (SIZE // 20) + "\n" + START,
    "here.sh": many(lambda n: f"cat <<E{n}\n{START}\nE{n}\n") + START,
    "image": "FROM vllm/vllm-openai:v0.10.0\n" + many(lambda n: f"ENV V_{n}={n}\n") + f"CMD {START}\n",
    "a.service": "[Service]\n" + many(lambda n: f"Environment=V_{n}={n}\n") + f"ExecStart={START}\n",
    "arguments.yaml": MANIFEST.format("args: [" + many(lambda n: f"--flag-{n}, ") + "x]"),
    "environment.yaml": MANIFEST.format(
        "env:\n" + many(lambda n: f"    - {{name: V_{n}, value: '{n}'}}\n", SIZE // 9)
    ),
    "pods.yaml": (MANIFEST.format("") + "---\n") * (SIZE // 9 // len(MANIFEST)),
    "call.py": "from vllm import LLM\nLLM(model='Qwen/Qwen3-32B', " + many(lambda n: f"f{n}={n}, ") + ")\n",
    "calls.py": "from vllm import LLM\n" + many(lambda n: f"LLM(model='Qwen/Qwen3-32B', seed={n})\n"),
    "server.log": "INFO args: Namespace(model='Qwen/Qwen3-32B', " + many(lambda n: f"f{n}={n}, ") + "x=1)\n",
    "hyper.sh": "python3 -m verl.trainer.main_ppo" + many(lambda n: f" actor.f{n}={n}"),
}

CHECK, RECOMMEND = ("check",), ("recommend", "--from-command")
QUICK = {
    "variables.sh": CHECK, "here.sh": RECOMMEND,
}  # fmt: skip
"""Ways in which a text was too dear, with one of the commands that read it."""


@pytest.fixture(scope="module")
def line(shipped_path: Path) -> Iterator[CommandLine]:
    with CommandLine(shipped_path, shipped_path.parent / "cache", budget_s=BUDGET_S) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "command"),
    [
        pytest.param(name, command, marks=() if QUICK.get(name) == command else pytest.mark.long)
        for name in TEXTS
        for command in (CHECK, RECOMMEND)
    ],
)
def test_a_launch_of_any_length_is_answered_or_refused_in_time(
    line: CommandLine, tmp_path: Path, name: str, command: tuple[str, ...]
) -> None:
    (tmp_path / name).write_text(TEXTS[name])
    result = run_in_budget(
        line, [*command, str(tmp_path / name), "--hardware", "ascend-910b3", "--count", "4"]
    )
    assert result.code in {0, 1, 2, 3, 4}, result.err[-300:]
    assert "Traceback" not in result.err
