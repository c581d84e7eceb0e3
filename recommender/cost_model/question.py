"""A question for the cost model: which model runs on which machine, in which phase, with which settings.

Every command that asks the cost model builds its question here, so that all of them treat hardware, sizes
and settings alike. A server named as hardware stands for the device it holds, inside that server.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from kg.errors import InputError, MissingFactError
from kg.terms.circumstances import sizes_of_shape
from kg.triples.model_facts import plain_facts
from recommender.cost_model.anchors import shipped_anchors
from recommender.cost_model.facts.device import UNPACKED, Device
from recommender.cost_model.facts.model import ModelSizes, model_of
from recommender.cost_model.facts.physics import PHYSICS
from recommender.cost_model.machine import NETWORK_FACTS, Machine, device_and_server, machine, told_facts
from recommender.cost_model.measured.correction import RunCorrection
from recommender.cost_model.measured.step_place import place_of
from recommender.cost_model.settings.dialects import LORA_RANK, captured_rows, translate
from recommender.cost_model.settings.plans import PHASES, SERVING, canonical_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.entities import Problem
    from kg.nouns.values import Value
    from kg.triples.hardware_tree import HardwareTree
    from recommender.cost_model.measured.step_place import StepPlace


def _told(facts: Mapping[str, float | str], told: Mapping[str, float | str]) -> dict[str, float | str]:
    """Facts with those of a network that is told in the place of all that is known of it."""
    return {**{name: facts[name] for name in facts if not told or name not in NETWORK_FACTS}, **told}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFacts:
    """The facts that a question rests on, as a search log keeps them.

    Attributes:
        model: Id of the model.
        architecture: Kind of network, such as ``"moe-decoder"``.
        sizes: Facts of the model by name.
        device: Id of the device.
        device_facts: Its facts, inherited ones included.
        server: Id of the server around it; empty if none is known.
        server_facts: Facts of that server.
    """

    model: str
    architecture: str = ""
    sizes: Mapping[str, float | str] = field(default_factory=dict)
    device: str
    device_facts: Mapping[str, float | str]
    server: str = ""
    server_facts: Mapping[str, float | str] = field(default_factory=dict)

    @classmethod
    def look_up(
        cls,
        model: str,
        sizes: Mapping[str, object],
        tree: HardwareTree,
        hardware: str,
        server: str = "",
        *,
        assumed: Mapping[str, float | str] | None = None,
    ) -> Self:
        """The facts of a model and of its hardware.

        Args:
            model: Its id.
            sizes: Its facts by name, with its ``architecture``.
            tree: Knows hardware.
            hardware: Id of a device, or of a server: then what it holds is meant.
            server: Id of the server around the devices; empty if it is not stated.
            assumed: Facts of the device to use where the tree has none.
        """
        device, around = device_and_server(tree, hardware, server)
        more, told = assumed or {}, told_facts(sizes)
        held = (
            {name: value for name, value in tree.facts(around).items() if name not in more} if around else {}
        )
        return cls(
            model=model,
            architecture=str(sizes.get("architecture", "")),
            sizes=plain_facts({name: value for name, value in sizes.items() if name != "architecture"}),
            device=device,
            device_facts=_told({**more, **tree.facts(device)}, told),
            server=around,
            server_facts=_told(held, told),
        )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`.

        Raises:
            KeyError, TypeError: It is none.
        """
        model, device, server = content["model"], content["device"], content["server"] or {}
        return cls(
            model=model["id"],
            architecture=model["architecture"],
            sizes=model["facts"],
            device=device["id"],
            device_facts=device["facts"],
            server=server.get("id", ""),
            server_facts=server.get("facts", {}),
        )

    def to_json(self) -> dict[str, object]:
        """The facts as JSON."""
        server = {"id": self.server, "facts": dict(self.server_facts)}
        return {
            "model": {"id": self.model, "architecture": self.architecture, "facts": dict(self.sizes)},
            "device": {"id": self.device, "facts": dict(self.device_facts)},
            "server": server if self.server else None,
        }

    def model_sizes(self) -> ModelSizes:
        """The model's sizes.

        Raises:
            MissingFactError: One that the architecture cannot do without is unknown.
        """
        return model_of(self.model, self.architecture, self.sizes)

    def checkpoint_precision(self, phase: str) -> str:
        """The format that published weights are served in; empty if that is the device's 16 bit."""
        stored = str(self.sizes.get("weight_format", ""))
        if phase != "serving" or not stored:
            return ""
        device = Device(self.device, self.device_facts)
        computed = device.computed_precision(stored)
        return "" if computed == device.sixteen_bit else computed

    def machine(self, count: int) -> Machine:
        """A number of these devices.

        Raises:
            InputError: Fewer than one.
        """
        held = self.server_facts if self.server else None
        return machine(self.device, self.device_facts, count=count, server=self.server, server_facts=held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question for the cost model.

    Attributes:
        model: Sizes of the model.
        machine: The devices, their server and their number.
        phase: ``"training"`` or ``"serving"``.
        settings: Settings that hold, lengths and precision among them; others have the model's defaults.
        ignored: Stated settings for which the cost model has none, sorted.
        engine: Engine or framework that runs it, such as ``"vllm-ascend"``; empty if not stated.
        version: Its version; empty if not stated.
        measured: What measured runs near by make of its prices.
    """

    model: ModelSizes
    machine: Machine
    phase: str
    settings: Mapping[str, object] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    engine: str = ""
    version: str = ""
    measured: RunCorrection = field(default_factory=RunCorrection)

    def __post_init__(self) -> None:
        """Refuse a phase that the cost model does not know.

        Raises:
            InputError: It does not.
        """
        check_phase(self.phase)

    @classmethod
    def of(
        cls,
        problem: Problem,
        sizes: Mapping[str, Value],
        tree: HardwareTree,
        *,
        server: str = "",
        phase: str = "",
    ) -> Self:
        """The question that a problem asks the cost model.

        Args:
            problem: Model, hardware, lengths, precision and current settings.
            sizes: Facts of the model by name (:func:`model_facts`); sizes that the problem states win.
            tree: Knows hardware.
            server: Id of the server around the devices; empty if it is not stated.
            phase: ``"training"`` or ``"serving"``; that of the problem's workload if empty.

        Raises:
            InputError: The cost model does not know such a phase or workload.
            MissingFactError: A size of the model is unknown, or it is served in a way that is not modelled.
        """
        work = problem.workload
        if not is_step(problem):
            raise InputError("the cost model knows training and serving of a model")
        if sizes.get("architecture") == "diffusion" and (phase or work.kind.value) == "serving":
            raise MissingFactError(f"{work.model} denoises in steps, which are not modelled")
        if sizes.get("architecture") == "audio" and "hidden_size" not in sizes:
            raise MissingFactError(f"{work.model} hears or speaks, which is not modelled")
        stated = {**sizes, **work.shape, **work.traits}
        facts = QuestionFacts.look_up(work.model or "", stated, tree, problem.hardware.name, server)
        engine, version = engine_of(problem.software)
        shared, adapted = work.traits.get("shared_prefix_share"), work.traits.get("lora")
        told = {"prefix_hit": min(shared, PHYSICS["most_shared"])} if isinstance(shared, int | float) else {}
        if isinstance(adapted, bool) and (phase or work.kind.value) == "training":
            told["lora_rank"] = LORA_RANK * adapted
        found = cls.of_facts(
            facts,
            count=problem.hardware.count or 1,
            phase=phase or work.kind.value,
            lengths={**told, **work.traits, **work.shape, **sizes_of_shape({**work.traits, **work.shape})},
            precision=work.precision or facts.checkpoint_precision(phase or work.kind.value),
            current=problem.current or {},
            program=engine,
        )
        rows = captured_rows(engine, version, problem.current or {}, found.settings)
        return replace(found, engine=engine, version=version, settings={**rows, **found.settings})

    @classmethod
    def of_facts(
        cls,
        facts: QuestionFacts,
        *,
        count: int,
        phase: str,
        lengths: Mapping[str, object] | None = None,
        precision: str = "",
        current: Mapping[str, Value] | None = None,
        program: str = "",
    ) -> Self:
        """A question from facts that were looked up.

        Args:
            facts: Of model and hardware.
            count: Devices.
            phase: ``"training"`` or ``"serving"``.
            lengths: Sizes of the work, such as ``seq_len``; others than the cost model's are passed over.
            precision: Number format; empty if it is not stated.
            current: Settings by the names of a framework or of the cost model; they win.
            program: Whose settings they are; empty if that is not known.

        Raises:
            InputError: No such phase, or no device.
            MissingFactError: A size of the model is unknown.
        """
        known = check_phase(phase)
        model = facts.model_sizes()
        place = facts.machine(count)
        layers = int(model.layers) or None
        translated = translate(current or {}, phase, program=program, count=count, layers=layers)
        base = {name: value for name, value in (lengths or {}).items() if name in known}
        if phase == "serving" and model.encodes:
            base["input_len"] = _read_length(facts.sizes, {**base, **(lengths or {})})
        if precision:
            base["precision"] = precision
        settings = {**base, **translated.settings}
        return cls(model=model, machine=place, phase=phase, settings=settings, ignored=translated.untold)

    def translated(self, configuration: Mapping[str, Value]) -> Mapping[str, object]:
        """Settings of the cost model for a configuration of the program that runs, on the device."""
        layers, count = int(self.model.layers) or None, self.machine.count
        found = translate(configuration, self.phase, program=self.engine, count=count, layers=layers).settings
        weights = str(found.get("precision", ""))
        kept = self.machine.device.computed_precision(weights) if weights in UNPACKED else ""
        return {**found, "precision": kept} if kept == UNPACKED.get(weights) else found

    def place(self, settings: Mapping[str, object]) -> StepPlace:
        """The place of a configuration among measured runs."""
        return place_of(self.phase, self.engine, self.machine.device.id, settings)

    def configuration(self, changes: Mapping[str, object]) -> dict[str, object]:
        """The settings of the question with ``changes`` laid over them.

        Requests that are sent at once run at once, shared among the engines, where no batch is stated.
        """
        settings = {**self.settings, **changes}
        sent = settings.get("concurrency")
        if self.phase != "serving" or not isinstance(sent, int | float) or sent < 1:
            return settings
        named = {canonical_name(name): value for name, value in settings.items()}
        if "batch" not in named:
            engines = named.get("data_parallel", 1)
            settings["batch"] = math.ceil(sent / (engines if isinstance(engines, int) and engines > 0 else 1))
        return settings


def _read_length(sizes: Mapping[str, Value], lengths: Mapping[str, object]) -> object:
    """Tokens that an encoder reads: as stated, else a usual prompt, cut where the model ends."""
    stated = next((lengths[name] for name in ("input_len", "seq_len") if name in lengths), None)
    usual, most = int(SERVING["input_len"]), sizes.get("max_positions")
    return stated or (min(usual, most) if isinstance(most, int) else usual)


def engine_of(software: Mapping[str, Value]) -> tuple[str, str]:
    """The engine among versions in use and its version, first one that was measured; else empty."""
    known = shipped_anchors().engines
    named = sorted(
        (name for name in software if name not in BELOW_ENGINES), key=lambda name: name not in known
    )
    return (named[0], str(software[named[0]])) if named else ("", "")


BELOW_ENGINES = frozenset(
    {"cann", "npu-driver", "driver", "torch", "torch-npu", "python", "cuda", "rocm", "hccl"}
)
"""Software that engines rest on: no engine."""


def is_step(problem: Problem) -> bool:
    """Return whether a problem is a step of a model that is named: the cost model knows nothing else."""
    return problem.workload.kind.value in PHASES and bool(problem.workload.model)


def check_phase(phase: str) -> Mapping[str, float | str]:
    """The settings of a phase with their defaults.

    Raises:
        InputError: No such phase.
    """
    if phase not in PHASES:
        raise InputError(f"no phase named {phase!r}", hint=f"known: {', '.join(PHASES)}")
    return PHASES[phase]
