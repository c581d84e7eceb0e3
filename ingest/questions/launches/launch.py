"""A launch command or a shell script with one, as a question."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ingest.door.values import typed
from ingest.questions.launches import megatron, serving
from ingest.questions.launches.launch_facts import LaunchFacts
from ingest.questions.launches.options import Given, given
from ingest.questions.launches.shell import UNKNOWN, read_script, shown
from kg.errors import InputError

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
"""Variables that say where things are, not how fast: no settings to advise, and keys stay out."""

_VISIBLE = (
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
)
_MOST_NESTED = 3


def read_launch(text: str, place: str, *, depth: int = 0) -> LaunchFacts:
    """What a command or script launches; the first launch where there are several.

    Args:
        text: The script; it is read, never executed.
        place: What to call it in errors and notes.
        depth: How many shells it stands inside.

    Raises:
        InputError: It launches nothing that is known.
    """
    script = read_script(text)
    found: list[LaunchFacts] = []
    for command in script.commands:
        told = _launch(command, place, depth)
        if told is not None:
            found.append(told)
    if not found:
        raise InputError(f"{place}: no launch is found in it", hint=f"known: {KNOWN}")
    notes = [*found[0].notes]
    if len(found) > 1:
        notes.append(f"{len(found)} launches are found; the first is read")
    notes += script.notes
    if not depth:
        notes = [f"{place}: {note}" for note in notes]
    return LaunchFacts(question=found[0].question, notes=tuple(notes))


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
            return _counted(serving.vllm(given(rest[1:], dict(serving.VLLM_SHORT)), environment), None)
        if word.startswith("vllm.entrypoints") or name.startswith("vllm-openai"):  # an image's entry point
            return _counted(serving.vllm(given(rest, dict(serving.VLLM_SHORT)), environment), None)
        if word == "sglang.launch_server" or (name == "sglang" and rest[:1] == ("serve",)):
            return _counted(serving.sglang(given(rest, dict(serving.SGLANG_SHORT)), environment), None)
        if name in {"msrun", "msrun_launcher.sh"}:
            return _msrun(name, rest, environment)
        if word in _TORCH or name in _TORCH:
            return _torch(rest, environment, visible, place)
        if name.endswith(".py"):
            options = given(rest)
            if not megatron.is_megatron(options):
                return None
            return _counted(megatron.told(options, Given(), environment, place), visible)
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
    launcher, options = given(words[:script]), given(words[script + 1 :])
    told = megatron.told(options, launcher, environment, place)
    return _counted(told, visible if "nproc_per_node" not in launcher.values else None)


def _msrun(name: str, words: Sequence[str], environment: Mapping[str, object]) -> LaunchFacts:
    """MindSpore: the settings stand in a YAML file that is named, not in the command."""
    if name == "msrun_launcher.sh":
        inner = words[0].split() if words else []
        launcher = given([])
        if len(words) > 1 and words[1].isdigit():
            launcher.values["worker_num"] = int(words[1])
        options = given(inner[1:])
    else:
        script = next((at for at, word in enumerate(words) if word.endswith(".py")), len(words))
        launcher, options = given(words[:script]), given(words[script + 1 :])
    mode = str(options.values.get("run_mode", "train"))
    question: dict[str, object] = {"phase": "serving" if mode in {"predict", "eval"} else "training"}
    count = launcher.whole("worker_num")
    if count is not None:
        question["count"] = count
    settings = {k: v for k, v in options.values.items() if k not in _NOT_TUNED}
    question["current"] = {**environment, **settings}
    notes = [f"not read: the settings in {options.values['config']}"] if "config" in options.values else []
    notes += [*launcher.unread(megatron.NOT_TUNED), *options.unread(_NOT_TUNED)]
    return LaunchFacts(question=question, notes=tuple(notes))


def _counted(told: LaunchFacts, visible: int | None) -> LaunchFacts:
    """The same, with the devices that are made visible where the command does not say how many."""
    if visible is None or "count" in told.question:
        return told
    return LaunchFacts(question={**told.question, "count": visible}, notes=told.notes)


def _may_launch(text: str) -> bool:
    return any(mark in text for mark in ("vllm", "sglang", "torchrun", "msrun", ".py", "torch.distributed"))


def _settings(environment: Mapping[str, str]) -> dict[str, object]:
    """Exported variables that may be settings, those that could be filled in."""
    return {
        name: typed(shown(value))
        for name, value in environment.items()
        if value and UNKNOWN not in value and not NOT_TUNED_ENVIRONMENT.search(name)
    }


def _visible(environment: Mapping[str, str]) -> int | None:
    """How many devices are made visible; None if nothing says so."""
    for name in _VISIBLE:
        devices = environment.get(name, "")
        if re.fullmatch(r"\d+(\s*,\s*\d+)*", devices):
            return devices.count(",") + 1
    return None
