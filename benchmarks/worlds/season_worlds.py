"""Worlds in which a season is played: measured tables, and a cost model that is not ours.

The second is a copy of the cost model whose constants are redrawn within their errors, with one mechanism that
ours lacks: the clock of a device drops by :data:`DROP` in steps that compute most of the time. It was fixed
before any policy was run on it.
"""

import hashlib
import itertools
import math
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from benchmarks.learning.season_beliefs import Arrival, Beliefs
from ingest.reading import read
from kg.errors import TuningError
from kg.nouns.effects import Context
from kg.nouns.entities import Better, Case, Kind, Problem
from kg.nouns.knowledge import Level
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.names import Names
from recommender.cost_model.workloads.steps import Steps

TABLES = (
    "aiconfigurator_moe_parallel", "aiconfigurator_attention_backend", "aiconfigurator_gemm_backend",
    "vidur_tp_layer_times",
)  # fmt: skip
"""Corpora of many small tables, in which the same few configurations come again and again."""

SIZES = 8
"""Problems whose first size differs by less than this factor are one context: a decode step and a prefill."""

DROP, HOT = 0.15, 0.6
"""By how much the clock drops, and from which share of compute on: devices throttle by 10 to 20 % under load."""
ERRORS = {"peak": 0.10, "memory_bandwidth": 0.10, "link": 0.20}
"""Standard deviations of the redrawn constants, in nats: spreads of measured over stated rates in
docs/figures-notes.md (matmul 8 %, collectives 20 %)."""


def tables(folder: Path, names: Names, corpora: tuple[str, ...], most: int) -> dict[str, list[Arrival]]:
    """Arrivals from the tables of each corpus: gains over the most common configuration of the table.

    Args:
        folder: Folder of cases.
        names: Resolves what rows call things.
        corpora: Corpora.
        most: Problems of a corpus at most, drawn by a hash of their id.
    """
    found: dict[str, list[Arrival]] = {}
    for name in corpora:
        path = next((item for item in sorted(folder.glob(f"{name}*.jsonl*"))), None)
        if path is None:
            continue
        costs: dict[str, dict[str, float]] = defaultdict(dict)
        contexts: dict[str, Context] = {}
        for item in read([path], names):
            if not isinstance(item, Case) or not item.measurement.value or item.measurement.value <= 0:
                continue
            problem = item.problem
            value = item.measurement.value
            cost = value if problem.objective.better is Better.LOWER else 1 / value
            table = costs[problem.id]
            key = str(item.configuration)
            table[key] = min(cost, table.get(key, math.inf))
            if problem.id not in contexts:
                contexts[problem.id] = _context(problem)
        kept = sorted(
            (key for key, table in costs.items() if len(table) > 1),
            key=lambda key: hashlib.sha256(key.encode()).digest(),
        )[:most]
        popular = Counter(configuration for key in kept for configuration in costs[key])
        found[name] = []
        for key in kept:
            table = costs[key]
            control = max(sorted(table), key=lambda configuration: popular[configuration])
            gains = {name: math.log(table[control] / cost) for name, cost in table.items()}
            found[name].append(Arrival(contexts[key], gains))
    return {name: arrivals for name, arrivals in found.items() if len(arrivals) > 50}


def _context(problem: Problem) -> Context:
    """The size of a step as its bottleneck, the layer and its precision as its family."""
    work = problem.workload
    names = list(work.shape)
    first = work.shape[names[0]] if names else 1
    size = int(math.log(max(1.0, float(first)), SIZES)) if isinstance(first, int | float) else 0
    rest = " ".join(f"{name}={work.shape[name]}" for name in names[1:])
    return Context(
        bottleneck=f"size-{size}",
        hardware=problem.hardware.name,
        family=f"{work.model or work.operator} {work.precision or ''} {rest}",
    )


def static_knowledge(known: list[Arrival], tree: HardwareTree) -> Beliefs:
    """Beliefs from the known tables, counted as outcomes."""
    beliefs = Beliefs(tree)
    for item in known:
        for name, gain in item.gains.items():
            beliefs.tell(name, item.context, gain, dated=False)
    return beliefs


MODELS = ("bert-large", "llama-2-7b", "llama-2-13b", "qwen2.5-7b", "gpt2-xl", "bert-base")
CHANGES: dict[str, dict[str, object]] = {
    "fused operators": {"fused_ops": 1},
    "flash attention": {"flash_attention": 1},
    "fused optimiser": {"fused_optimizer": 1},
    "overlapped gradients": {"overlap_gradients": 1},
    "sharded optimiser": {"zero_stage": 1},
    "two-way tensor parallel": {"tensor_parallel": 2},
    "selective recomputation": {"recompute": "selective"},
    "full recomputation": {"recompute": "full"},
}  # fmt: skip
PLAIN: dict[str, object] = {
    "fused_ops": 0, "flash_attention": 0, "fused_optimizer": 0, "overlap_gradients": 0, "zero_stage": 0,
    "tensor_parallel": 1, "micro_batch": 8, "recompute": "none",
}  # fmt: skip


