"""Remedies against a cause, as far as the run allows them: its vendor, programs, phase and settings."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from ingest.profiles.checks import GPU_LAYOUTS, MINDSPORE, NSIGHT, PYTORCH, ROCPROF
from ingest.profiles.facts.run import Profile
from kg.nouns.effects import Effect
from kg.nouns.entities import Kind
from kg.nouns.framework import Framework
from kg.nouns.knowledge import FactKind, Strategy
from kg.terms.conditions import FactValue, Truth
from recommender.applicability.gate import judge
from recommender.applicability.scope import already_set
from recommender.diagnosis.diagnosis import Finding
from recommender.diagnosis.rank.collectives import LOCAL
from recommender.diagnosis.rank.kinds import PRODUCTS, of_kind
from recommender.diagnosis.rank.program_signs import signs_of

MOST_REMEDIES = 3
_KINDS = 3
"""Effects told of a strategy: those with most evidence."""
LIKELY_BEHIND = 0.1
"""Chance from which what may be behind a cause is treated: one in ten."""
NEARLY_ALL = 0.95
"""Share of the time of products in one type from which the run is said to be in it."""
LEAST_OF_AUTOCAST = 0.05
"""That share where the stack shows autocast: one that is entered and switched off leaves none."""

_TORCH = frozenset({"torch", "apex", "cuda", "nccl", "host", "triton"})
"""Software whose settings a program of PyTorch on GPUs reads."""
_ROCM = frozenset({"torch", "hip", "miopen", "rccl", "nccl", "host", "triton"})
"""The same on AMD's; RCCL reads NCCL's variables."""
_OF_DDP = frozenset({"gradient_as_bucket_view", "bucket_cap_mb", "static_graph", "ddp_comm_hook"})
"""Arguments of PyTorch's DistributedDataParallel, in whose place Megatron has its own."""
_MEGATRON = frozenset({"megatron-lm", "mindspeed", "mindspeed-llm"})
_HALF_TYPES = {"bf16": ("BF16", "BFLOAT16"), "fp16": ("FLOAT16", "FP16", "HALF")}
"""Types of tensors by the flag of Megatron that makes them."""
_OWN_KERNELS = {
    "amd": ("Cijk_", "MIOpen", "miopen", "rccl", "gfx9"),
    "nvidia": ("cutlass", "cudnn", "cublas", "volta_", "turing_", "ampere_", "sm80_", "sm90_", "nvjet"),
}
"""Parts of names of kernels by the vendor whose libraries have them."""
_DEGREES = {
    "tp": "tensor_model_parallel_size", "pp": "pipeline_model_parallel_size", "dp": "data_parallel_size",
    "cp": "context_parallel_size", "ep": "expert_model_parallel_size",
}  # fmt: skip
"""Degrees of a layout by the names under which Megatron's profiler notes them."""
_OF_TIME = frozenset({"throughput", "output_throughput", "total_throughput", "latency", "ttft", "tpot"})
"""Objectives that a diagnosis may serve: it is of lost time, and of no energy."""
_AT_LEAST = frozenset(
    {"ACLNN_CACHE_LIMIT", "HOST_CACHE_CAPACITY", "num_workers", "prefetch_factor", "bucket_cap_mb"}
)
"""Sizes of caches, queues and buckets: who has more than is advised is not told to have less."""
_PRECISIONS = {"bf16": "bfloat16", "fp16": "float16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A strategy against a cause.

    Attributes:
        strategy: What.
        against: Id of the node of the chain that it is for.
        effects: What was seen of it, most evidence first.
        condition: What would have to hold for it, as far as the run does not tell; empty if nothing is open.
        in_force: Names of its settings that are in force already.
        now: What the run has of those that it would change.
    """

    strategy: Strategy
    against: str
    effects: tuple[Effect, ...]
    condition: str = ""
    in_force: frozenset[str] = frozenset()
    now: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> list[str]:
        """The settings as people write them, less those in force."""
        return [item.text for item in self.strategy.sets if item.parameter not in self.in_force]

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {
            "strategy": self.strategy.id,
            "label": self.strategy.label,
            "against": self.against,
            "settings": self.settings,
            "now": dict(self.now),
            "if": self.condition or None,
            "accuracy": self.strategy.accuracy,
            "requires": [item.target for item in self.strategy.requires],
            "not_where": [item.target for item in self.strategy.contraindicated_by],
            "applies_when": [item.condition for item in self.strategy.applies_when],
            "caveats": [item.text for item in self.strategy.caveats],
            "sources": [source.url or source.title for source in self.strategy.sources],
            "cases": [
                {
                    "metric": effect.metric,
                    "kind": str(effect.kind),
                    "n": effect.n,
                    "mean_factor": round(math.exp(effect.mean or 0.0), 4),
                    **effect.context.to_json(),
                }
                for effect in self.effects
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledRun:
    """The run of a profile, as far as advice must fit it.

    Attributes:
        facts: Facts of conditions: hardware, phase, precision, versions, settings.
        current: Settings that are in force: environment, parallel sizes, the type of products.
        readable: Software whose settings the run reads.
        broader: The broader pattern of each pattern that has one.
    """

    facts: Mapping[str, FactValue]
    current: Mapping[str, object]
    readable: frozenset[str]
    broader: Mapping[str, str]

    @classmethod
    def of(
        cls,
        profile: Profile,
        hardware: Iterable[str],
        frameworks: Iterable[Framework],
        *,
        broader: Mapping[str, str],
        is_training: bool,
        model: frozenset[str] = frozenset(),
    ) -> Self:
        """Read what a profile tells.

        Args:
            profile: The run.
            hardware: Names of where it ran, with what is above them; all that it may be where unknown.
            frameworks: Those that the graph knows.
            broader: The broader pattern of each pattern that has one.
            is_training: A backward pass or an optimiser ran.
            model: The names by which a scope may mean the model; what its kernels tell if empty.
        """
        current = _settings(profile)
        software = {name: version for rank in profile.ranks for name, version in rank.software.items()}
        facts: dict[str, FactValue] = {f"setting[{name}]": str(value) for name, value in current.items()}
        facts["objective"] = _OF_TIME
        facts |= {f"software[{name}]": version for name, version in software.items() if version}
        if names := frozenset(hardware):
            facts["hardware"] = names
        if is_training:
            facts["phase"] = "training"
        if isinstance(world := current.get("world_size"), str) and world.isdecimal():
            facts["devices"] = int(world)
        for fact, name in _DEGREES.items():
            if isinstance(told := current.get(name), str) and told.isdecimal():
                facts[fact] = int(told)
        if is_on_one_server(profile):
            facts["nodes"] = 1
        if kinds := model or _model_kinds(profile):
            facts["model"] = kinds
        linked = {end for rank in profile.ranks for link in rank.links for end in (link.source, link.target)}
        if "devices" not in facts and len(linked) > 1:
            facts["devices"] = len(linked)
        if frameworks_named := _frameworks(software, current, {rank.layout for rank in profile.ranks}):
            facts["framework"] = frameworks_named
        if half := next((name for name in _HALF_TYPES if current.get(name)), ""):
            facts["precision"] = _PRECISIONS[half]
        return cls(
            facts=facts,
            current=current,
            readable=_readable(profile, frameworks, is_training),
            broader=broader,
        )

    def seeing(self, finding: Finding) -> Self:
        """The run with what a finding shows: conditions of advice ask for it."""
        cause = finding.cause
        shares = {item.node: item.share for item in cause.evidence} | dict.fromkeys(cause.chain, cause.share)
        for node in list(shares):
            wide = node
            while wide := self.broader.get(wide, ""):
                shares[wide] = max(shares.get(wide, 0.0), shares[node])
        seen: dict[str, FactValue] = {f"bottleneck[{node}]": share for node, share in shares.items()}
        return replace(self, facts={**self.facts, **seen})

    def in_force(self, strategy: Strategy) -> frozenset[str]:
        """Names of the settings of a strategy that the run has already, or more of where more is enough."""
        return frozenset(
            item.parameter
            for item in strategy.sets
            if already_set(replace(strategy, sets=(item,)), self.current)
            or (item.parameter in _AT_LEAST and _has_more(self.current.get(item.parameter), item.value))
        )

    def now(self, strategy: Strategy) -> Mapping[str, str]:
        """Current values of the settings that a strategy would change."""
        held = self.in_force(strategy)
        names = [item.parameter for item in strategy.sets if item.parameter not in held]
        return {name: str(self.current[name]) for name in names if name in self.current}

    def is_foreign(self, strategy: Strategy) -> bool:
        """Return whether a strategy is for other hardware, or sets what no program of the run reads."""
        names = self.facts.get("hardware")
        is_elsewhere = isinstance(names, frozenset) and not names & set(strategy.hardware)
        if strategy.hardware and is_elsewhere:
            return True
        if self.readable & _MEGATRON and any(item.parameter in _OF_DDP for item in strategy.sets):
            return True
        return any(item.software and item.software not in self.readable for item in strategy.sets)

    def needs_other_programs(self, strategy: Strategy) -> bool:
        """Return whether a strategy is of programs of which the profile shows none."""
        told = " ".join(clause.condition for clause in strategy.applies_when)
        named = set(re.findall(r'software\["([^"]+)"\]', told)) - {"torch", "cann"}
        shown = self.readable | {name for name in named if f"software[{name}]" in self.facts}
        return bool(named) and not named & shown

    def refuses(self, strategy: Strategy) -> bool:
        """Return whether a strategy is for something else, or in force already."""
        is_all = bool(strategy.sets) and len(self.in_force(strategy)) == len(strategy.sets)
        if is_all or already_set(strategy, self.current) or self.is_foreign(strategy):
            return True
        return judge(strategy, self.facts).truth is Truth.FAILS

    def open_condition(self, strategy: Strategy) -> str:
        """The condition of a strategy that the run leaves undecided; empty if it decides all."""
        verdict = judge(strategy, self.facts)
        return verdict.because if verdict.truth is Truth.UNKNOWN else ""


def _has_more(now: object, wanted: object) -> bool:
    """Return whether a number that the run has is no less than one that is advised."""
    try:
        return float(str(now)) >= float(str(wanted))
    except ValueError:
        return False


def is_on_one_server(profile: Profile) -> bool:
    """Return whether all that was moved between ranks went over links within a server."""
    ways = {item.transport for rank in profile.ranks for item in rank.links}
    ways |= {t.transport for rank in profile.ranks for item in rank.collectives for t in item.transfers}
    return bool(ways - {LOCAL}) and "RDMA" not in ways


_MARKS = (
    (("moegating", "moetoken", "moeinit", "moefinalize", "groupedmatmul", "fusedmoe"), "moe-decoder"),
    (("rope", "rotary", "rmsnorm", "swiglu"), "decoder"),
)
"""Kinds of kernels that a model of a kind alone has; the first counts."""
_OF_IMAGES = frozenset({"vision", "audio", "other"})
"""Families of networks that convolve and neither attend nor normalise with layers."""


def _model_kinds(profile: Profile) -> frozenset[str]:
    """Kinds that the model may be, judged by its kernels; empty where they do not say."""
    kernels = [rank.kernels for rank in profile.ranks if rank.kernels is not None]
    labels = " ".join(label.lower() for held in kernels for label in held.label.labels)
    for marks, kind in _MARKS:
        if any(mark in labels for mark in marks):
            return frozenset({kind, "transformer", "multimodal"})
    if "conv2d" in labels and "attention" not in labels and "layernorm" not in labels:
        return _OF_IMAGES
    return frozenset()


def _frameworks(
    software: Mapping[str, str], current: Mapping[str, object], layouts: AbstractSet[str]
) -> frozenset[str]:
    """Frameworks that may run the program; empty where the profile does not say."""
    if "torch-npu" not in software and PYTORCH not in layouts:
        return frozenset({"mindspore"} & software.keys())
    return frozenset({"torch-npu"}) if "pipeline_model_parallel_size" not in current else _MEGATRON


def vendor_of(profile: Profile) -> str:
    """The vendor of the devices, from the kind of the profile and the runtime's calls; empty if unknown."""
    layouts = {rank.layout for rank in profile.ranks}
    if layouts <= {NSIGHT}:
        return "nvidia"
    if layouts <= {ROCPROF}:
        return "amd"
    if layouts - set(GPU_LAYOUTS):
        return "huawei"
    names = [call.name for rank in profile.ranks for call in rank.calls if call.level == "runtime"]
    devices = " ".join(rank.device.lower() for rank in profile.ranks)
    if any(name.startswith("hip") for name in names) or "amd" in devices or "instinct" in devices:
        return "amd"
    if any(name.startswith("cu") for name in names) or "nvidia" in devices:
        return "nvidia"
    kernels = [
        label
        for rank in profile.ranks
        if rank.kernels is not None
        for label in rank.kernels.texts["name"].labels
    ]
    for vendor, marks in _OWN_KERNELS.items():
        if any(mark in name for name in kernels for mark in marks):
            return vendor
    return ""


def hardware_names(
    profile: Profile,
    place: str,
    strategies: Iterable[Strategy],
    path: Callable[[str], Sequence[str]],
) -> frozenset[str]:
    """Names of the hardware of a run, with what is above it; all of its vendor where no device is known.

    Args:
        profile: The run.
        place: Id of the device; empty if unknown.
        strategies: What may be advised.
        path: The way from a node of the hardware tree to its root.
    """
    if place:
        return frozenset(path(place))
    vendor = vendor_of(profile)
    vendors = {vendor} if vendor else set()
    if not vendor and {rank.layout for rank in profile.ranks} <= set(GPU_LAYOUTS):
        vendors = {"nvidia", "amd"}
    mentioned = {name for strategy in strategies for name in strategy.hardware}
    return frozenset(name for name in mentioned if vendors & set(path(name))) | vendors


def remedies_for(
    finding: Finding, strategies: Sequence[Strategy], effects: Sequence[Effect], run: ProfiledRun
) -> tuple[Remedy, ...]:
    """Against the cause first, then what is likely behind it; the better known first.

    What its symptoms are treated with is no remedy: hiding communication does not end a wait. Nor is what is
    only claimed.
    """
    cause, run = finding.cause, run.seeing(finding)
    # Strategies are against bottlenecks: a habit or a setting is ended by what ends its effect.
    own = cause.chain[-1:] if cause.node in run.broader else cause.chain[-2:]
    wanted = [*reversed(own), *(name for name, chance in cause.perhaps if chance >= LIKELY_BEHIND)]
    found: list[Remedy] = []
    for strategy in strategies:
        targets = {relation.target for relation in strategy.mitigates}
        against = next((node for node in wanted if node in targets), None)
        mine = [e for e in effects if e.strategy == strategy.id and e.n and e.kind is not Kind.CLAIMED]
        if against is None or run.refuses(strategy) or (strategy.kind == FactKind.CLAIMED and not mine):
            continue
        if against == "collective-wait" and "data-parallel-communication" in targets:
            continue
        mine.sort(key=lambda e: -e.n)
        found.append(
            Remedy(
                strategy=strategy,
                against=against,
                effects=tuple(mine[:_KINDS]),
                condition=run.open_condition(strategy),
                in_force=run.in_force(strategy),
                now=run.now(strategy),
            )
        )
    found.sort(
        key=lambda r: (
            wanted.index(r.against),
            run.needs_other_programs(r.strategy),
            bool(r.condition),
            not r.now,  # a setting that the run shows to be otherwise
            -len(r.effects),
            r.strategy.id,
        )
    )
    return tuple(found[:MOST_REMEDIES])


def _settings(profile: Profile) -> dict[str, object]:
    """Settings in force on all ranks that note them; the type that nearly all products have."""
    noted: dict[str, set[str]] = {}
    for rank in profile.ranks:
        for source in (rank.environment, rank.parallel):
            for name, value in source.items():
                if str(value).strip():
                    noted.setdefault(name, set()).add(str(value))
    current: dict[str, object] = {name: values.pop() for name, values in noted.items() if len(values) == 1}
    if {rank.layout for rank in profile.ranks} <= set(GPU_LAYOUTS):
        current = {**signs_of(profile), **current}
    least = LEAST_OF_AUTOCAST if current.pop("autocast", False) else NEARLY_ALL
    if half := _product_type(profile, least):
        current |= {half: True, "torch.autocast": _PRECISIONS[half]}
    return current


def _product_type(profile: Profile, least: float) -> str:
    """``bf16`` or ``fp16`` where that share of the time of products has that type; empty otherwise."""
    total = 0.0
    times = dict.fromkeys(_HALF_TYPES, 0.0)
    for rank in profile.ranks:
        if rank.kernels is None:
            continue
        products = of_kind(rank.kernels, PRODUCTS)
        time = np.nan_to_num(rank.kernels.duration_us)
        types = rank.kernels.texts["input_types"]
        first = [label.split(";")[0].strip().upper().removeprefix("DT_") for label in types.labels]
        total += float(time[products & types.where(bool(label) for label in first)].sum())
        for name, labels in _HALF_TYPES.items():
            times[name] += float(time[products & types.where(label in labels for label in first)].sum())
    return next((name for name, spent in times.items() if total > 0 and spent >= least * total), "")


def _readable(profile: Profile, frameworks: Iterable[Framework], is_training: bool) -> frozenset[str]:
    """Software whose settings the run reads: what it names, what stands below, and what its stack shows."""
    layouts = {rank.layout for rank in profile.ranks}
    if layouts <= set(GPU_LAYOUTS):
        return _ROCM if vendor_of(profile) == "amd" else _TORCH
    programs = {name for rank in profile.ranks for name in rank.software}
    programs.add("mindspore" if MINDSPORE in layouts else "torch-npu")
    if is_training and any("pipeline_model_parallel_size" in rank.parallel for rank in profile.ranks):
        programs |= _MEGATRON
    below = {name for item in frameworks if item.id in programs for name in item.stack}
    return frozenset(programs | below | {"cann", "host"})
