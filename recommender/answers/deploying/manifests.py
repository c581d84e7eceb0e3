"""Engines in containers: services of compose, sets of Kubernetes and LeaderWorkerSet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from recommender.answers.deploying.commands import (
    MODEL,
    NIXL_HOST,
    PORT,
    EngineAddress,
    EnginePlace,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from recommender.answers.deploying.commands import DeployedProgram
    from recommender.ranking.deployments.engines import Engine

_OF_ASCEND = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
_DRIVER = (
    "/usr/local/dcmi", "/usr/local/bin/npu-smi", "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/version.info", "/etc/ascend_install.info",
)  # fmt: skip
"""Devices and files of the driver that each container needs: vllm-ascend, docs/source/installation.md."""
_SHARED_MEMORY = "/dev/shm"  # noqa: S108  it is where Linux mounts it


def compose(engines: Sequence[Engine], program: DeployedProgram) -> dict[str, Any]:
    """All engines on one server, each with devices and ports of its own, and what stands before them."""
    shared = len(engines) > 1 or engines[0].instances > 1
    services: dict[str, Any] = {}
    addresses, taken = [], 0
    for engine in engines:
        for place in range(engine.instances):
            one = EnginePlace(engine=engine, place=place, is_shared=shared)
            devices = range(taken, taken + engine.devices)
            name = f"{engine.role or 'serve'}-{place}" if shared else "serve"
            services[name] = _service_of(one, devices, program)
            addresses.append(one.address)
            taken += engine.devices
    if len(engines) > 1:
        services["router"] = {
            "image": program.image, "network_mode": "host", "entrypoint": [],
            "command": ["bash", "-c", _for_compose(_routing(program, addresses))],
        }  # fmt: skip
    return {"services": services}


def _for_compose(text: str) -> str:
    """A text that compose fills with no variable."""
    return text.replace("$", "$$")


def _for_kubernetes(text: str) -> str:
    """A text that Kubernetes fills with no variable."""
    return re.sub(r"\$(?=[$(])", "$$", text)


def _service_of(one: EnginePlace, devices: range, program: DeployedProgram) -> dict[str, Any]:
    service: dict[str, Any] = {
        "image": program.image, "network_mode": "host", "ipc": "host", "entrypoint": [],
        "command": [_for_compose(word) for word in one.argv()],
        "environment": {name: _for_compose(value) for name, value in one.environment.items()},
        "volumes": [f"${{MODEL_DIR:-{MODEL}}}:{MODEL}:ro"],
    }  # fmt: skip
    if program.resource.startswith("nvidia"):
        ids = [str(number) for number in devices]
        reserved = {"driver": "nvidia", "device_ids": ids, "capabilities": ["gpu"]}
        return service | {"deploy": {"resources": {"reservations": {"devices": [reserved]}}}}
    service["volumes"] += [f"{path}:{path}:ro" for path in _DRIVER]
    return service | {"devices": [*(f"/dev/davinci{number}" for number in devices), *_OF_ASCEND]}


def _routing(program: DeployedProgram, addresses: Sequence[EngineAddress]) -> str:
    needs = str(program.router["needs"])
    installing = f"{needs} && " if needs.startswith("pip ") else ""
    return installing + " ".join(program.router_words(addresses))


def kubernetes(engines: Sequence[Engine], program: DeployedProgram) -> list[dict[str, Any]]:
    """The documents that run the engines in a cluster, and what stands before them."""
    found = [
        document for engine in engines for document in _workload(engine, program, is_alone=len(engines) == 1)
    ]
    if len(engines) > 1:
        found += _router(engines, program)
    return found


def _workload(engine: Engine, program: DeployedProgram, *, is_alone: bool) -> Iterator[dict[str, Any]]:
    """Kubernetes objects that run the engines of one kind, and the service that reaches them."""
    name, one = engine.role or "serve", EnginePlace(engine=engine)
    if engine.servers == 1:
        yield {
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
            "spec": {
                "serviceName": name, "replicas": engine.instances, "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": {"app": name}},
                "template": _template(one, program, name, one.argv()),
            },
        }  # fmt: skip
    else:
        first, further = (_template(one, program, name, ["bash", "-c", _of_group(one, at)]) for at in (0, 1))
        yield {
            "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"name": name},
            "spec": {
                "replicas": engine.instances,
                "leaderWorkerTemplate": {
                    "size": engine.servers, "restartPolicy": "RecreateGroupOnPodRestart",
                    "leaderTemplate": first, "workerTemplate": {"spec": further["spec"]},
                },
            },
        }  # fmt: skip
    met = f"{name}-first" if engine.servers > 1 else name  # a set of groups has a service of its own name
    by_pod = {} if is_alone else {"clusterIP": "None"}
    yield _service(met, {**by_pod, "selector": {"app": name}})


def _service(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A Kubernetes service at the port of the engines."""
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {**spec, "ports": [{"port": PORT}]},
    }  # fmt: skip


def _of_group(one: EnginePlace, server: int) -> str:
    """The command of a server of a group, its place and its first server as LeaderWorkerSet names them."""
    words = one.words(server, first="LWS_LEADER_ADDRESS", rank="LWS_WORKER_INDEX")
    return "exec " + " ".join(words)


def _template(
    one: EnginePlace, program: DeployedProgram, name: str, command: Sequence[str]
) -> dict[str, Any]:
    environment: list[Mapping[str, Any]] = [
        {"name": key, "value": _for_kubernetes(value)} for key, value in one.environment.items()
    ]
    if one.meets_by_nixl:
        environment.append({"name": NIXL_HOST, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
    each = one.engine.devices // one.engine.servers
    container = {
        "name": "engine", "image": program.image,
        "command": [_for_kubernetes(word) for word in command], "env": environment,
        "ports": [{"containerPort": PORT}], "resources": {"limits": {program.resource: each}},
        "volumeMounts": [
            {"name": "model", "mountPath": MODEL, "readOnly": True},
            {"name": "shm", "mountPath": _SHARED_MEMORY},
        ],
    }  # fmt: skip
    volumes = [
        {"name": "model", "hostPath": {"path": MODEL}},
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
    ]
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], "volumes": volumes}}


def _router(engines: Sequence[Engine], program: DeployedProgram) -> list[dict[str, Any]]:
    """The router before engines of both roles, and its service; engines are reached by their pods' names."""
    addresses = [
        EngineAddress(role=one.role, host=f"{one.role}-{place}.{one.role}")
        for one in engines
        for place in range(one.instances)
    ]
    container = {
        "name": "router", "image": program.image, "command": ["bash", "-c", _routing(program, addresses)],
        "ports": [{"containerPort": PORT}],
    }  # fmt: skip
    template = {"metadata": {"labels": {"app": "router"}}, "spec": {"containers": [container]}}
    return [
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "router"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "router"}}, "template": template},
        },
        _service("router", {"selector": {"app": "router"}}),
    ]  # fmt: skip