def foreign_world(
    graph: GraphStore, tree: HardwareTree, seed: int, most: int
) -> tuple[Beliefs, list[Arrival]]:
    """Problems of a world that is not our model, and what our model says of them beforehand."""
    from kg.nouns.knowledge import Model
    from kg.triples.serialisation import all_of
    from recommender.cost_model.estimate import estimate
    from recommender.cost_model.facts.model import model_of
    from recommender.cost_model.machine import machine

    rng = np.random.default_rng(seed)
    names = list(CHANGES)
    beliefs, arrivals = Beliefs(tree), []
    facts_of = {item.id: item for item in all_of(graph, Model)}
    servers = _servers(tree)
    drawn = {
        name: _redrawn(dict(tree.facts(name)), rng)
        for device in servers
        for name in (device, servers[device])
    }
    combinations = [
        item
        for item in itertools.product(MODELS, servers, (2, 4, 8, 16), (128, 512, 1024))
        if item[0] in facts_of
    ]
    rng.shuffle(combinations)
    for model_name, device, number, size in combinations:
        count, length = int(number), int(size)
        noun = facts_of[str(model_name)]
        facts = {fact.name: fact.value for fact in noun.facts if isinstance(fact.value, int | float | str)}
        base = {**PLAIN, "seq_len": length}
        settings = [base, *({**base, **CHANGES[name]} for name in names)]
        try:
            model = model_of(noun.id, noun.architecture, facts)
            server = servers[str(device)]
            ours, theirs = (
                estimate(
                    model=model,
                    machine=machine(
                        str(device),
                        known[str(device)],
                        count=count,
                        server=server,
                        server_facts=known[server],
                    ),
                    phase="training",
                    settings=settings,
                )
                for known in ({name: dict(tree.facts(name)) for name in drawn}, drawn)
            )
        except TuningError:  # a layout that the cost model refuses is no problem of this world
            continue
        fits = np.array(ours.fits, bool)
        if not fits[0] or fits.sum() < 4:
            continue  # what cannot run is no problem, and what does not fit is never proposed
        where = f"{length} tokens, {count} devices"
        context = Context(bottleneck=where, hardware=str(device), family=noun.id)
        offered = [place for place in range(len(names)) if fits[place + 1]]
        before, after = _gains(ours, hot=False), _gains(theirs, hot=True)
        for place in offered:
            beliefs.tell(names[place], context, before[place], Kind.MODELLED, dated=False)
        arrivals.append(Arrival(context, {names[place]: after[place] for place in offered}))
    order = rng.integers(len(arrivals), size=most)
    return beliefs, [arrivals[place] for place in order]


def _servers(tree: HardwareTree) -> dict[str, str]:
    """The first server that holds each Ascend training device, or its family."""
    found: dict[str, str] = {}
    for name in tree.ids():
        node = tree.node(name)
        if node is None or node.level is not Level.SERVER or not node.device.startswith("ascend-910"):
            continue
        for device in tree.devices(node.device):
            known = {**tree.facts(device), **tree.facts(name)}
            if {"peak_bf16_flops", "link_bandwidth_bytes_per_s"} <= set(known):
                found.setdefault(device, name)
    return found


def _redrawn(facts: dict[str, float | str], rng: np.random.Generator) -> dict[str, float | str]:
    """Rates of a device off by what is not known of them."""
    factors = {name: math.exp(deviation * rng.standard_normal()) for name, deviation in ERRORS.items()}
    found: dict[str, float | str] = {}
    for name, value in facts.items():
        factor = 1.0
        if isinstance(value, int | float):
            if name.endswith(("_flops", "_ops")):
                factor = factors["peak"]
            elif "memory_bandwidth" in name:
                factor = factors["memory_bandwidth"]
            elif "link" in name or "interconnect" in name:
                factor = factors["link"]
        found[name] = value * factor if isinstance(value, int | float) else value
    return found


def _gains(steps: Steps, *, hot: bool) -> list[float]:
    """Log gain of every configuration over the first."""
    rate = np.array(steps.throughput, float)
    if hot:
        compute = np.array(steps.split_s["compute"], float)
        time = np.array(steps.time_s, float)
        throttled = compute / time > HOT
        rate = rate * time / np.where(throttled, time + compute * DROP / (1 - DROP), time)
    gains = np.log(rate[1:] / rate[0])
    return [float(gain) for gain in gains]
