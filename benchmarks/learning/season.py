"""A season of problems: what knowledge that learns from outcomes saves beside knowledge that does not.

    python -m benchmarks.learning.season [--known ../shared/data/cases] [--seeds 3] [--quick]

* **Tables**: on drawn devices of each corpus of many small tables, all but these known (``--all``: each in turn), 200 problems arrive,
  drawn from 40 by Zipf's law (a team tunes the same few workloads again and again). A choice's outcome is its
  gain in the table with 2 % noise. Policies: *static* (what the other devices say, never updated) and *ours*
  (highest expected gain, every outcome told). Log regrets are summed.
* **A foreign world**: the cost model with constants redrawn and a mechanism that ours lacks; ours is what is
  known beforehand, as modelled effects.
* Sign flips, a poisoned source, drift, and proposals of ``evolve`` on kernel tables.

Without ``--known`` only what needs no tables is run; its keys are null otherwise. The last line is JSON.
"""

import random
import statistics
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import Run
from benchmarks.learning.season_beliefs import START, Beliefs, play
from benchmarks.learning.season_hypotheses import KERNELS, judge, kernel_tables
from benchmarks.worlds.season_worlds import TABLES, foreign_world, static_knowledge, tables
from benchmarks.worlds.shipped import ShippedKnowledge
from kg.nouns.effects import Context, DatedGain, Effect, to_unats
from kg.nouns.entities import Kind, Trust
from kg.triples.hardware_tree import HardwareTree
from kg.triples.names import Names
from recommender.evolution.components import fit_components
from recommender.evolution.reliabilities import SourcedGain, distrusted_sources
from recommender.ranking.changes.prior import Prior, effect_state

POLICIES = ("static", "ours")
PROBLEMS, POOL, NOISE = 200, 40, 0.02
KNOWN = 1500
"""Known tables of other devices that are told, drawn at random."""


def seasons(
    found: dict[str, list[Any]], tree: HardwareTree, seeds: range, options: Run
) -> dict[str, float | None]:
    """Cumulative regrets of the policies over drawn devices of all corpora; none of these is known."""
    total: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    for name, arrivals in found.items():
        count = Counter(item.context.hardware for item in arrivals)
        held = options.draw(f"device, {name}", (device for device, n in count.items() if n >= 2 * POOL))
        for device in sorted(held):
            asked = [item for item in arrivals if item.context.hardware == device]
            hidden = {device} if options.all else held
            others = [item for item in arrivals if item.context.hardware not in hidden]
            if not others:
                continue
            for seed in seeds:
                rng = np.random.default_rng(seed)
                base = static_knowledge([others[i] for i in rng.permutation(len(others))[:KNOWN]], tree)
                base.components = fit_components(list(base.effects.values())[::4], tree)
                weights = 1 / np.arange(1, POOL + 1)
                pool = rng.permutation(len(asked))[:POOL]
                season = [asked[i] for i in rng.choice(pool, PROBLEMS, p=weights / weights.sum())]
                for policy in POLICIES:
                    regret = play(season, base.copy(), policy, np.random.default_rng(seed), NOISE).sum()
                    total[policy].append(float(regret))
    return _reductions("season", total)


def foreign(shipped: ShippedKnowledge, seeds: range) -> dict[str, float | None]:
    """The same in a world that is not our model."""
    total: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    for seed in seeds:
        base, season = foreign_world(shipped.graph, shipped.hardware, seed, PROBLEMS)
        for policy in POLICIES:
            regret = play(season, base.copy(), policy, np.random.default_rng(seed), NOISE).sum()
            total[policy].append(float(regret))
    return _reductions("foreign", total)


def _reductions(name: str, total: dict[str, list[float]]) -> dict[str, float | None]:
    sums = {policy: sum(values) for policy, values in total.items()}
    if not sums["static"]:
        return {f"{name}_reduction": None, f"{name}_seasons": 0}
    return {
        f"{name}_reduction": 1 - sums["ours"] / sums["static"],
        f"{name}_seasons": len(total["static"]),
    }


