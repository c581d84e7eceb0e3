"""Engines as files that deploy them: a script for each role, compose, Kubernetes, LeaderWorkerSet.

Each file is read back by the reader of launches before it is left on disk: it must launch every engine with the
settings of its start.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ingest.questions.launches.running import running_settings
from kg.errors import InputError
from kg.nouns.setting import SettingPlace
from kg.nouns.values import show
from kg.terms.meanings import table
from kg.terms.purposes import plain_key
from kg.whole_files import write_text
from recommender.ranking.paste import COMMANDS, UNNAMED, flag_words, object_words, shell_word, wrapped_command
from recommender.ranking.starts.server_flags import FIRST_SERVER, RANK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from recommender.answers.deploying.engines import Engine

PORT = 8000
"""Port of an engine, and of what stands before several: vLLM's default."""
_PORTS = {"": 8000, "prefill": 8100, "decode": 8200}
"""First port of the engines of a role where all are on one server: those of vLLM's examples of both roles."""
_SIDE = {"prefill": 5600, "decode": 5700}
"""First port by which NIXL of each engine is met: vLLM's docs/features/nixl_connector_usage.md, and 100 on."""
_BOOTSTRAP = 8998
"""Port of ``--disaggregation-bootstrap-port`` in SGLang 0.5."""
_MODEL = "/model"
_OF_MODEL = frozenset({"model", "model_path"})
_FILLED = re.compile(rf"{FIRST_SERVER}|{RANK}|SECRET")
_RESOURCES = {"nvidia": "nvidia.com/gpu", "huawei": "huawei.com/Ascend910"}
"""Devices as Kubernetes counts them: the device plugins of NVIDIA and of Ascend (MindCluster)."""
_OF_ASCEND = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
_DRIVER = (
    "/usr/local/dcmi", "/usr/local/bin/npu-smi", "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/version.info", "/etc/ascend_install.info",
)  # fmt: skip
"""Devices and files of the driver that a container needs beside its own: vllm-ascend, docs/source/installation.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentFiles:
    """Files that deploy a decision.

    Attributes:
        texts: The files by name.
        fill_in: What a user fills in, a line each.
    """

    texts: Mapping[str, str]
    fill_in: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write them all or none into a new folder.

        Raises:
            InputError: Something of this name is there.
        """
        beside = folder.with_name(f".{folder.name}.part")
        if folder.exists():
            raise InputError(f"{folder} exists", hint="name a folder that does not")
        beside.mkdir()
        try:
            for name, text in self.texts.items():
                write_text(beside / name, text)
                if name.endswith(".sh"):
                    (beside / name).chmod(0o755)
            beside.rename(folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Program:
    """What is known of deploying a program on a maker's devices."""

    image: str
    maker: str
    router: Mapping[str, str]


def deployment_files(engines: Sequence[Engine], hardware: Sequence[str], on_server: int) -> DeploymentFiles:
    """The files of the engines of a decision, each read back.

    Args:
        engines: Of one kind, or of either role.
        hardware: The device and what is above it in the tree.
        on_server: Devices of a server.

    Raises:
        InputError: The program, the device or the settings have no such form.
    """
    program = _program(engines[0], hardware)
    texts: dict[str, str] = {}
    for engine in engines:
        name = engine.role or "serve"
        if engine.servers > 1:
            texts[f"{name}-first.sh"] = _script(engine, 0)
            texts[f"{name}-next.sh"] = _script(engine, 1)
        else:
            texts[f"{name}.sh"] = _script(engine, 0)
    if len(engines) > 1:
        hosts = [(one, f"${{{one.role.upper()}_{k}:?address of {one.role} engine {k}}}", _port(one, k, scripts=True))
                 for one in engines for k in range(one.instances)]  # fmt: skip
        texts["router.sh"] = _SHELL + _router(program, hosts) + "\n"
    if sum(one.devices * one.instances for one in engines) <= on_server:
        texts["compose.yaml"] = _yaml(_compose(engines, program))
    parts = [document for engine in engines for document in _workloads(engine, program, on_server)]
    if len(engines) > 1:
        parts += _routed(engines, program)
    several = any(one.servers > 1 for one in engines)
    texts["leaderworkerset.yaml" if several else "kubernetes.yaml"] = "---\n".join(map(_yaml, parts))
    for name, text in texts.items():
        if name != "router.sh":
            _read_back(name, text, engines)
    return DeploymentFiles(texts=texts, fill_in=tuple(_fill_in(engines, program, texts)))


def _program(engine: Engine, hardware: Sequence[str]) -> _Program:
    start = engine.start
    known = table("launches")["programs"].get(start.framework, {})
    maker = hardware[-1] if hardware else ""
    if "image" not in known or start.framework not in COMMANDS:
        able = ", ".join(sorted(name for name, one in table("launches")["programs"].items() if "image" in one))
        raise InputError(f"no files that deploy are known for {start.framework}", hint=f"--software of: {able}")
    if maker not in _RESOURCES:
        raise InputError(f"files that deploy are for devices of NVIDIA and Ascend, not of {maker or 'others'}")
    if any(item.where is SettingPlace.YAML or item.where is SettingPlace.CODE for item in start.settings):
        raise InputError("the settings of this start stand in files of their own", hint="--format writes them")
    of_maker = known.get("images_of", {}).get(maker, known["image"])
    tag = of_maker.format(version=start.version)
    is_a3 = any(name in {"ascend-a3", "ascend-910c"} for name in hardware)
    return _Program(image=tag + (known.get("a3", "") if is_a3 else ""), maker=maker, router=known.get("router", {}))


def _port(engine: Engine, place: int, *, scripts: bool = False) -> int:
    """The port of an engine among those on one server; that of all where each has an address of its own."""
    return PORT if scripts else _PORTS[engine.role] + place


def _environment(engine: Engine) -> dict[str, str]:
    return {item.key: show(item.value) for item in engine.start.settings if item.where is SettingPlace.ENV}


def _words(engine: Engine, server: int, model: str, port: str) -> list[str]:
    """The command of an engine on its first server, or on another, as words that a shell reads."""
    start = engine.start
    named = shell_word(start.checkpoint) if start.checkpoint else model
    words = [COMMANDS[start.framework].replace(UNNAMED, named)]
    words += [*flag_words(start.settings), *object_words(start.settings), "--host 0.0.0.0", f"--port {port}"]
    local = next((item.value for item in start.settings if item.key == "--data-parallel-size-local"), None)
    if server and local is not None:
        words = [word for word in words if not word.startswith(("--host ", "--port "))]
        words += ["--headless", f"--data-parallel-start-rank $(({local} * {RANK}))"]
    return words


_SHELL = "#!/usr/bin/env bash\nset -euo pipefail\n"


def _script(engine: Engine, server: int) -> str:
    """The script of an engine on one of its servers."""
    rank = "0" if not server else f"${{{RANK}:?1 on the second server, 2 on the third, and so on}}"
    first = f"${{{FIRST_SERVER}:?address of the first server}}"
    words = _words(engine, server, f'"${{MODEL:-{_MODEL}}}"', '"${PORT:-8000}"')
    lines = [f"export {name}={shell_word(value)}" for name, value in _environment(engine).items()]
    if engine.role and engine.start.framework == "vllm":
        lines.append('export VLLM_NIXL_SIDE_CHANNEL_HOST="${VLLM_NIXL_SIDE_CHANNEL_HOST:?address of this server}"')
    words = [re.sub(rf"\$\(\((\d+) \* {RANK}\)\)", rf"$((\1 * {RANK}))", word) for word in words]
    if server:
        lines.append(f": {rank}")
    text = [
        word if "$((" in word else word.replace(FIRST_SERVER, first).replace(RANK, f"${{{RANK}:-0}}") for word in words
    ]
    return _SHELL + "".join(f"{line}\n" for line in [*lines, *wrapped_command(text)])


def _argv(engine: Engine, port: int) -> list[str]:
    """The command of an engine on one server as words."""
    import shlex

    return shlex.split(" ".join(_words(engine, 0, _MODEL, str(port))))


def _router(program: _Program, hosts: Sequence[tuple[Engine, str, int]]) -> str:
    """The command of what stands before the engines."""
    words = [program.router["command"]]
    for engine, host, port in hosts:
        words.append(program.router[engine.role].format(url=f"http://{host}:{port}", host=host, port=port))
    return " \\\n  ".join(words)


def _compose(engines: Sequence[Engine], program: _Program) -> dict[str, Any]:
    services: dict[str, Any] = {}
    taken, hosts = 0, []
    for engine in engines:
        for place in range(engine.instances):
            devices = list(range(taken, taken + engine.devices))
            taken += engine.devices
            port = _port(engine, place)
            environment = _environment(engine) | _apart_environment(engine, place)
            service: dict[str, Any] = {
                "image": program.image, "network_mode": "host", "ipc": "host",
                "entrypoint": [], "command": _argv(_moved(engine, place), port),
                "environment": environment, "volumes": [f"${{MODEL_DIR:-{_MODEL}}}:{_MODEL}:ro"],
            }  # fmt: skip
            services[f"{engine.role or 'serve'}-{place}" if len(engines) > 1 else "serve"] = service
            if program.maker == "nvidia":
                ids = [str(one) for one in devices]
                reserved = {"driver": "nvidia", "device_ids": ids, "capabilities": ["gpu"]}
                service["deploy"] = {"resources": {"reservations": {"devices": [reserved]}}}
            else:
                service["devices"] = [*(f"/dev/davinci{one}" for one in devices), *_OF_ASCEND]
                service["volumes"] += [f"{path}:{path}:ro" for path in _DRIVER]
            hosts.append((engine, "127.0.0.1", port))
    if len(engines) > 1:
        command = _router(program, hosts).replace("\\\n", " ")
        services["router"] = {
            "image": program.image, "network_mode": "host", "entrypoint": [],
            "command": ["bash", "-c", _installed(program) + command],
        }  # fmt: skip
    return {"services": services}


def _installed(program: _Program) -> str:
    needs = program.router.get("needs", "")
    return f"{needs} && " if needs.startswith("pip ") else ""


def _apart_environment(engine: Engine, place: int) -> dict[str, str]:
    """Where NIXL of an engine is met by those on the same server."""
    if not engine.role or engine.start.framework != "vllm":
        return {}
    return {"VLLM_NIXL_SIDE_CHANNEL_HOST": "127.0.0.1",
            "VLLM_NIXL_SIDE_CHANNEL_PORT": str(_SIDE[engine.role] + place)}  # fmt: skip


def _moved(engine: Engine, place: int) -> Engine:
    """The same with ports that no other engine on its server has."""
    settings = []
    for item in engine.start.settings:
        if place and item.key == "kv_transfer_config.kv_port":
            item = replace(item, value=str(int(str(item.value)) + 200 * place))
        settings.append(item)
    return replace(engine, start=replace(engine.start, settings=tuple(settings)))


def _workloads(engine: Engine, program: _Program, on_server: int) -> Iterator[dict[str, Any]]:
    """What runs the engines of a kind in Kubernetes, and the service by which they are met."""
    name = engine.role or "serve"
    labels = {"app": name}
    each = engine.devices // engine.servers
    if engine.servers == 1:
        yield {
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
            "spec": {
                "serviceName": name, "replicas": engine.instances, "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": _pod(engine, program, each, _argv(engine, PORT))},
            },
        }  # fmt: skip
        yield _service(name, labels)
        return
    templates = [_pod(engine, program, each, ["bash", "-c", _of_group(engine, server)]) for server in (0, 1)]
    yield {
        "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": name},
        "spec": {
            "replicas": engine.instances,
            "leaderWorkerTemplate": {
                "size": engine.servers, "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": {"metadata": {"labels": labels}, "spec": templates[0]},
                "workerTemplate": {"spec": templates[1]},
            },
        },
    }  # fmt: skip
    yield _service(f"{name}-first", labels)


