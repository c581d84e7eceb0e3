"""The layouts of a model on a number of devices: every command takes them from here.

Bounded for any number: degrees are looked for up to heads, blocks, experts and the devices of a server,
never up to the devices.
"""

import csv
import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache

import data
from kg.nouns.layout import DEGREES, ParallelLayout
from kg.terms.meanings import OF_VLLM
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.facts.physics import PHYSICS
from recommender.cost_model.question import Question
from recommender.cost_model.workloads.inference import feeds_forward

LARGEST = 1024
"""Devices up to which the fewest that hold a model are looked for; a choice."""
SHARING = OF_VLLM
"""Engines whose data-parallel replicas share the experts in any case, by whole experts or by slices of each
(https://docs.vllm.ai/en/latest/serving/data_parallel_deployment/): none is a copy of its own."""
UNEVEN = SHARING | {"sglang"}
"""Engines that spread experts over devices that do not divide them: vLLM gives some devices one more
(``determine_expert_map``, layers/fused_moe), SGLang adds redundant ones (``--ep-num-redundant-experts``)."""
WHOLE = frozenset({"tensorrt-llm"})
"""Engines whose attention of a mixture is divided over all devices or copied to each, nothing between
(``enable_attention_dp``, tensorrt_llm/mapping.py)."""
BY_TENSORS = frozenset({"lmdeploy", "tgi", "tei"})
"""Engines of which one server divides a model by tensors alone: copies are servers of their own."""
BY_LAYERS = frozenset({"llama.cpp"})
"""Engines that share out layers over devices unless told otherwise, and may fill their memory (llama.cpp,
``--split-mode``, tools/server/README.md)."""
_NEAR = 32
"""Numbers of devices just below one that are tried first; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutDomain:
    """The layouts that are open for a question.

    Attributes:
        question: Model, machine, phase, engine, and the length of a training sequence among the settings.
        splits: Whether the program splits a model over devices at all.
        degrees: Parallel sizes that hold, by the names of the cost model.
        is_separate: Whether replicas are engines of their own, whose experts are spread inside each.
        block: Columns of an expert that have one scale, which no device takes a part of; 0 where each column
            has its own.
    """

    question: Question
    splits: bool = True
    degrees: Mapping[str, object] = field(default_factory=dict)
    is_separate: bool = False
    block: int = 0

    def layouts(self) -> Iterator[ParallelLayout]:
        """Every layout of all devices, those of one depth of the pipeline together."""
        model, count = self.question.model, self.question.machine.count
        training = self.question.phase == "training"
        is_staged_by_server = not training and "pipeline_parallel" not in self.degrees
        widths, depths, parts = self._widths(), self._depths(), self._parts()
        for pipeline, tensor, context in itertools.product(depths, widths, parts):
            inside = pipeline * tensor * context
            if count % inside or (pipeline > 1 and tensor < widths[-1] and is_staged_by_server):
                continue  # stages only between servers (vLLM, "Parallelism and scaling")
            replicas = count // inside
            if min(tensor, replicas) > 1 and model.experts and self.question.engine in WHOLE:
                continue
            span = tensor * context * (1 if self.is_separate else replicas)
            for experts in self._experts(model, span, replicas):
                if self.block and model.experts and model.expert_inner * experts / span % self.block:
                    continue
                layout = ParallelLayout(tp=tensor, pp=pipeline, dp=replicas, ep=experts, cp=context)
                held = layout.degrees()
                if all(held.get(name) == size for name, size in self.degrees.items()):
                    yield layout

    @property
    def least(self) -> int:
        """Devices that the sizes that hold take."""
        names = (name for name in DEGREES.values() if name != "expert_parallel")
        return math.prod(self._held(name) or 1 for name in names)

    def why_none(self) -> str:
        """The reason that no layout has the fixed sizes, where that is arithmetic; else empty."""
        model, count = self.question.model, self.question.machine.count
        tensor, stages, experts = (
            self._held(f"{name}_parallel") or 1 for name in ("tensor", "pipeline", "expert")
        )
        if (heads := int(model.heads)) % tensor:
            return _undivided(f"tensor parallel {tensor}", heads, f"heads of {model.id}")
        if stages > (model.layers or stages):
            return f"{stages} stages are more than the {model.layers:g} blocks of {model.id}"
        if model.experts % experts and self.question.engine not in UNEVEN:
            return _undivided(f"expert parallel {experts}", int(model.experts), f"experts of {model.id}")
        if self.least > count:
            return f"its parallel sizes take {self.least} devices, of {count}"
        unblocked = replace(self, block=0)
        if self.block and any(unblocked.layouts()):
            return (
                f"the {model.expert_inner:g} columns of an expert of {model.id} have a scale for each"
                f" {self.block} in FP8, and these parallel sizes divide one: fewer tensors, or whole experts"
            )
        return ""

    def _held(self, name: str) -> int | None:
        size = self.degrees.get(name)
        return int(size) if isinstance(size, int | float) and size >= 1 else None

    def _widths(self) -> list[int]:
        """Devices that share a product: they stay on the links of one server and divide the heads."""
        model, machine = self.question.model, self.question.machine
        if not self.splits or feeds_forward(model, self.question.phase):
            return [1]
        if (held := self._held("tensor_parallel")) is not None:
            return [] if int(model.heads or held) % held else [held]
        if self.question.engine in BY_LAYERS:
            return [1]
        most = int(min(machine.count, machine.network.per_node, model.heads or 1))
        return [t for t in range(1, most + 1) if machine.count % t == 0 and model.heads % t == 0] or [1]

    def _depths(self) -> list[int]:
        """Stages of the pipeline."""
        if self.splits and (held := self._held("pipeline_parallel")) is not None:
            return [held] if held <= max(self.question.model.layers, 1) else []
        most = min(PHYSICS["most_stages"], max(self.question.model.layers, 1)) if self.splits else 1
        tried = divisors if self.question.engine in BY_LAYERS else powers
        return [p for p in tried(self.question.machine.count) if p <= most]

    def _parts(self) -> list[int]:
        if self.question.phase != "training" or not self.splits:
            return [1]
        if (held := self._held("context_parallel")) is not None:
            return [held]
        length = self.question.settings.get("seq_len")
        tokens = float(length) if isinstance(length, int | float) else 0.0
        most = tokens / PHYSICS["least_tokens_of_a_rank"]
        return [c for c in powers(self.question.machine.count) if c == 1 or c <= most]

    def _experts(self, model: ModelSizes, span: int, replicas: int) -> list[int]:
        """Degrees of expert parallelism over ``span`` devices: all of them or none when serving."""
        experts, engine = int(model.experts), self.question.engine
        if not experts or not self.splits or engine in BY_TENSORS | BY_LAYERS:
            return [1]
        fitting = [d for d in range(1, min(experts, span) + 1) if span % d == 0 and experts % d == 0]
        if (held := self._held("expert_parallel")) in fitting:
            return [held]
        if self.question.phase == "training":
            return fitting
        if engine in SHARING and replicas > 1 and self.degrees.get("expert_parallel") != 1:
            return self._shared(fitting, span, replicas)
        return sorted({1, fitting[-1]} | ({span} if engine in UNEVEN and span <= experts else set()))

    def _shared(self, fitting: list[int], span: int, replicas: int) -> list[int]:
        """Degrees where replicas share the experts: over all devices, or inside servers launched alone.

        Such a server has whole replicas: one of a machine, and the widest, are open where none is told.
        """
        whole = {span} if span <= self.question.model.experts else set()
        if "data_parallel" in self.degrees:
            return sorted(whole or {fitting[-1]})
        of_servers = [d for d in fitting if d > 1 and d % (span // replicas) == 0]
        of_machines = [d for d in of_servers if d <= self.question.machine.network.per_node]
        return sorted({*whole, *of_servers[-1:], *of_machines[-1:]} or {fitting[-1]})


def expert_block(models: Collection[str], checkpoint: str = "") -> int:
    """Columns of an expert with one scale in the FP8 weights of a publisher; 0 where each has its own.

    vLLM and SGLang refuse a part of a block (``validate_fp8_block_shape_moe``; layers/quantization/fp8.py).

    Args:
        models: Ids of a model and of its kinds.
        checkpoint: Where the weights are; empty for those of the publisher.
    """
    for row in _blocks():
        if row["model"] in models:
            return int(row["block"]) if not checkpoint or fnmatchcase(checkpoint, row["checkpoints"]) else 0
    return 0


@cache
def _blocks() -> tuple[Mapping[str, str], ...]:
    """Rows of ``data/models/blocks.csv``: from cards, configurations and what engines refused."""
    return tuple(csv.DictReader(data.text("models/blocks.csv").splitlines()))


def fullest(model: ModelSizes, layout: ParallelLayout) -> ModelSizes:
    """The model with as many experts as its fullest device holds: others wait for it."""
    if model.experts < layout.ep:
        return model
    return replace(model, experts=float(math.ceil(model.experts / layout.ep) * layout.ep))


def with_count(question: Question, count: int) -> Question:
    """The same question for another number of devices."""
    return replace(question, machine=replace(question.machine, count=count))


def more_devices(count: int) -> list[int]:
    """Numbers of devices beyond one that are tried: powers of two, and three, six, ... servers of eight."""
    return [one for one in _round_numbers(LARGEST) if count < one <= LARGEST]


def fewer_devices(count: int) -> list[int]:
    """Numbers of devices below one, most first: those just below it, then round ones."""
    near = range(count - 1, max(count - 1 - _NEAR, 0), -1)
    return list(dict.fromkeys([*near, *reversed([one for one in _round_numbers(count) if one < count])]))


def powers(number: int) -> list[int]:
    """The powers of two that divide a number."""
    return [2**k for k in range(number.bit_length()) if number % 2**k == 0]


def divisors(number: int) -> list[int]:
    """Divisors of a number, small ones first; of those above a million the partners of small ones."""
    small = [value for value in range(1, min(math.isqrt(number), 1_000_000) + 1) if number % value == 0]
    return sorted({*small, *(number // value for value in small)})


def _round_numbers(most: int) -> list[int]:
    twos = [2**k for k in range(most.bit_length())]
    return sorted({*twos, *(3 * two for two in twos[3:])})


def _undivided(what: str, number: int, parts: str) -> str:
    """The sizes that divide a number of parts, where the given one does not, in words."""
    *others, last = map(str, divisors(number))
    return f"{what} does not divide the {number} {parts}: {', '.join(others)} and {last} do"
