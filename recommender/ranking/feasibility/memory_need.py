"""A check that weights, optimizer states, cache and activations of a configuration fit the device.

The memory part of the cost model, asked only where the layout is told. Of 33 published runs whose
devices and layout are stated, two need 1.00 and 1.08 of the capacity by it: what it says is above
``TOLERANCE`` of ``cost_model.fitting`` is refused, what is between that and the capacity is warned of.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kg.errors import InputError, MissingFactError
from kg.nouns.entities import Problem, WorkloadKind
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from kg.terms.circumstances import sizes_of_shape
from kg.terms.dialects import degrees_of
from kg.terms.meanings import meaning_of
from kg.terms.phases import STEP_PHASE
from kg.triples.model_facts import plain_facts
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.facts.physics import PHYSICS
from recommender.ranking.feasibility.rules import Broken, positive_integer

RULE = "weights, states, cache and activations fit the memory"
LIMIT_RULE = "the limit on peak_memory is kept"
SOURCE = "modelled: memory part of the cost model (docs/cost-model.md)"

_REMEMBERED = 4096

_DECIDING = frozenset(
    {
        "tensor_parallel", "pipeline_parallel", "data_parallel", "context_parallel", "expert_parallel",
        "virtual_stages", "zero_stage", "micro_batch", "global_batch", "seq_len", "sequence_parallel",
        "flash_attention", "fused_ops", "recompute", "offload", "precision", "batch", "input_len",
        "output_len", "chunk", "kv_host_share", "speculative_tokens", "lora_rank", "frozen_bits",
        "optimizer_kind", "loss_kind", "objective_kind", "pure_bf16",
    }
)  # fmt: skip
"""Settings of the cost model that decide about memory."""

_PAGED = frozenset({"batch", "memory_share"})
"""Facts by whose settings a server's cache is paged: sequences beyond the memory wait, and fail nothing."""

_PAGING = ("vllm", "sglang", "trt", "tensorrt", "mii", "lmdeploy", "lightllm", "mindie")
"""Servers that do so, by words of the framework's name."""

_LEAST_SERVED: Mapping[str, object] = MappingProxyType({"batch": 1, "input_len": 1, "output_len": 1})
_LEAST_KEPT: Mapping[str, object] = MappingProxyType({"recompute": "full", "zero_stage": 1})

_BEYOND = frozenset(
    {
        "fsdp",
        "fsdp_size",
        "parallel.fsdp_size",
        "smart_swap",
        "layerzero",
        "automated_pipeline",
        "compress_activation",
        "chunkmbs",
    }
)
"""Parameters that free memory, and that the cost model has no setting for."""


MemoryCache = dict[tuple[object, ...], "float | None"]
"""Bytes by model, phase, devices and settings; None where they cannot be told."""