def sign_flips(
    found: dict[str, list[Any]], tree: HardwareTree, rng: random.Random
) -> dict[str, float | None]:
    """Outcomes until a strategy that gains in one context and loses in another has both signs right for good.

    Nothing is known of the strategy itself; the prior is what the tables say of the others.
    """
    needed: list[int] = []
    for arrivals in found.values():
        gains: dict[tuple[str, Context], list[float]] = {}
        for item in arrivals:
            for name, gain in item.gains.items():
                gains.setdefault((name, item.context), []).append(gain)
        means = {key: statistics.fmean(values) for key, values in gains.items() if len(values) >= 3}
        known = static_knowledge(rng.sample(arrivals, min(len(arrivals), 400)), tree).effects
        for name in sorted({key[0] for key in means}):
            up = [key for key, mean in means.items() if key[0] == name and mean > 0.03]
            down = [key for key, mean in means.items() if key[0] == name and mean < -0.03]
            for one, other in list(zip(sorted(up, key=repr), sorted(down, key=repr), strict=False))[:5]:
                others = Prior.of(effect for key, effect in known.items() if key[0] != name)
                beliefs, last_wrong = Beliefs(tree, fixed=others), 0
                for number in range(1, 61):
                    key = (one, other)[number % 2]
                    beliefs.tell(name, key[1], rng.choice(gains[key]) + rng.gauss(0, NOISE))
                    right = (
                        beliefs.expected(name, one[1]).expected
                        > 0
                        > beliefs.expected(name, other[1]).expected
                    )
                    if not right:
                        last_wrong = number
                needed.append(last_wrong + 1)
    if not needed:
        return {"sign_flip_median": None, "sign_flip_p90": None, "sign_flip_within_20": None, "sign_flips": 0}
    return {
        "sign_flip_median": float(statistics.median(needed)),
        "sign_flip_p90": float(np.quantile(needed, 0.9)),
        "sign_flip_within_20": sum(number <= 20 for number in needed) / len(needed),
        "sign_flips": len(needed),
    }


def poison(tree: HardwareTree, seeds: range) -> dict[str, float | None]:
    """A source that tells the opposite, of low trust, of unknown trust, and after a step of evolution."""
    shifts: dict[str, list[float]] = {"low": [], "unknown": [], "found": []}
    caught = honest = 0
    devices = ("ascend-910b1", "ascend-910b2", "ascend-910b3", "ascend-910b4")
    repeats = len(seeds)
    for seed in seeds:
        rng = random.Random(seed)
        truth = {
            (f"s{s}", device): base + rng.gauss(0, 0.04)
            for s, base in enumerate(rng.gauss(0.08, 0.08) for _ in range(12))
            for device in devices
        }
        told = [
            SourcedGain(
                source=f"honest-{n % 4}", strategy=key[0], metric="gain", context=Context(hardware=key[1]),
                gain=truth[key] + rng.gauss(0, 0.03),
            )
            for n, key in enumerate(list(truth) * 2)
        ]  # fmt: skip
        lies = [
            SourcedGain(
                source="liar", strategy=key[0], metric="gain", context=Context(hardware=key[1]),
                gain=-truth[key] - 0.3 + rng.gauss(0, 0.03),
            )
            for key in rng.sample(sorted(truth), 16)
        ]  # fmt: skip
        found = {item.source for item in distrusted_sources([*told, *lies], tree, {})}
        caught += "liar" in found
        honest += len(found - {"liar"})
        clean = _answers(told, [], Trust.MEDIUM, truth, tree)
        trust_of = {
            "low": Trust.LOW,
            "unknown": Trust.MEDIUM,
            "found": Trust.LOW if "liar" in found else Trust.MEDIUM,
        }
        for name, trust in trust_of.items():
            answers = _answers(told, lies, trust, truth, tree)
            shifts[name].append(statistics.fmean(abs(answers[key] - clean[key]) for key in truth))
    found_shift = {name: statistics.fmean(values) for name, values in shifts.items()}
    return {
        "poison_shift_unknown": found_shift["unknown"],
        "poison_shift_low": found_shift["low"],
        "poison_shift_evolved": found_shift["found"],
        "poison_found": caught / repeats,
        "poison_accused": honest / (4 * repeats),
    }


