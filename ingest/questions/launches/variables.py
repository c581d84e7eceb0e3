"""Variables that reach a program, and the devices that they and a batch job's lines state."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, takewhile

from ingest.door.values import parse_value
from ingest.questions.launches.script import UNKNOWN, readable
from kg.nouns.setting import SettingPlace
from kg.terms.setting_registry import registry, softwares

NOT_TUNED_ENVIRONMENT = re.compile(
    r"PATH$|^(HOME|LD_|PYTHON|HF_|HOST|MASTER_|NODE_?RANK|RANK|GLOO_|TP_SOCKET|WANDB|LANG|LC_|http|no_proxy|SLURM_|LWS_)"
    r"|SOCKET_IFNAME|IF_IP|IFNAME|_URL$|_ADDR$|_PORT$|_DIR$|LOG_(PATH|DIR)|TOKEN$|KEY$|VISIBLE_DEVICES$|/",
    re.IGNORECASE,
)
"""Variables of places, ranks and keys, and resources of containers: they are no settings to tune."""

CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_PASSING = frozenset({"exec", "nohup", "setsid", "time"})
"""Commands that run the rest of their words with the variables that they have themselves."""
_VISIBLE = (
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
)
COMPOSED = "reservations/gpu"
"""Name of the devices that a service of compose reserves."""
_RESOURCE = re.compile(r"/(gpu|tpu|npu|gaudi|ascend[\w-]*)$", re.IGNORECASE)
"""End of the names of devices among the resources of Kubernetes, by its plugins of devices."""
DEVICE_LABELS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name", "cloud.google.com/gke-accelerator")
"""Labels by which a node of Kubernetes names its devices: https://github.com/NVIDIA/k8s-device-plugin (GPU
Feature Discovery), https://instinct.docs.amd.com/projects/gpu-operator (node labeller), and GKE's own."""
_BATCH = re.compile(r"^#SBATCH\s+(--[\w-]+|-[A-Za-z])(?:[= ]\s*)?(\S+)?", re.MULTILINE)
_BATCH_NODES, _BATCH_EACH = ("-N", "--nodes"), ("--gpus-per-node", "--gres", "--gpus-per-task")
_BATCH_ALL = ("--gpus", "-G")
_DIGITS = 10
"""Numbers of this many digits count no devices."""


def settings_among(environment: Mapping[str, str], used: frozenset[str], program: str) -> dict[str, object]:
    """Exported variables that may be settings and have a known value; those of the script itself are none."""
    return {
        name: parse_value(readable(value))
        for name, value in environment.items()
        if value
        and UNKNOWN not in value
        and not NOT_TUNED_ENVIRONMENT.search(name)
        and (name not in used or is_variable(name, program))
    }


def is_variable(name: str, program: str) -> bool:
    """True if a program, or one beneath it, reads a variable."""
    names = [item for item in (program, f"{program}-ascend", "torch-npu") if item in softwares()]
    return any(registry(item).at("").look_up(name, SettingPlace.ENV, suggest=False).setting for item in names)


def visible_devices(environment: Mapping[str, str]) -> int | None:
    """The number of visible devices; None if it is not stated."""
    for name in _VISIBLE:
        devices = environment.get(name, "")
        if re.fullmatch(r"\d+(\s*,\s*\d+)*", devices):
            return devices.count(",") + 1
    given = (value for name, value in environment.items() if _RESOURCE.search(name) and value.isdecimal())
    return next((int(value) for value in given if len(value) < _DIGITS), None)


def named_device(environment: Mapping[str, str]) -> str:
    """The device that the node of a container is selected by; empty where none is."""
    return next((environment[name] for name in DEVICE_LABELS if name in environment), "")


def slices(environment: Mapping[str, str]) -> list[str]:
    """The parts of NVIDIA devices that a container of Kubernetes is given."""
    return [name for name in environment if "/mig-" in name]


def reaching(words: Sequence[str], names: Sequence[str], environment: Mapping[str, str]) -> Mapping[str, str]:
    """The variables that reach a program: in a container those of ``-e``, else all that are exported.

    ``env`` adds its own.
    """
    passed = sum(1 for _ in takewhile(lambda name: name in _PASSING, names))
    if names[passed : passed + 1] == ["env"]:
        own = takewhile(lambda word: "=" in word, words[passed + 1 :])
        return {**environment, **{word.partition("=")[0]: word.partition("=")[2] for word in own}}
    if not names or names[0] not in CONTAINERS or "run" not in words[:3]:
        return environment
    found: dict[str, str] = {}
    for before, word in pairwise(words):
        text = word if before in {"-e", "--env"} else before.removeprefix("--env=")
        if before in {"-e", "--env"} or before.startswith("--env="):
            name, equals, value = text.partition("=")
            if equals or name in environment:
                found[name] = value if equals else environment[name]
        if before == "--gpus" and (listed := re.search(r"device=([\d,]+)", word)):
            found["CUDA_VISIBLE_DEVICES"] = listed[1]
    return found


def batch_job(text: str) -> tuple[int, int, str]:
    """Nodes, devices of each, and their type, that ``#SBATCH`` lines ask for; 0 or empty where unsaid."""
    given = {name: value or "" for name, value in _BATCH.findall(text)}

    def number(names: Iterable[str]) -> int:
        said = next((given[name] for name in names if name in given), "")
        digits = re.findall(r"\d+", said.rpartition(":")[2])
        return int(digits[0]) if digits and len(digits[0]) < _DIGITS else 0

    each, whole = number(_BATCH_EACH), number(_BATCH_ALL)
    nodes = number(_BATCH_NODES) or int(bool(each or whole))
    said = (
        given[name].removeprefix("gpu:").rpartition(":")[0]
        for name in (*_BATCH_EACH, *_BATCH_ALL)
        if name in given
    )
    return nodes, each or (whole // nodes if nodes else 0), next(filter(None, said), "")