@dataclass(slots=True)
class MemoryNeed:
    """The memory that configurations of one problem need.

    Attributes:
        problem: The question.
        model: Facts of the model.
        facts: Facts of the device.
        cache: What was reckoned before, from question to question.
        skipped: Why the rule says nothing; empty if it can.
    """

    problem: Problem
    model: Mapping[str, Value]
    facts: Mapping[str, float | str]
    cache: MemoryCache = field(default_factory=dict)
    skipped: str = ""
    _sizes: ModelSizes | None = None
    _capacity: float = 0.0
    _reserved: float = PHYSICS["reserved_bytes"]

    def __post_init__(self) -> None:
        """Find out whether everything that is needed is known."""
        if not self.applies:
            return
        from recommender.cost_model.question import QuestionFacts

        name = self.problem.workload.model or "the model"
        facts = QuestionFacts(
            model=name,
            architecture=str(self.model.get("architecture", "")),
            sizes=plain_facts(self.model),
            device=self.problem.hardware.name,
            device_facts=self.facts,
        )
        try:
            device = facts.machine(1).device
            self._capacity, self._reserved = device.memory_bytes, device.reserved_bytes
            self._sizes = facts.model_sizes()
        except (MissingFactError, InputError) as missing:
            self.skipped = str(missing)
        if self._sizes is not None:
            from recommender.cost_model.workloads.memory_fit import not_modelled

            self.skipped = not_modelled(self._sizes)

    @property
    def applies(self) -> bool:
        """True if the question is about training or serving a named model."""
        return self.problem.workload.kind in STEP_PHASE and bool(self.problem.workload.model)

    def decides(self, names: frozenset[str]) -> bool:
        """Return whether parameters of these names can break a rule, as far as the cost model knows."""
        from recommender.cost_model.settings.plans import canonical_name

        if not self.applies or self.skipped:
            return False
        return self.limit_bytes is not None or any(canonical_name(name) in _DECIDING for name in names)

    def bytes_of(self, configuration: Mapping[str, Value]) -> float | None:
        """Return the least bytes on the fullest device; None without layout or sizes, or if it cannot be.

        What is not told is taken as what needs least: a server with a paged cache needs room for one
        sequence, and where nothing is told of the current settings, recomputation and a split optimizer.
        """
        if self.skipped or self._sizes is None:
            return None
        from recommender.cost_model.settings.dialects import translate

        problem = self.problem
        phase = problem.workload.kind.value
        stated = configuration
        if any(stated.get(name) for name in _BEYOND):
            return None  # frees memory in a way that the cost model has no setting for
        count = problem.hardware.count
        is_split = count != 1 and bool(self._sizes.layers)
        if count is None or (is_split and "tp" not in degrees_of(stated)):
            return None  # how the model is split decides, and is not told
        layers = positive_integer(self.model.get("layers"))
        settings = dict(translate(stated, phase, count=count, layers=layers).settings)
        settings = {**_stated_sizes(problem, phase), **settings}
        settings = {name: value for name, value in settings.items() if name in _DECIDING}
        if phase == "serving":
            settings = {**_LEAST_SERVED, **settings}
            if _is_paged(stated):
                settings["batch"] = 1
        elif problem.current is None:
            settings = {**_LEAST_KEPT, **settings}
        if problem.workload.precision and "precision" not in settings:
            settings["precision"] = problem.workload.precision
        texts = tuple(sorted((name, str(value)) for name, value in settings.items()))
        key = (self._sizes, phase, count, texts)
        if key not in self.cache:
            if len(self.cache) > _REMEMBERED:
                self.cache.clear()
            self.cache[key] = self._asked(phase, settings, count)
        return self.cache[key]

    def is_complete(self, configuration: Mapping[str, Value]) -> bool:
        """Return whether :meth:`bytes_of` covers all use of memory, so that a limit can be checked."""
        if self.bytes_of(configuration) is None:
            return False
        if self.problem.workload.kind is WorkloadKind.TRAINING:
            return self.problem.current is not None
        names = {*configuration, *_stated_sizes(self.problem, "serving")}
        return {"batch", "input_len", "output_len"} <= names and not _is_paged(configuration)

    def _asked(self, phase: str, settings: Mapping[str, object], count: int) -> float | None:
        from recommender.cost_model.workloads.memory_fit import memory_bytes

        assert self._sizes is not None  # noqa: S101  asked only then
        try:
            parts = memory_bytes(self._sizes, phase, [settings], count, reserved=self._reserved)
        except (InputError, MissingFactError):
            return None  # a layout that the cost model does not know, which is another rule's matter
        return float(sum(part[0] for part in parts.values()))

    @property
    def limit_bytes(self) -> float | None:
        """The bound on memory that the question sets; None if it sets none."""
        return min((x.maximum for x in self.problem.limits if x.metric == "peak_memory"), default=None)

    def broken(self, configuration: Mapping[str, Value]) -> Iterator[Broken]:
        """List the broken rules: the device's capacity, and the limit of the question."""
        needed = self.bytes_of(configuration)
        if needed is None:
            return
        from recommender.cost_model.workloads.memory_fit import TOLERANCE

        for rule, most in ((RULE, self._capacity), (LIMIT_RULE, self.limit_bytes)):
            if most is not None and needed > TOLERANCE * most:
                reason = f"{needed / 1e9:.3g} GB needed of {most / 1e9:.3g} GB"
                yield Broken(rule=rule, reason=reason, source=SOURCE, is_certain=False)

    def warning(self, configuration: Mapping[str, Value]) -> str:
        """Return a warning where the memory is tight; empty if it is not."""
        needed = self.bytes_of(configuration)
        most = min(self._capacity, self.limit_bytes or self._capacity)
        if needed is None or needed <= most:
            return ""
        from recommender.cost_model.workloads.memory_fit import TOLERANCE

        if needed > TOLERANCE * most:
            return ""
        return f"memory is tight: {needed / 1e9:.3g} of {most / 1e9:.3g} GB by the cost model"


def _is_paged(configuration: Mapping[str, Value]) -> bool:
    """Return whether a server's cache is paged: its batch then bounds what runs, not what is kept."""
    framework = str(configuration.get("framework", "")).lower()
    settings = [meaning for name in configuration if (meaning := meaning_of(name)) is not None]
    is_paged = any(item.fact in _PAGED and item.place is not SettingPlace.CODE for item in settings)
    return is_paged or any(name in framework for name in _PAGING)


def _stated_sizes(problem: Problem, phase: str) -> dict[str, object]:
    """Return sizes of the workload that decide how much memory it takes."""
    names = {"training": ("seq_len",), "serving": ("batch", "input_len", "output_len")}
    shape = sizes_of_shape(problem.workload.shape)
    return {name: shape[name] for name in names[phase] if name in shape}