def _answers(
    told: list[SourcedGain],
    lies: list[SourcedGain],
    trust: Trust,
    asked: Iterable[tuple[str, str]],
    tree: HardwareTree,
) -> dict[tuple[str, str], float]:
    beliefs = Beliefs(tree)
    for item in told:
        beliefs.tell(item.strategy, item.context, item.gain)
    for item in lies:
        beliefs.tell(item.strategy, item.context, item.gain, trust=trust)
    return {key: beliefs.expected(key[0], Context(hardware=key[1])).expected for key in asked}


def drift(seeds: range) -> dict[str, float | None]:
    """Outcomes after a shift until what stands is nearer the new mean for good; alarms without a shift."""
    empty = Effect(context=Context(hardware="here"), strategy="s", metric="m", kind=Kind.MEASURED)

    def effects_after(gains: list[float]) -> list[Effect]:
        effect, found = empty, []
        for number, gain in enumerate(gains):
            dated = DatedGain(time=START + timedelta(hours=number), id=f"{number:05}", unats=to_unats(gain))
            effect = effect.see([dated])
            found.append(effect)
        return found

    result: dict[str, float | None] = {}
    needed: list[int] = []
    for size in (0.1, 0.2, 0.3):
        here: list[int] = []
        for seed in seeds:
            rng = random.Random(seed)
            gains = [rng.gauss(0.1, 0.05) for _ in range(100)] + [
                rng.gauss(0.1 - size, 0.05) for _ in range(40)
            ]
            last_wrong = 0
            for number, effect in enumerate(effects_after(gains)[100:], 1):
                known = effect_state(effect)
                if known is None or known.mean > 0.1 - size / 2:
                    last_wrong = number
            here.append(last_wrong + 1)
        needed += here
        result[f"drift_median.{size:g}"] = float(statistics.median(here))
        result[f"drift_p90.{size:g}"] = float(np.quantile(here, 0.9))
    alarms, repeats = 0, len(seeds)
    for seed in seeds:
        rng = random.Random(10_000 + seed)
        steady = effects_after([rng.gauss(0.1, 0.05) for _ in range(200)])
        alarms += any(known.drift for effect in steady if (known := effect_state(effect)) is not None)
    result |= {
        "drift_within_15": sum(number <= 15 for number in needed) / len(needed),
        "drift_false_alarms": alarms / repeats,
    }
    return result


def hypotheses(options: Run, names: Names, corpora: tuple[str, ...], starts: int) -> dict[str, float | None]:
    """Share of proposals that are truly better, beside random pairs of changes."""
    ours: list[bool] = []
    gaining: list[bool] = []
    any_pair: list[bool] = []
    for name, table in kernel_tables(options.known, names, corpora).items():
        rng = np.random.default_rng(len(name)) if options.all else options.rng(len(name))
        for _ in range(starts):
            found = judge(table, rng)
            for total, part in zip((ours, gaining, any_pair), found, strict=True):
                total.extend(part)
    kinds = ("hypotheses_better", "random_gaining_better", "random_better")
    shares = [sum(item) / max(1, len(item)) if ours else None for item in (ours, gaining, any_pair)]
    return dict(zip(kinds, shares, strict=True)) | {"hypotheses": len(ours)}


def main() -> None:
    options = harness.read(
        __doc__,
        harness.place("--known", help="folder of cases", required=False),
        harness.option("--seeds", type=int, default=3),
        quick="one seed, fewer tables",
    )
    quick, drawn = options.quick, options.seed_range
    shipped = ShippedKnowledge.load()
    result = foreign(shipped, drawn(2 if quick else 10))
    result |= poison(shipped.hardware, drawn(3 if quick else 20)) | drift(drawn(20 if quick else 200))
    if options.known is not None:
        corpora = TABLES[1:2] if quick else TABLES
        found = tables(options.known, shipped.names, corpora, 3000 if quick else 10**6)
        result |= seasons(found, shipped.hardware, drawn(1 if quick else options.seeds), options)
        result |= sign_flips(found, shipped.hardware, options.random())
        result |= hypotheses(options, shipped.names, KERNELS[:1] if quick else KERNELS, 2 if quick else 10)
    else:
        names = ("season_reduction", "sign_flip_median", "sign_flip_within_20")
        result |= dict.fromkeys((*names, "hypotheses_better", "random_better"))
    options.last_line(result, n=int(result.get("season_seasons") or 0))


if __name__ == "__main__":
    main()
