"""Texts of launches: the commands that people paste, for each program that a parser was read of."""

import json
import shlex
from collections.abc import Mapping, Sequence
from random import Random

from benchmarks.kinds.situations import TRAINERS, LaunchForm, LaunchSetting

_STARTS = {
    "vllm": (("vllm", "serve"), ("python3", "-m", "vllm.entrypoints.openai.api_server", "--model")),
    "vllm-ascend": (("vllm", "serve"), ("python", "-m", "vllm.entrypoints.openai.api_server", "--model")),
    "sglang": (
        ("sglang", "serve", "--model-path"),
        ("python3", "-m", "sglang.launch_server", "--model-path"),
    ),
}
"""The words before the model: of the command, and of the module."""
_IMAGES = {
    "vllm": "vllm/vllm-openai:v{}",
    "vllm-ascend": "quay.io/ascend/vllm-ascend:v{}",
    "sglang": "lmsysorg/sglang:v{}-cu126",
}
SIZES = {
    "layers": "--num-layers",
    "hidden_size": "--hidden-size",
    "attention_heads": "--num-attention-heads",
    "intermediate_size": "--ffn-hidden-size",
    "experts": "--num-experts",
}
"""Flags by which every script of this kind states the model."""

LAUNCHED = (*_STARTS, *TRAINERS)
"""Programs whose launches can be written."""


def launch_text(
    program: str,
    release: str,
    model: str,
    settings: Sequence[LaunchSetting],
    form: LaunchForm,
    *,
    count: int,
    sizes: Mapping[str, object],
    random: Random,
) -> str:
    """A launch as text.

    Args:
        program: One of :data:`LAUNCHED`.
        release: Its release, for the tag of an image; empty where it is not told.
        model: As the command names it.
        settings: What it sets.
        form: The kind of text.
        count: Devices of this server.
        sizes: Documented sizes of the model, for trainers.
        random: Draws what does not matter: line breaks, quotes.
    """
    variables = {item.key: item.value for item in settings if item.place == "env"}
    flags = [word for item in _joined(settings) for word in _words(item, random)]
    if program in _STARTS:
        plain, module = _STARTS[program]
        words = [*(module if form is LaunchForm.MODULE else plain), model, *flags]
    else:
        stated = {flag: sizes[name] for name, flag in SIZES.items() if sizes.get(name)}
        if isinstance(groups := sizes.get("kv_heads"), int) and groups != sizes.get("attention_heads"):
            flags += ["--group-query-attention", "--num-query-groups", str(groups)]
        flags = [word for flag, size in stated.items() for word in (flag, str(size))] + flags
        servers = max(count // 8, 1)
        words = [
            *("torchrun", "--nproc_per_node", str(min(count, 8)), "--nnodes", str(servers)),
            *("pretrain_gpt.py", *flags),
        ]
    if form is LaunchForm.DOCKER:
        image = _IMAGES.get(program, f"registry.example/{program}:{{}}").format(release or "latest")
        set_in = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
        words = ["docker", "run", "--rm", "--shm-size", "16g", *set_in, "-p", "8000:8000", image, *words]
        return "#!/bin/bash\n" + _broken(words, random) + "\n"
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    if form is LaunchForm.SHELL:
        return "\n".join(["#!/bin/sh", *lines, f"bash -c {shlex.quote(shlex.join(words))}", ""])
    return "\n".join(["#!/bin/bash", "set -e", *lines, "", _broken(words, random), ""])


def problem_text(told: Mapping[str, object]) -> str:
    """A problem file."""
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def _joined(settings: Sequence[LaunchSetting]) -> list[LaunchSetting]:
    """Flags, and the fields of each JSON value as one flag."""
    flags: list[LaunchSetting] = [item for item in settings if item.place == "flag"]
    objects: dict[str, dict[str, object]] = {}
    for item in settings:
        if item.place == "json":
            outer, *path = item.key.split(".")
            table = objects.setdefault(outer, {})
            for name in path[:-1]:
                inner = table.setdefault(name, {})
                if not isinstance(inner, dict):
                    break
                table = inner
            else:
                table[path[-1]] = _parsed(item.value) if item.value else True
    flags += [
        LaunchSetting(place="flag", key=f"--{outer.replace('_', '-')}", value=json.dumps(table))
        for outer, table in objects.items()
    ]
    return flags


def _parsed(text: str) -> object:
    try:
        value: object = json.loads(text)
    except ValueError:
        return {"True": True, "False": False}.get(text, text)
    return value


def _words(item: LaunchSetting, random: Random) -> list[str]:
    if not item.value:
        return [item.key]
    if item.key.startswith("--") and random.random() < 0.2:
        return [f"{item.key}={item.value}"]
    return [item.key, *(item.value.split() if item.key.endswith(("sizes", "bs")) else [item.value])]


def _broken(words: Sequence[str], random: Random) -> str:
    """The words of a command, on one line or on several."""
    quoted = [shlex.quote(word) for word in words]
    if random.random() < 0.4:
        return " ".join(quoted)
    lines, line = [], ""
    for word in quoted:
        if word.startswith("-") and line:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return " \\\n  ".join([*lines, line])
