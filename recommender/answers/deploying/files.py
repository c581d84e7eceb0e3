"""Engines as files that deploy them: a script for each role, compose, Kubernetes, LeaderWorkerSet.

Each file is read back by the reader of launches before it is left on disk: it must launch every engine with
the settings of its start.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, replace
from textwrap import dedent
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ingest.questions.launches.running import running_settings
from kg.atomic_files import write_text
from kg.errors import InputError
from kg.terms.purposes import plain_key
from recommender.answers.deploying.commands import (
    MODEL,
    NIXL_HOST,
    PORT,
    DeployedProgram,
    EngineAddress,
    EnginePlace,
)
from recommender.answers.deploying.manifests import compose, kubernetes
from recommender.ranking.paste import launch_text, shell_word, wrapped_command
from recommender.ranking.starts.flags.server_flags import FIRST_SERVER, RANK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from recommender.ranking.deployments.engines import Engine

_SHELL = "#!/usr/bin/env bash\nset -euo pipefail\n"
_FILLED = re.compile(rf"{FIRST_SERVER}|{RANK}|SECRET")
_OWN = frozenset({"model", "model_path", "kv_transfer_config.kv_port", "host", "port"})
"""Settings of the place of an engine: not compared with those of its start."""
_WRITTEN = re.compile(r"(?s)cat > (\S+) <<'EOF'\n((?:(?!\n[ \t]*EOF|cat > \S+ <<'EOF'\n).)*+)\n[ \t]*EOF")
"""A file that a shell writes, and its text."""
COMPOSE, ROUTER = "compose.yaml", "router.sh"
_OVER_INSTALLED = """cd "$(dirname "$0")"
MINDIE="${MINDIE:-/usr/local/Ascend/mindie/latest/mindie-service}"
python3 - "$MINDIE/conf/config.json" > merged.json <<'PYTHON'
import json, os, sys

def over(old, new):
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{name: over(old.get(name), value) for name, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list) and new and isinstance(new[0], dict):
        return [over(one, two) for one, two in zip(old or [{}], new)]
    return new

merged = over(json.load(open(sys.argv[1])), json.load(open("config.json")))
if "MODEL" in os.environ:
    for one in merged["BackendConfig"]["ModelDeployConfig"]["ModelConfig"]:
        one["modelWeightPath"] = os.environ["MODEL"]
json.dump(merged, sys.stdout, indent=2)
PYTHON
chmod 640 merged.json
export MIES_CONFIG_JSON_PATH="$PWD/merged.json"
exec "$MINDIE/bin/mindieservice_daemon"
"""
"""Script that starts MindIE with settings over those of its installation, such as ports and certificates."""


_OF_TABLE = "ascend-dav-c220"
"""Devices whose table of ranks is of version 1.0: those of a supernode have another."""
_AMONG_SERVERS = (
    ': "${MIES_CONTAINER_IP:?address of this server}"',
    "export MIES_CONTAINER_IP",
    'RANKTABLEFILE="$(cd "$(dirname "$0")" && pwd)/rank_table.json"',
    'test -s "$RANKTABLEFILE"',
    'chmod 640 "$RANKTABLEFILE"',
    "export RANKTABLEFILE",
)
_RANK_TABLE = """#!/usr/bin/env bash
set -euo pipefail
python3 - "$@" <<'PYTHON'
import json, re, subprocess, sys


def address_of(number):
    said = subprocess.check_output(["hccn_tool", "-i", str(number), "-ip", "-g"], text=True)
    return re.search(r"ipaddr:\\s*(\\S+)", said)[1]


if sys.argv[1].endswith(".json"):
    servers = [json.load(open(name)) for name in sys.argv[1:]]
    devices = [device for server in servers for device in server["device"]]
    for rank, device in enumerate(devices):
        device["rank_id"] = str(rank)
    found = {{"version": "1.0", "status": "completed", "server_count": str(len(servers))}}
    found["server_list"] = servers
else:
    places = [{{"device_id": str(number), "device_ip": address_of(number)}} for number in range({devices})]
    found = {{"server_id": sys.argv[1], "container_ip": sys.argv[1], "device": places}}
