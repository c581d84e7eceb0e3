"""First recommendations beside published winners that come without a time: matched, not scored.

``python -m benchmarks.answers.winners --known DIR --asked DIR`` hides the devices of the asked problem (and, with one
folder given twice, nothing else) and compares the first proposal with the published winner, setting by setting.
Two independent tunings of one shape on one device agree wholly in only 21 % of cases, so agreement says what a
list has in common with other people's choices, not that it is right; that share is ``two_tunings_of_one_shape``.
Beside ours: the most frequent winner, and the winner of the nearest problem.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.protocols.lines import last_line
from benchmarks.worlds.world import World, load
from kg.triples.hardware_tree import Distance
from recommender.ranking.cases.evidence import ConfigurationReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kg.nouns.entities import Configuration

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
    known: World, asked: World, source: Sequence[int], wanted: Sequence[int], most: int
) -> list[Mapping[str, Agreement]]:
    """Agreement of each question of one operator, by method."""
    truths = winners(asked, wanted)
    theirs = winners(known, source) if known is not asked else truths
    by_device: dict[str, list[int]] = defaultdict(list)
    for key in wanted:
        by_device[asked.problems[key].hardware.name].append(key)
    agreements: list[Mapping[str, Agreement]] = []
    for device, keys in sorted(by_device.items()):
        distance = known.hardware.distance
        others = {
            key: known.problems[key]
            for key in source
            if distance(device, known.problems[key].hardware.name) is not Distance.SAME_DEVICE
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--known", type=Path, required=True)
    parser.add_argument("--asked", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="five problems of each device")
    arguments = parser.parse_args()
    most = 5 if arguments.quick else 50
    by_corpus: dict[str, list[Mapping[str, Agreement]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as place:
        shares = {"*": 0.0} | dict.fromkeys(WINNERS, 1.0)
        known = load(arguments.known, Path(place) / "known", shares)
        one = arguments.known.resolve() == arguments.asked.resolve()
        asked = known if one else load(arguments.asked, Path(place) / "asked", shares)
        source: dict[tuple[str, str], list[int]] = defaultdict(list)
        for (_, operator, metric), keys in known.families.items():
            source[operator, metric] += keys
        for (corpus, operator, metric), keys in sorted(asked.families.items()):
            by_corpus[corpus] += ask(known, asked, source[operator, metric], keys, most)
    result = {corpus: figures(by_corpus[corpus]) for corpus in WINNERS}
    for corpus, made in result.items():
        print(f"{corpus:36} {made}", file=sys.stderr)
    last_line({"agreement": result, "two_tunings_of_one_shape": 0.21})


if __name__ == "__main__":
    main()
