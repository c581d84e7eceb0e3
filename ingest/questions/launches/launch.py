"""Launch commands, alone or in a shell script, as questions."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ingest.door.values import parse_value
from ingest.questions.launches import megatron, serving
from ingest.questions.launches.launch_facts import NOT_READ, LaunchFacts
from ingest.questions.launches.options import LaunchOptions, parse_options
from ingest.questions.launches.releases import release_of_image
from ingest.questions.launches.shell import UNKNOWN, read_script, readable
from kg.errors import InputError
from kg.terms.meanings import long_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.questions.launches.shell import ShellCommand

KNOWN = "torchrun or python with Megatron options, msrun, vllm serve, sglang.launch_server"

_TORCH = frozenset({"torchrun", "torch.distributed.run", "torch.distributed.launch", "deepspeed"})
_SHELLS = frozenset({"bash", "sh", "zsh"})
_NOT_TUNED = frozenset({"run_mode", "config"}) | megatron.NOT_TUNED
NOT_TUNED_ENVIRONMENT = re.compile(
    r"PATH$|^(HOME|LD_|PYTHON|HF_|HOST|MASTER_|NODE_?RANK|RANK|GLOO_|TP_SOCKET|WANDB|LANG|LC_|http|no_proxy)"
    r"|SOCKET_IFNAME|IF_IP|IFNAME|_URL$|_ADDR$|_PORT$|_DIR$|LOG_(PATH|DIR)|TOKEN$|KEY$|VISIBLE_DEVICES$",
    re.IGNORECASE,
)
"""Variables of places, ranks and keys: they are no settings to tune."""

_VISIBLE = (
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
)
_MOST_NESTED = 3


def read_launch(text: str, place: str, *, depth: int = 0) -> LaunchFacts:
    """The facts of the first launch in a command or script.

    Args:
        text: The script; it is read, never executed.
        place: Name of the text in errors and notes.
        depth: Number of shells around it.

    Raises:
        InputError: It launches nothing that is known.
    """
    script = read_script(text)
    found: list[LaunchFacts] = []
    for command in script.commands:
        facts = _launch(command, place, depth)
        if facts is not None:
            found.append(_released(facts, command.words))
    if not found:
        raise InputError(f"{place}: no launch is found in it", hint=f"known: {KNOWN}")
    notes = [*found[0].notes]
    if len(found) > 1:
        notes.append(f"{len(found)} launches are found; the first is read")
    notes += script.notes
    if not depth:
        notes = [f"{place}: {note}" for note in notes]
    return replace(found[0], notes=tuple(notes))


def launch_command(text: str) -> ShellCommand:
    """The first launch that stands in a script itself, not in a text that another shell runs.

    Raises:
        InputError: There is none.
    """
    for command in read_script(text).commands:
        names = {PurePosixPath(word).name for word in command.words}
        if not (names & _SHELLS and "-c" in command.words) and _launch(command, "", 0) is not None:
            return command
    raise InputError("no launch stands in the script itself", hint=f"known: {KNOWN}")


def _launch(command: ShellCommand, place: str, depth: int) -> LaunchFacts | None:
    words = command.words
    names = [PurePosixPath(word).name for word in words]
    environment = _settings(command.environment)
    visible = _visible(command.environment)
    for at, name in enumerate(names):
        word, rest = words[at], words[at + 1 :]
        if name in _SHELLS and "-c" in rest and depth < _MOST_NESTED:
            inner = rest[rest.index("-c") + 1 :][:1]
            return read_launch(inner[0], place, depth=depth + 1) if inner and _may_launch(inner[0]) else None
        if name == "vllm" and rest[:1] == ("serve",):
            return serving.read_vllm(parse_options(rest[1:], long_names("vllm")), environment)
        if word.startswith("vllm.entrypoints") or name.startswith("vllm-openai"):  # an image's entry point
            return serving.read_vllm(parse_options(rest, long_names("vllm")), environment)
        if word == "sglang.launch_server" or (name == "sglang" and rest[:1] == ("serve",)):
            return serving.read_sglang(parse_options(rest, long_names("sglang")), environment)
        if name in {"msrun", "msrun_launcher.sh"}:
            return _msrun(name, rest, environment)
        if word in _TORCH or name in _TORCH:
            return _torch(rest, environment, visible, place)
        if name.endswith(".py"):
            options = parse_options(rest)
            if not megatron.is_megatron(options):
                return None
            return _counted(megatron.read_megatron(options, LaunchOptions(), environment, place), visible)
    return None


def _torch(
    words: Sequence[str], environment: Mapping[str, object], visible: int | None, place: str
) -> LaunchFacts | None:
    """A process per device: options of the launcher up to the script, those of the script after it."""
    script = next((at for at, word in enumerate(words) if word.endswith(".py")), None)
    module = next((at for at, word in enumerate(words) if word in {"-m", "--module"}), None)
    if script is None and module is not None:
        script = module + 1
    if script is None:
        return None
    launcher, options = parse_options(words[:script]), parse_options(words[script + 1 :])
    facts = megatron.read_megatron(options, launcher, environment, place)
    return _counted(facts, visible if "nproc_per_node" not in launcher.values else None)


def _msrun(name: str, words: Sequence[str], environment: Mapping[str, object]) -> LaunchFacts:
    """MindSpore: the settings stand in a YAML file that is named, not in the command."""
    if name == "msrun_launcher.sh":
        inner = words[0].split() if words else []
        launcher = parse_options([])
        if len(words) > 1 and words[1].isdigit():
            launcher.values["worker_num"] = int(words[1])
        options = parse_options(inner[1:])
    else:
        script = next((at for at, word in enumerate(words) if word.endswith(".py")), len(words))
        launcher, options = parse_options(words[:script]), parse_options(words[script + 1 :])
    mode = str(options.values.get("run_mode", "train"))
    question: dict[str, object] = {"phase": "serving" if mode in {"predict", "eval"} else "training"}
    count = launcher.positive("worker_num")
    if count is not None:
        question["count"] = count
    settings = {k: v for k, v in options.values.items() if k not in _NOT_TUNED}
    question["current"] = {**environment, **settings}
    files = (str(options.values["config"]),) if "config" in options.values else ()
    notes = [f"{NOT_READ} {name}" for name in files]
    notes += [*launcher.unreadable(megatron.NOT_TUNED), *options.unreadable(_NOT_TUNED)]
    return LaunchFacts(question=question, notes=tuple(notes), files=files)


def _released(facts: LaunchFacts, words: Sequence[str]) -> LaunchFacts:
    """The same facts with the release that the tag of the container's image names."""
    stated = facts.question.get("software")
    image = next((found for word in words if (found := release_of_image(word)) is not None), None)
    if image is None or not isinstance(stated, dict) or not _is_part(image[0], stated):
        return facts
    return replace(facts, question={**facts.question, "software": dict([image])})


def _is_part(program: str, stated: Mapping[str, object]) -> bool:
    """Whether a program, or what it is the plugin of, is launched without a release."""
    return any(not version and program in {name, f"{name}-ascend"} for name, version in stated.items())


def _counted(facts: LaunchFacts, visible: int | None) -> LaunchFacts:
    """The same facts, with the number of visible devices where the command does not state a number."""
    if visible is None or "count" in facts.question:
        return facts
    return replace(facts, question={**facts.question, "count": visible})


def _may_launch(text: str) -> bool:
    return any(mark in text for mark in ("vllm", "sglang", "torchrun", "msrun", ".py", "torch.distributed"))


def _settings(environment: Mapping[str, str]) -> dict[str, object]:
    """Exported variables that may be settings and have a known value."""
    return {
        name: parse_value(readable(value))
        for name, value in environment.items()
        if value and UNKNOWN not in value and not NOT_TUNED_ENVIRONMENT.search(name)
    }


def _visible(environment: Mapping[str, str]) -> int | None:
    """The number of visible devices; None if it is not stated."""
    for name in _VISIBLE:
        devices = environment.get(name, "")
        if re.fullmatch(r"\d+(\s*,\s*\d+)*", devices):
            return devices.count(",") + 1
    return None