json.dump(found, sys.stdout, indent=2)
PYTHON
"""
"""Script that writes the table of ranks by which MindIE's servers find each other (multi-node inference)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentFiles:
    """Files that deploy a decision.

    Attributes:
        texts: The files by name.
        notes: What a user fills in, and what is not among them.
    """

    texts: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write them into a new folder, all or none.

        Raises:
            InputError: Something of this name is there.
        """
        if folder.exists():
            raise InputError(f"{folder} exists", hint="name a folder that does not")
        part = folder.with_name(f".{folder.name}.part")
        part.mkdir()
        try:
            for name, text in self.texts.items():
                write_text(part / name, text)
                if name.endswith(".sh"):
                    (part / name).chmod(0o755)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def deployment_files(engines: Sequence[Engine], hardware: Sequence[str], on_server: int) -> DeploymentFiles:
    """The files of the engines of a decision, each read back.

    Args:
        engines: Of one kind, or of either role.
        hardware: The device and what is above it in the tree.
        on_server: Devices of a server.

    Raises:
        InputError: The program, the device or the settings have no such files.
    """
    first, is_one = engines[0], len(engines) == 1
    if first.start.framework == "mindie" and is_one and (first.servers == 1 or _OF_TABLE in hardware):
        return _mindie_files(first)
    if first.start.framework == "tensorrt-llm" and is_one and first.servers > 1:
        return _job_files(first, DeployedProgram.of(replace(first, servers=1), hardware))
    program = DeployedProgram.of(first, hardware)
    texts = {name: text for engine in engines for name, text in _scripts(engine)}
    for name, text in texts.items():
        _read_back(name, text, [next(one for one in engines if name.startswith(one.role or "serve"))])
    if len(engines) > 1:
        texts[ROUTER] = _router_script(engines, program)
    if sum(one.devices * one.instances for one in engines) <= on_server:
        texts[COMPOSE] = _yaml(compose(engines, program))
        _read_back(COMPOSE, texts[COMPOSE], [one for one in engines for _ in range(one.instances)])
    is_wide = any(one.servers > 1 for one in engines)
    name = "leaderworkerset.yaml" if is_wide else "kubernetes.yaml"
    texts[name] = "---\n".join(map(_yaml, kubernetes(engines, program)))
    _read_back(name, texts[name], [one for one in engines for _ in range(min(one.servers, 2))])
    return DeploymentFiles(texts=texts, notes=tuple(_notes(engines, program, texts)))


def _mindie_files(engine: Engine) -> DeploymentFiles:
    """The settings of a MindIE server, and what starts it with them over those of its installation."""
    content = json.loads(launch_text(engine.start.settings, "mindie"))
    local = engine.devices // engine.servers
    content["BackendConfig"]["npuDeviceIds"] = [list(range(local))]
    lines = _exports(EnginePlace(engine=engine))
    texts = {"config.json": json.dumps(content, indent=2) + "\n"}
    notes = ["MINDIE is another place of its installation, MODEL that of the checkpoint"]
    if engine.servers > 1:
        texts["rank_table.sh"] = _RANK_TABLE.format(devices=local)
        lines += _AMONG_SERVERS
        notes.append(
            "rank_table.sh ADDRESS on each server prints its part, rank_table.sh PART.json ... of all parts, "
            "the first server's first, the rank_table.json that each server needs beside serve.sh"
        )
    texts["serve.sh"] = _SHELL + "".join(f"{line}\n" for line in lines) + _OVER_INSTALLED
    _read_back("serve.sh", texts["serve.sh"], [engine], texts)
    return DeploymentFiles(texts=texts, notes=tuple(notes))


def _job_files(engine: Engine, program: DeployedProgram) -> DeploymentFiles:
    """A job of Slurm: TensorRT-LLM has a process for each device, and the first of them is the server."""
    one = EnginePlace(engine=engine)
    words = one.words(model=f'"${{MODEL:-{MODEL}}}"', port=f'"${{PORT:-{PORT}}}"')
    local = engine.devices // engine.servers
    asked = (f"nodes={engine.servers}", f"ntasks-per-node={local}", f"gpus-per-node={local}")
    lines = [*(f"#SBATCH --{item}" for item in asked), "set -euo pipefail", *_exports(one), *one.files]
    job = [*lines, *wrapped_command(["srun --mpi=pmix trtllm-llmapi-launch", *words])]
    texts = {"serve.sbatch": "\n".join(["#!/usr/bin/env bash", *job, ""])}
    _read_back("serve.sbatch", texts["serve.sbatch"], [engine])
    return DeploymentFiles(texts=texts, notes=tuple(_notes([engine], program, texts)))


def _exports(one: EnginePlace) -> list[str]:
    return [f"export {name}={shell_word(value)}" for name, value in one.environment.items()]


def _scripts(engine: Engine) -> Iterator[tuple[str, str]]:
    """The script of an engine; of one on several servers that of the first, and that of all others."""
    name = engine.role or "serve"
    if engine.servers == 1:
        yield f"{name}.sh", _script(engine, 0)
        return
    yield f"{name}-first.sh", _script(engine, 0)
    yield f"{name}-next.sh", _script(engine, 1)


def _script(engine: Engine, server: int) -> str:
    one = EnginePlace(engine=engine)
    lines = _exports(one)
    if one.meets_by_nixl:
        lines.append(f'export {NIXL_HOST}="${{{NIXL_HOST}:?address of this server}}"')
    if engine.servers > 1:
        lines.append(f': "${{{FIRST_SERVER}:?address of the first server}}"')
        lines.append(
            f': "${{{RANK}:?1 on the second server, 2 on the third, ...}}"' if server else f"{RANK}=0"
        )
    words = one.words(server, model=f'"${{MODEL:-{MODEL}}}"', port=f'"${{PORT:-{PORT}}}"')
    return _SHELL + "".join(f"{line}\n" for line in [*lines, *one.files, *wrapped_command(words)])


def _router_script(engines: Sequence[Engine], program: DeployedProgram) -> str:
    addresses = [
        EngineAddress(
            role=one.role, host=f'"${{{one.role.upper()}_{place}:?address of {one.role} engine {place}}}"'
        )
        for one in engines
        for place in range(one.instances)
    ]
    return _SHELL + " \\\n  ".join(program.router_words(addresses)) + "\n"


def _yaml(content: Mapping[str, Any]) -> str:
    """A document, texts of several lines as they are."""
    import yaml  # most questions write no manifest

    class Dumper(yaml.SafeDumper):
        """Writes a document."""

        def represent_str(self, data: str) -> yaml.ScalarNode:
            """A text, of several lines as a block."""
            return self.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None)

    Dumper.add_representer(str, Dumper.represent_str)
    copied = json.loads(json.dumps(content))  # what stands twice is written twice
    return str(yaml.dump(copied, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1000))


def _read_back(
    name: str, text: str, launched: Sequence[Engine], beside: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Refuse a file whose launches have not the settings of the starts, in this order.

    Raises:
        InputError: One has not.
    """
    for number, engine in enumerate(launched, 1):
        pasted = (
            launch_text(engine.start.settings, "mindie") if beside else "\n".join(engine.start.paste_lines)
        )
        wanted, found = _settings(pasted, 1), _settings(text, number, beside)
        lacking = [
            key for key, value in wanted.items() if found.get(key) != value and not _FILLED.search(value)
        ]
        if lacking:
            raise InputError(
                f"{name} does not read back: {lacking[0]}", hint="--write writes a script of the start"
            )


def _settings(text: str, server: int, beside: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    written = {**beside, **{name: dedent(held) for name, held in _WRITTEN.findall(text)}}
    running = running_settings(text, server=server, beside=written.get)
    found = {plain_key(item.key): item.value for item in running}
    return {key: value for key, value in found.items() if key not in _OWN}


def _notes(engines: Sequence[Engine], program: DeployedProgram, texts: Mapping[str, str]) -> Iterator[str]:
    if not engines[0].start.checkpoint:
        yield f"the checkpoint is read at {MODEL}: MODEL is another place for scripts, MODEL_DIR in compose"
    if program.image == "IMAGE":
        yield "IMAGE is to be filled in: the tag depends on the driver"
    if any(FIRST_SERVER in text for text in texts.values()):
        yield f"scripts of several servers read {FIRST_SERVER} and {RANK}"
    if ROUTER in texts:
        yield f"{ROUTER} reads the addresses of the engines, and needs {program.router['needs']}"
    if COMPOSE not in texts:
        yield f"no {COMPOSE}: the engines need more than one server"