def _of_group(engine: Engine, server: int) -> str:
    """The command of a server of a group, its place and its first server as LeaderWorkerSet names them."""
    text = " ".join(_words(engine, server, _MODEL, str(PORT)))
    return "exec " + text.replace(FIRST_SERVER, "$LWS_LEADER_ADDRESS").replace(f" {RANK}", " $LWS_WORKER_INDEX")


def _pod(engine: Engine, program: _Program, devices: int, command: Sequence[str]) -> dict[str, Any]:
    environment: list[dict[str, Any]] = [{"name": key, "value": value} for key, value in _environment(engine).items()]
    if engine.role and engine.start.framework == "vllm":
        field = {"fieldRef": {"fieldPath": "status.podIP"}}
        environment.append({"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": field})
    return {
        "containers": [
            {
                "name": "engine", "image": program.image, "command": list(command), "env": environment,
                "ports": [{"containerPort": PORT}],
                "resources": {"limits": {_RESOURCES[program.maker]: devices}},
                "volumeMounts": [
                    {"name": "model", "mountPath": _MODEL, "readOnly": True},
                    {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108  it is the shared memory of the engine
                ],
            }
        ],
        "volumes": [
            {"name": "model", "hostPath": {"path": _MODEL}},
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
        ],
    }  # fmt: skip


def _service(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"clusterIP": "None", "selector": dict(labels), "ports": [{"port": PORT}]},
    }  # fmt: skip


