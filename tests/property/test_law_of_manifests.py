"""Law 13 of manifests and programs: what another parser reads is as it was, but for the listed changes.

Compose files, pods and programs are put together from the forms in which people write them. Each is edited and
read by PyYAML's constructor, or Python's parser, which the editor does not use; what was not to change must be
equal, and every line that holds nothing of the launch must be byte for byte as it was.
"""

import ast
import random
import shlex
from typing import Any

import pytest
import yaml

from ingest.questions.patches.script_edits import ScriptEdits, edited

FEW, MANY = 60, 600
EDITS = ScriptEdits(
    flags={"--max-num-seqs": ("256",), "--block-size": ("128",)},
    fields={"--compilation-config": {"cudagraph_mode": "FULL"}},
    variables={"HCCL_BUFFSIZE": "200", "OMP_NUM_THREADS": "1"},
    removed=("--enforce-eager", "ASCEND_LAUNCH_BLOCKING"),
)
WORDS = [
    ["--model", "a/B"], ["--max-num-seqs", "64"], ["--max-num-seqs=64"], ["--enforce-eager"], ["--seed", "1"],
    ["--compilation-config", '{"level": 3}'], ["--served-model-name", "a b: #c"], ["--port", "8000"],
]  # fmt: skip
VARIABLES = [("HCCL_BUFFSIZE", "120"), ("ASCEND_LAUNCH_BLOCKING", "1"), ("NOTE", "x: y"), ("OTHER", "7")]
QUOTES = [
    lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"',
    lambda text: "'" + text.replace("'", "''") + "'",
]


def scalar(rng: random.Random, text: str) -> str:
    """A value in one of the ways of YAML that say it."""
    is_plain = text.replace("-", "").replace("_", "").replace("/", "").isalpha()
    return text if is_plain and rng.random() < 0.6 else rng.choice(QUOTES)(text)


def listed(rng: random.Random, words: list[str], indent: str) -> str:
    """A list in brackets or in lines of its own, with comments."""
    if rng.random() < 0.3:
        return (
            " [" + rng.choice([", ", ",\n" + indent + "   "]).join(scalar(rng, word) for word in words) + "]"
        )
    dash = rng.choice(["", "  "])
    lines = [f"\n{indent}{dash}- {scalar(rng, word)}{rng.choice(['', '', '  # why'])}" for word in words]
    return "".join(lines)


def command(rng: random.Random, words: list[str], indent: str) -> str:
    """A command: a list, a text in one line, or a block."""
    kind = rng.random()
    if kind < 0.5:
        return listed(rng, words, indent)
    groups = [shlex.join(words[at : at + 2]) for at in range(0, len(words), 2)]
    if kind < 0.65 and "#c" not in str(words):
        return f" {QUOTES[1](' '.join(groups))}"
    return f" {rng.choice(['>', '>-'])}" + "".join(f"\n{indent}  {group}" for group in groups)


def variables(rng: random.Random, held: list[tuple[str, str]], indent: str, key: str) -> str:
    """Variables in one of the three ways of manifests; nothing where there are none."""
    if not held:
        return ""
    if key == "env":
        lines = [f"\n{indent}- name: {name}\n{indent}  value: {scalar(rng, text)}" for name, text in held]
    elif rng.random() < 0.5:
        lines = [f"\n{indent}- {scalar(rng, f'{name}={text}')}" for name, text in held]
    else:
        lines = [f"\n{indent}  {name}: {scalar(rng, text)}" for name, text in held]
    return f"\n{indent}{key}:" + "".join(lines)


def compose(rng: random.Random) -> str:
    """A compose file with two services."""
    words = [word for group in [WORDS[0], *rng.sample(WORDS[1:], rng.randint(2, 6))] for word in group]
    held = rng.sample(VARIABLES, rng.randint(0, 4))
    indent = rng.choice(["    ", "      "])
    first = f"  engine:\n{indent}image: vllm/vllm-openai:v0.11.0  # pinned\n{indent}command:"
    first += command(rng, words, indent) + variables(rng, held, indent, "environment")
    return f"# ours\nx-a: &a {{b: 1}}\nservices:\n{first}\n\n  web:\n{indent}image: nginx\n{indent}command: run --max-num-seqs 64\nvolumes: {{c: *a}}\n"


def pod(rng: random.Random) -> str:
    """A Deployment beside a Service."""
    words = [word for group in [WORDS[0], *rng.sample(WORDS[1:], rng.randint(2, 6))] for word in group]
    held = rng.sample(VARIABLES, rng.randint(0, 4))
    inner = "        "
    text = "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n"
    text += f"      - name: engine\n{inner}image: vllm/vllm-openai:v0.11.0\n{inner}args:{listed(rng, words, inner)}"
    text += variables(rng, held, inner, "env")
    return (
        text
        + f"\n{inner}ports: [{{containerPort: 8000}}]  # of the server\n---\napiVersion: v1\nkind: Service\n"
    )


