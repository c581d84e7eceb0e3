"""The environment of a measurement: processor, system and versions; no names of hosts or users."""

import platform
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

_SECONDS = 10.0
"""After which a command that tells a version is given up."""

THIS_MACHINE, THIS_PROCESSOR = "this machine", "this processor"
"""Names that stand for hardware where something is about the machine of this program."""


def processor(cpuinfo: str | None = None) -> dict[str, str]:
    """Name of the processor as it reports itself, with family and model (Linux), and how many cores.

    Args:
        cpuinfo: Content of ``/proc/cpuinfo``; read if None.
    """
    facts: dict[str, str] = {}
    if cpuinfo is None:
        try:
            cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        except OSError:
            cpuinfo = ""
    cores = 0
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        key = name.strip().lower()
        cores += key == "processor"
        if key in {"model name", "cpu family", "model"} and value.strip():
            facts.setdefault(key.replace(" ", "_"), value.strip())
    name = facts.get("model_name") or platform.processor() or platform.machine()
    is_complete = {"cpu_family", "model"} <= set(facts)
    family = f" family {facts['cpu_family']} model {facts['model']}" if is_complete else ""
    return {"processor": name + family, **({"cores": str(cores)} if cores else {})}


def accelerators() -> list[str]:
    """Accelerators that a vendor's tool lists: NVIDIA GPUs; Ascend NPUs where ``npu-smi`` is there."""
    if shutil.which("nvidia-smi"):
        listed = _first_output(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"])
        return [line.strip() for line in listed.splitlines() if line.strip()]
    if shutil.which("npu-smi"):
        rows = [line.split("|") for line in _first_output(["npu-smi", "info"]).splitlines()]
        names = [row[1].split() for row in rows if len(row) > 2]
        return [f"Ascend {words[1]}" for words in names if len(words) > 1 and words[0].isdigit()]
    return []


def device_listing() -> tuple[str, str]:
    """Output of the device tool of this machine, and the tool's name; empty where there is none."""
    for command in (["npu-smi", "info"], ["nvidia-smi", "--query-gpu=name", "--format=csv"]):
        if shutil.which(command[0]) and (text := _first_output(command)):
            return text, " ".join(command)
    return "", ""


def capture(versions: Mapping[str, list[str]]) -> dict[str, object]:
    """Describe this machine, with the versions that a user asks for.

    Args:
        versions: Commands that print a version, by its name; the first line counts.
    """
    environment: dict[str, object] = {
        **processor(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
    if devices := accelerators():
        environment["accelerators"] = devices
    software = {name: text for name, command in versions.items() if (text := _first_output(command))}
    if software:
        environment["software"] = {
            name: text.splitlines()[0].strip()[:100] for name, text in software.items()
        }
    return environment


def this_machine(name: str, environment: Mapping[str, object]) -> tuple[str, int] | None:
    """Name and count of the devices of this machine; None where a file names other hardware.

    Args:
        name: ``THIS_MACHINE`` for its accelerators, else its processor; or ``THIS_PROCESSOR``.
        environment: Of this machine, as ``recommender.measuring.environment.capture`` gives it.
    """
    if name not in {THIS_MACHINE, THIS_PROCESSOR}:
        return None
    devices = environment.get("accelerators")
    if name == THIS_MACHINE and isinstance(devices, list) and devices:
        return str(devices[0]), len(devices)
    return str(environment.get("processor", "unknown processor")), 1


def here(name: str) -> str:
    """The name of this machine's hardware where it is meant; any other name as it is."""
    machine = this_machine(name, capture({})) if name.startswith("this ") else None
    return name if machine is None else machine[0]


def _first_output(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() or done.stderr.strip()