def _routed(engines: Sequence[Engine], program: _Program) -> list[dict[str, Any]]:
    """What stands before engines of either role in Kubernetes."""
    hosts = [(one, f"{one.role}-{k}.{one.role}", PORT) for one in engines for k in range(one.instances)]
    labels = {"app": "router"}
    command = ["bash", "-c", _installed(program) + _router(program, hosts).replace("\\\n", " ")]
    container = {"name": "router", "image": program.image, "command": command, "ports": [{"containerPort": PORT}]}
    deployment = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "router"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }  # fmt: skip
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "router"},
               "spec": {"selector": labels, "ports": [{"port": PORT}]}}  # fmt: skip
    return [deployment, service]


def _yaml(content: Mapping[str, Any]) -> str:
    import yaml

    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000)
    return text


def _read_back(name: str, text: str, engines: Sequence[Engine]) -> None:
    """Refuse a file whose launches do not have the settings of their starts.

    Raises:
        InputError: One has not.
    """
    role = name.partition("-")[0].removesuffix(".sh")
    asked = [one for one in engines if not name.endswith(".sh") or role in {one.role, "serve"}]
    launches = [one for one in asked for _ in range(one.instances if name == "compose.yaml" else 1 + (one.servers > 1 and not name.endswith(".sh")))]
    for number, engine in enumerate(launches, 1):
        wanted = _settings("\n".join(engine.start.paste_lines), 1)
        found = _settings(text, number)
        lacking = [
            key
            for key, value in wanted.items()
            if found.get(key) != value and not _FILLED.search(value) and key != "kv_transfer_config.kv_port"
        ]
        if lacking:
            raise InputError(f"{name}: {lacking[0]} is not read back as it was written", hint="--write writes a script")


def _settings(text: str, server: int) -> dict[str, str]:
    found = {plain_key(item.key): item.value for item in running_settings(text, server=server)}
    return {key: value for key, value in found.items() if key not in _OF_MODEL}


def _fill_in(engines: Sequence[Engine], program: _Program, texts: Mapping[str, str]) -> Iterator[str]:
    if not engines[0].start.checkpoint:
        yield f"the checkpoint at {_MODEL} of each server, or MODEL (scripts) and MODEL_DIR (compose)"
    if any(one.servers > 1 for one in engines):
        yield f"{FIRST_SERVER} in scripts; {RANK} in those of further servers"
    if "router.sh" in texts:
        yield "the addresses that router.sh asks for"
        yield f"the router itself: {program.router['needs']}"
    if "compose.yaml" not in texts:
        yield "no compose.yaml: the engines need more than one server"