def launched(text: str) -> tuple[list[str], dict[str, str], Any]:
    """Words and variables of the engine, and all else, as PyYAML's constructor reads them."""
    documents = list(yaml.safe_load_all(text))
    if "services" in documents[0]:
        service, words, key = documents[0]["services"]["engine"], "command", "environment"
    else:
        service, words, key = documents[0]["spec"]["template"]["spec"]["containers"][0], "args", "env"
    held = service.pop(words)
    given = service.pop(key, None) or {}
    if isinstance(given, list):
        given = dict(item.split("=", 1) if isinstance(item, str) else [*item.values()] for item in given)
    argv = shlex.split(held) if isinstance(held, str) else held
    assert all(isinstance(word, str) for word in argv)
    return argv, {name: str(value) for name, value in given.items()}, documents


def edited_words(words: list[str], unwritten: str) -> list[str]:
    """The expected words."""
    found = [word for word in words if word != "--enforce-eager" or "--enforce-eager" in unwritten]
    for flag, value in (("--max-num-seqs", "256"), ("--block-size", "128"), ("--compilation-config", "{}")):
        if flag in unwritten:
            continue
        at = max((n for n, word in enumerate(found) if word in {flag, f"{flag}=64"}), default=None)
        if at is None:
            found += [flag, '{"cudagraph_mode": "FULL"}' if value == "{}" else value]
        elif found[at] != flag:
            found[at] = f"{flag}={value}"
        else:
            found[at + 1] = '{"level": 3, "cudagraph_mode": "FULL"}' if value == "{}" else value
    return found


@pytest.mark.parametrize("number", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
@pytest.mark.parametrize("made", [compose, pod])
def test_another_parser_reads_a_patched_manifest_as_it_was_but_for_the_changes(
    made: Any, number: int
) -> None:
    rng, whole = random.Random(41), 0
    for _ in range(number):
        text = made(rng)
        ends = rng.choice(["\n", "\n", "\r\n"])
        result = edited(text.replace("\n", ends), EDITS)
        assert result.text.count("\n") == result.text.count(ends)
        after = result.text.replace("\r\n", "\n")
        shown = f"{text}\n-----\n{after}\n-----\n{result.unwritten}"
        left = " ".join(result.unwritten)
        whole += not left
        words, held, rest = launched(text)
        now, holds, others = launched(after)
        assert others == rest, shown
        assert now == edited_words(words, left), shown
        wanted = {name: value for name, value in held.items() if name != "ASCEND_LAUNCH_BLOCKING"}
        assert holds == {**wanted, **EDITS.variables} or left, shown
        kept = [line for line in text.split("\n") if "#" in line and "#c" not in line and "eager" not in line]
        assert all(line.partition("#")[2] in after for line in kept), shown
    assert whole > 0.9 * number


CALLS = [
    "llm = LLM({0})", "llm = LLM(\n    {1},\n)", "kwargs = dict({0})\nllm = LLM(**kwargs)",
    "def main():\n    return LLM(\n        {2})\n",
]  # fmt: skip
ARGUMENTS = [
    "max_num_seqs=64", "max_num_seqs=N", "enforce_eager=True", "seed=args.seed", "dtype='auto'",
    "compilation_config={'level': 3}", "max_num_seqs=int(x)",
]  # fmt: skip


@pytest.mark.parametrize("number", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
def test_a_patched_program_has_the_arguments_that_it_had_but_for_the_changes(number: int) -> None:
    rng, whole = random.Random(42), 0
    for _ in range(number):
        names = {item.partition("=")[0]: item for item in rng.sample(ARGUMENTS, rng.randint(0, 5))}
        given = ["model='a/B'", *names.values()]
        call = rng.choice(CALLS).format(*(joint.join(given) for joint in (", ", ",\n    ", ",\n        ")))
        head = rng.choice(["", "import os\n", '"""Doc."""\nimport os\nos.environ["HCCL_BUFFSIZE"] = "1"\n'])
        text = f"{head}from vllm import LLM  # it\nN = 64\n{call}\nprint(N)  # end\n"
        result = edited(text, EDITS)
        left, shown = " ".join(result.unwritten), f"{text}\n----\n{result.text}\n{result.unwritten}"
        whole += not left
        before, after = arguments(text), arguments(result.text)
        wanted = {name: value for name, value in before.items() if name != "enforce_eager"}
        wanted |= {"block_size": "128"}
        if "max_num_seqs" not in left and "--max-num-seqs" not in left:
            wanted["max_num_seqs"] = "256"
        fields = {**ast.literal_eval(before.get("compilation_config", "{}")), "cudagraph_mode": "FULL"}
        assert ast.literal_eval(after.pop("compilation_config")) == fields, shown
        wanted.pop("compilation_config", None)
        assert after == wanted, shown
        assert "--max-num-seqs" in left or "int(x)" not in text, shown
        set_to = [line for line in result.text.split("\n") if line.startswith("os.environ[")]
        assert {*set_to} == {f'os.environ["{name}"] = "{text}"' for name, text in EDITS.variables.items()}, (
            shown
        )
        assert (
            result.text.index("import os\n") < result.text.index(set_to[0]) < result.text.index("from vllm")
        )
        assert "# it" in result.text
        assert "print(N)  # end" in result.text
    assert whole > 0.6 * number


def arguments(text: str) -> dict[str, str]:
    """Arguments of the engine by name, as code."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    named = {getattr(node.func, "id", ""): node for node in calls}
    call = named.get("dict") or named["LLM"]
    return {item.arg or "": ast.unparse(item.value) for item in call.keywords}
