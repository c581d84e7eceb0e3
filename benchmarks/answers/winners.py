"""First recommendations beside published winners that come without a time: matched, not scored.

``python -m benchmarks.answers.winners --known DIR --asked DIR`` hides the device of the asked problem and
the other drawn ones and compares the first proposal with the published winner, setting by setting.
Two independent tunings of one shape on one device agree wholly in only 21 % of cases, so agreement says what a
list has in common with other people's choices, not that it is right; that share is ``two_tunings_of_one_shape``.
Beside ours: the most frequent winner, and the winner of the nearest problem.
"""

import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.worlds.world import World, load_both
from kg.nouns.entities import Configuration
from kg.triples.hardware_tree import Distance
from recommender.ranking.cases.evidence import ConfigurationReader

Agreement = tuple[float, float]

WINNERS = (
    "aiter_tuned_kernels",
    "clblast_winners",
    "lightllm_triton_winners",
    "tpu_tuned_blocks_winners",
    "tvm_tophub_winners",
    "vllm_mamba_ssu_winners",
    "vllm_sglang_fp8_block_gemm_winners",
    "vllm_sglang_moe_winners",
)
METHODS = ("ours", "nearest", "popular")


def shared(one: Configuration, other: Configuration) -> list[bool]:
    """For each setting that both have, whether it is the same."""
    return [one[name] == value for name, value in other.items() if name in one]


def winners(world: World, keys: Sequence[int]) -> dict[int, list[Configuration]]:
    """The configurations published for each problem."""
    read = ConfigurationReader(world.trials)
    published: dict[int, list[Configuration]] = {}
    for key in keys:
        ids = [int(item) for item in world.trials.table(key).configuration_ids]
        configurations = read(ids)
        published[key] = [configurations[item] for item in ids]
    return published


def ask(
    known: World,
    asked: World,
    source: Sequence[int],
    wanted: Sequence[int],
    most: int,
    held: frozenset[str],
) -> list[Mapping[str, Agreement]]:
    """Agreement of each question of one operator on the devices ``held`` out, by method.

    All of them are hidden; where they are all that there are, one at a time.
    """
    truths = winners(asked, wanted)
    theirs = winners(known, source) if known is not asked else truths
    by_device: dict[str, list[int]] = defaultdict(list)
    for key in wanted:
        by_device[asked.problems[key].hardware.name].append(key)
    agreements: list[Mapping[str, Agreement]] = []
    hidden = frozenset() if held == frozenset(by_device) else held
    for device, keys in sorted((name, keys) for name, keys in by_device.items() if name in held):
        distance = known.hardware.distance
        others = {
            key: known.problems[key]
            for key in source
            if (name := known.problems[key].hardware.name) not in hidden
            and distance(device, name) is not Distance.SAME_DEVICE
        }
        if not others:
            continue
        popular = Counter(one for key in others for one in theirs[key]).most_common(1)[0][0]
        with known.workspace.snapshot.subset(others) as ranker:
            for key in sorted(keys, key=lambda key: asked.problems[key].id)[:most]:
                problem = asked.problems[key]
                near = ranker.neighbours(problem)
                first = ranker.rank(problem, 1, neighbours=near).configurations
                proposals = {
                    "ours": first[0] if first else None,
                    "nearest": theirs[near[0].problem.key][0] if near else None,
                    "popular": popular,
                }
                agreements.append({name: _agreement(item, truths[key]) for name, item in proposals.items()})
    return agreements


def _agreement(proposed: Configuration | None, published: Sequence[Configuration]) -> Agreement:
    """Share of equal settings with the likest winner, and whether all are equal; nan without a proposal."""
    if proposed is None:
        return (float("nan"), 0.0)
    shares = [float(np.mean(same)) if (same := shared(proposed, one)) else 0.0 for one in published]
    return max(shares), float(any(proposed == one for one in published))


def figures(rows: Sequence[Mapping[str, Agreement]]) -> dict[str, object] | None:
    """Shares of one corpus; None without a question."""
    if not rows:
        return None
    tables = {method: np.array([row[method] for row in rows]) for method in METHODS}
    return {
        "n": len(rows),
        "per_setting": {method: round(float(np.nanmean(table[:, 0])), 4) for method, table in tables.items()},
        "whole": {method: round(float(table[:, 1].mean()), 4) for method, table in tables.items()},
    }


def main() -> None:
    """Ask about every corpus of winners and print the shares."""
    arguments = harness.read(
        __doc__, harness.place("--known"), harness.place("--asked"), quick="five problems of each device"
    )
    most = 5 if arguments.quick else 50
    by_corpus: dict[str, list[Mapping[str, Agreement]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        known, asked = load_both(arguments, Path(folder), lambda _: {"*": 0.0} | dict.fromkeys(WINNERS, 1.0))
        source: dict[tuple[str, str], list[int]] = defaultdict(list)
        for (_, operator, metric), keys in known.families.items():
            source[operator, metric] += keys
        for (corpus, operator, metric), keys in sorted(asked.families.items()):
            devices = (asked.problems[key].hardware.name for key in keys)
            held = arguments.draw(f"device, {corpus}", devices)
            by_corpus[corpus] += ask(known, asked, source[operator, metric], keys, most, held)
    result = {corpus: figures(by_corpus[corpus]) for corpus in WINNERS}
    for corpus, made in result.items():
        print(f"{corpus:36} {made}", file=sys.stderr)
    arguments.last_line(
        {"agreement": result, "two_tunings_of_one_shape": 0.21}, n=sum(map(len, by_corpus.values()))
    )


if __name__ == "__main__":
    main()
