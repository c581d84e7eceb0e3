"""Proposals of evolution on tables whose answers are hidden: how many are truly better, beside random pairs.

Somebody has tried a configuration and every change of one parameter of it. Two changes at once, and values
between, are proposed as ``tunegraph evolve`` does; the table says what they would have given.
"""

import math
from collections import defaultdict
from pathlib import Path

import numpy as np

from ingest.reading import read
from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Better, Case, Kind, Source
from kg.nouns.gain import NORMAL_90, Gain
from kg.nouns.knowledge import Assignment, Strategy
from kg.nouns.values import Settings
from kg.triples.hardware_tree import Distance
from kg.triples.names import Names
from recommender.evolution.proposing import ProposalSetting, interpolate, recombine
from recommender.ranking.changes.bottlenecks import Match
from recommender.ranking.changes.prior import Prior
from recommender.ranking.changes.ranked_strategy import RankedStrategy, SeenEffect

KERNELS = (
    "kerneltuner_gemm",
    "kerneltuner_convolution",
    "kerneltuner_pnpoly",
    "kerneltuner_dedispersion_milo",
)
PROPOSED = 10
"""Proposals of one start that are judged, the most valuable first; as many random pairs."""
BETTER = 0.01
"""Log gain over the best single change above which a proposal is truly better: noise of a measurement."""
NOISE = 0.03
PRIOR = Prior(mean=0.0, between_strategies=0.1, between_contexts=0.1, strategies=0)
SOURCE = Source(title="benchmark")


def kernel_tables(folder: Path, names: Names, corpora: tuple[str, ...]) -> dict[str, dict[Settings, float]]:
    """Costs by configuration of every kernel on every device."""
    tables: dict[str, dict[Settings, float]] = defaultdict(dict)
    for name in corpora:
        paths = sorted(folder.glob(f"{name}.jsonl*"))
        for item in read(paths, names) if paths else ():
            if isinstance(item, Case) and item.measurement.value and item.measurement.value > 0:
                value = item.measurement.value
                cost = value if item.problem.objective.better is Better.LOWER else 1 / value
                table = tables[f"{name} {item.problem.id}"]
                table[item.configuration] = min(cost, table.get(item.configuration, math.inf))
    return {name: table for name, table in tables.items() if len(table) >= 500}


def judge(
    table: dict[Settings, float], rng: np.random.Generator
) -> tuple[list[bool], list[bool], list[bool]]:
    """Judge proposals, random pairs of gaining changes, and random pairs of any changes.

    All empty where the start has too few single changes.
    """
    ordered = sorted(table, key=lambda item: (table[item], str(item)))
    start = ordered[int(len(ordered) * rng.uniform(0.4, 0.6))]
    singles = {}
    for configuration, cost in table.items():
        changed = [name for name in configuration if configuration[name] != start.get(name)]
        if len(changed) == 1 and set(configuration) == set(start):
            singles[changed[0], configuration[changed[0]]] = math.log(table[start] / cost)
    if len(singles) < 6 or max(singles.values()) <= 0:
        return [], [], []
    best = max(singles.values())

    def truth(sets: dict[str, object]) -> bool | None:
        found = table.get(Settings({**start, **sets}))
        return None if found is None else math.log(table[start] / found) > best + BETTER

    ranked = sorted(
        (_ranked(name, value, gain) for (name, value), gain in singles.items()),
        key=lambda item: (-item.score, item.strategy.id),
    )
    setting = ProposalSetting(context=Context(hardware="here"), ranked=ranked, phase="kernel")
    proposals = sorted(
        (*recombine(setting), *interpolate(setting)), key=lambda item: (-item.value, item.strategy.id)
    )
    known = {item.strategy.configuration.digest for item in ranked}
    judged = [
        truth(dict(item.strategy.configuration))
        for item in proposals
        if item.strategy.configuration.digest not in known
    ]
    ours = [item for item in judged if item is not None][:PROPOSED]
    pairs = [
        ((one, other), first > 0 and second > 0)
        for one, first in singles.items()
        for other, second in singles.items()
        if one[0] < other[0]
    ]
    gaining: list[bool] = []
    any_pair: list[bool] = []
    for place in rng.permutation(len(pairs)):
        (one, other), gains = pairs[int(place)]
        found = truth({one[0]: one[1], other[0]: other[1]})
        if found is None:
            continue
        if len(any_pair) < PROPOSED:
            any_pair.append(found)
        if gains and len(gaining) < PROPOSED:
            gaining.append(found)
    return ours, gaining, any_pair


def _ranked(name: str, value: object, gain: float) -> RankedStrategy:
    strategy = Strategy(
        id=f"{name}={value}",
        labels={"en": f"{name}={value}"},
        kind="documented",
        sets=(Assignment(parameter=name, value=value),),  # type: ignore[arg-type]
        sources=(SOURCE,),
    )
    effect = Effect(
        context=Context(hardware="here"), strategy=strategy.id, metric="time", kind=Kind.MEASURED
    ).add([gain])
    reach = NORMAL_90 * NOISE
    return RankedStrategy(
        strategy=strategy,
        gain=Gain(expected=gain, low=gain - reach, high=gain + reach),
        match=Match(bottleneck=name, through=name),
        effects=(SeenEffect(effect=effect, trust=1.0, distance=Distance.SAME_DEVICE),),
        distance=Distance.SAME_DEVICE,
        prior=PRIOR,
        conflicts=(),
    )
