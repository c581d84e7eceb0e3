"""The commands that deploy engines: of each on each of its servers, and of what stands before them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.nouns.setting import SettingPlace
from kg.nouns.values import show
from kg.terms.meanings import table
from recommender.cost_model.settings.plans import SERVING
from recommender.ranking.paste import (
    COMMANDS,
    UNNAMED,
    file_words,
    flag_words,
    object_words,
    shell_word,
    wrapped_command,
)
from recommender.ranking.starts.flags.server_flags import FIRST_SERVER, RANK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kg.nouns.values import Value
    from recommender.answers.answer import Answer
    from recommender.ranking.deployments.engines import Engine
    from recommender.ranking.start import StartConfiguration

PORT = 8000
"""Port of an engine that has its server alone, and of what stands before several: vLLM's default."""
MODEL = "/model"
"""Where an engine finds a checkpoint that the question does not name."""
_RESOURCES = {
    "nvidia": "nvidia.com/gpu",
    "ascend-dav-c220": "huawei.com/Ascend910",
    "ascend-910-architecture": "huawei.com/Ascend910",
    "ascend-310p-architecture": "huawei.com/Ascend310P",
}
"""Devices as Kubernetes counts them: the device plugins of NVIDIA and of Ascend (MindCluster)."""
NIXL_HOST, NIXL_PORT = "VLLM_NIXL_SIDE_CHANNEL_HOST", "VLLM_NIXL_SIDE_CHANNEL_PORT"
_PORTS = {"": PORT, "prefill": 8100, "decode": 8200}
"""First port of the engines of a role where all are on one server: those of vLLM's examples of both roles."""
_SIDE = {"prefill": 5600, "decode": 5700}
"""First port by which NIXL of an engine is met: vLLM's docs/features/nixl_connector_usage.md, and 100 on."""
_BOOTSTRAP = 8998
"""Default of ``--disaggregation-bootstrap-port`` (sglang 0.5.23)."""
_CACHE_PORTS = 200
"""Between the ports by which caches of two engines move: beyond one for each device of a server; a choice."""
_TURNS = 4
"""Turns of the load that a run takes at least: a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedProgram:
    """A program as it is deployed on the devices of a maker.

    Attributes:
        image: Of its containers.
        resource: What Kubernetes counts the devices as.
        router: What stands before engines of either role: its command, options for an engine, needs.
    """

    image: str
    resource: str
    router: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, engine: Engine, hardware: Sequence[str]) -> DeployedProgram:
        """The program of an engine.

        Args:
            engine: The engine.
            hardware: The device and what is above it in the tree.

        Raises:
            InputError: Nothing is known of it.
        """
        start, programs = engine.start, table("launches")["programs"]
        known = programs.get(start.framework, {})
        if "image" not in known:
            able = ", ".join(sorted(name for name, one in programs.items() if "image" in one))
            raise InputError(
                f"no files that deploy {start.framework} are known", hint=f"--software of {able}"
            )
        resource = next((_RESOURCES[one] for one in hardware if one in _RESOURCES), "")
        if not resource:
            raise InputError("files that deploy are for devices of NVIDIA and Ascend 910 and 310P")
        if engine.servers > 1 and "roles" not in known:
            raise InputError(f"no files that deploy {start.framework} over several servers are known")
        images = known.get("image_of", {})
        image = next((images[one] for one in hardware if one in images), known["image"])
        return cls(
            image=image.format(version=start.version), resource=resource, router=known.get("router", {})
        )

    def router_words(self, addresses: Sequence[EngineAddress]) -> Iterator[str]:
        """The command of what stands before engines, its options one by one.

        A word of its options that names nothing of an engine stands once, before those of all engines.
        """
        yield str(self.router["command"])
        for role in dict.fromkeys(one.role for one in addresses):
            for word in self.router[role]:
                filled = [
                    word.format(host=one.host, port=one.port, bootstrap=one.bootstrap)
                    for one in addresses
                    if one.role == role
                ]
                yield from filled if "{" in word else filled[:1]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAddress:
    """The address of an engine.

    Attributes:
        role: Of the engine.
        host: Its name or address.
        port: Of its HTTP server.
        bootstrap: By which an engine that decodes meets it, in SGLang.
    """

    role: str
    host: str
    port: int = PORT
    bootstrap: int = _BOOTSTRAP


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePlace:
    """One engine among those that share a server.

    Attributes:
        engine: The engine.
        place: Which of its kind it is, from 0.
        is_shared: Whether others share its server: then ports are its own.
    """

    engine: Engine
    place: int = 0
    is_shared: bool = False

    @property
    def address(self) -> EngineAddress:
        """The address of the engine for others on the same server."""
        role = self.engine.role
        return EngineAddress(
            role=role, host="127.0.0.1", port=_PORTS[role] + self.place, bootstrap=_BOOTSTRAP + self.place
        )

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the start, and where NIXL of an engine is met by those on the same server."""
        start, role = self.engine.start, self.engine.role
        found = {item.key: show(item.value) for item in start.settings if item.where is SettingPlace.ENV}
        if self.is_shared and self.meets_by_nixl:
            found |= {NIXL_HOST: self.address.host, NIXL_PORT: str(_SIDE[role] + self.place)}
        return found

    @property
    def meets_by_nixl(self) -> bool:
        """True if its caches move by NIXL, which must be given the address of its server."""
        settings = self.engine.start.settings
        return any(item.key.endswith("kv_connector") and item.value == "NixlConnector" for item in settings)

    def words(
        self,
        server: int = 0,
        *,
        model: str = MODEL,
        port: str = "",
        first: str = FIRST_SERVER,
        rank: str = RANK,
    ) -> list[str]:
        """Its command, each option as a shell reads it.

        Args:
            server: 0 on its first server, else on another.
            model: Stands for a checkpoint that the question does not name.
            port: Of its HTTP server; empty for its own.
            first: Variable with the address of the first server.
            rank: Variable with the place of a server.
        """
        start, own = self.engine.start, self._own_ports()
        settings = [
            replace(item, value=own[item.key]) if item.key in own else item for item in start.settings
        ]
        named = shell_word(start.checkpoint) if start.checkpoint else model
        words = [
            COMMANDS[start.framework].replace(UNNAMED, named),
            *flag_words(settings),
            *object_words(settings),
            *file_words(settings, start.framework)[0],
        ]
        words = [word.replace(FIRST_SERVER, f"${first}").replace(f" {RANK}", f" ${rank}") for word in words]
        local = next((item.value for item in settings if item.key == "--data-parallel-size-local"), None)
        if server and local is not None:
            return [*words, "--headless", f"--data-parallel-start-rank $(({local} * {rank}))"]
        if self.is_shared and self.place and self.engine.role == "prefill" and start.framework == "sglang":
            words.append(f"--disaggregation-bootstrap-port {self.address.bootstrap}")
        port = port or str(self.address.port if self.is_shared else PORT)
        return [*words, "--host 0.0.0.0", f"--port {port}"]

    @property
    def files(self) -> list[str]:
        """The lines by which a shell writes the files that its command is told."""
        return file_words(self.engine.start.settings, self.engine.start.framework)[1]

    def argv(self) -> list[str]:
        """Its command on its only server as words, behind a shell that writes its files where it has some."""
        if self.files:
            return ["bash", "-c", "\n".join([*self.files, f"exec {' '.join(self.words())}"])]
        return shlex.split(" ".join(self.words()))

    def _own_ports(self) -> Mapping[str, Value]:
        key = "kv_transfer_config.kv_port"
        now = next((str(item.value) for item in self.engine.start.settings if item.key == key), "")
        moves = self.is_shared and self.place and now.isdigit()
        return {key: str(int(now) + _CACHE_PORTS * self.place)} if moves else {}


def test_of(answer: Answer, start: StartConfiguration, otherwise: str) -> str:
    """The command that tests a start, by the benchmark of its engine itself where one is known.

    Args:
        answer: Of the start.
        start: What is tested.
        otherwise: The benchmark where none is known.
    """
    programs, priced = table("launches")["programs"], answer.priced
    own = programs.get(start.framework, {})
    bench = {**programs.get(own.get("as", ""), {}), **own}.get("bench")
    model, words = start.checkpoint or UNNAMED, [f"--command '{otherwise} {{options}}'"]
    is_read = bool(start.expected) and start.expected[0].metric == "throughput" and "'" not in model
    if bench and priced and start.layout and is_read and (start.layout.dp == 1 or bench["copies"]):
        told = {**SERVING, **priced.settings}
        sizes = {name: int(float(str(told[name]))) for name in ("input_len", "output_len", "batch")}
        requests = sizes["batch"] * start.layout.dp * _TURNS
        program, *rest = (word.format(model=model, requests=requests, **sizes) for word in bench["words"])
        words = [f"--pattern '{bench['pattern']}'", f"--command '{program}", *rest, "{options}'"]
    return "\n".join(wrapped_command([f"tunegraph ab run --recommendation {start.id}", *words]))
