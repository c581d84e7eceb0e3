"""First recommendations beside published winners that come without a time: matched, not scored.

``python -m benchmarks.answers.winners --known DIR --asked DIR`` hides the devices of the asked problem (and, with one
folder given twice, nothing else) and compares the first proposal with the published winner, setting by setting.
Two independent tunings of one shape on one device agree wholly in only 21 % of cases, so agreement says what a
list has in common with other people's choices, not that it is right; that share is ``two_tunings_of_one_shape``.
Beside ours: the most frequent winner, and the winner of the nearest problem.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.worlds.world import World, by_family, knowledge, load
from embeddings.index import ProblemIndex
from kg.triples.hardware_tree import Distance
from recommender.calibration.reliability import Reliability
from recommender.ranking.cases.evidence import ConfigurationReader, Question
from recommender.ranking.cases.ranker import Ranker
from recommender.retrieval.neighbours import Retriever

if TYPE_CHECKING:
    from kg.nouns.values import Settings

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


def shared(one: Settings, other: Settings) -> list[bool]:
    """For each setting that both have, whether it is the same."""
    return [one[name] == value for name, value in other.items() if name in one]


def winners(world: World, keys: list[int]) -> dict[int, list[Settings]]:
    """The configurations published for each problem."""
    found = {}
    with world.trials() as trials:
        read = ConfigurationReader(trials)
        for key in keys:
            ids = [int(item) for item in trials.table(key).configuration_ids]
            known = read(ids)
            found[key] = [known[item] for item in ids]
    return found


def ask(known: World, asked: World, source: list[int], wanted: list[int], most: int) -> list[dict]:
    """Agreement of each question of one operator, by method."""
    told = winners(asked, wanted)
    theirs = winners(known, source) if known is not asked else told
    by_device: dict[str, list[int]] = defaultdict(list)
    for key in wanted:
        by_device[asked.problems[key].hardware.name].append(key)
    found: list[dict] = []
    for device, keys in sorted(by_device.items()):
        allowed = {
            key
            for key in source
            if known.tree.distance(device, known.problems[key].hardware.name) is not Distance.SAME_DEVICE
        }
        if not allowed:
            continue
        popular = Counter(item for key in sorted(allowed) for item in theirs[key]).most_common(1)[0][0]
        with tempfile.TemporaryDirectory() as place, known.trials() as trials:
            index = ProblemIndex(Path(place), known.encoder.dimension, known.encoder.hash)
            mask = np.isin(known.keys, np.fromiter(allowed, np.int64))
            index.append(known.keys[mask], 1, known.vectors[mask])
            retriever = Retriever(trials, index, known.encoder, known.tree)
            ranker = Ranker(trials, known.tree, None, Reliability.shipped())
            for key in sorted(keys, key=lambda k: asked.problems[k].id)[:most]:
                problem = asked.problems[key]
                near = retriever.find(problem, exclude=lambda row, allowed=allowed: row.key not in allowed)
                listed = ranker.rank(problem, near, Question(), 1).configurations
                said = {"popular": popular, "ours": listed[0] if listed else None}
                said["nearest"] = theirs[near[0].problem.key][0] if near else None
                found.append({m: _agreement(said[m], told[key]) for m in METHODS})
            index.close()
    return found


def _agreement(said: Settings | None, published: list[Settings]) -> tuple[float, float]:
    """Share of equal settings with the likest winner, and whether all are equal; nan without a proposal."""
    if said is None:
        return (float("nan"), 0.0)
    shares = [(float(np.mean(s)) if (s := shared(said, one)) else 0.0, said == one) for one in published]
    return max(share for share, _ in shares), float(any(equal for _, equal in shares))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--known", type=Path, required=True)
    parser.add_argument("--asked", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="five problems of each device")
    arguments = parser.parse_args()
    tree = knowledge()
    result: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as place:
        shares = {"*": 0.0} | dict.fromkeys(WINNERS, 1.0)
        known = load(arguments.known, Path(place) / "known", tree, shares)
        one = arguments.known.resolve() == arguments.asked.resolve()
        asked = known if one else load(arguments.asked, Path(place) / "asked", tree, shares)
        source = defaultdict(list)
        for (_, operator, metric), keys in by_family(known).items():
            source[operator, metric] += keys
        by_corpus: dict[str, list[dict]] = defaultdict(list)
        for (corpus, operator, metric), keys in sorted(by_family(asked).items()):
            most = 5 if arguments.quick else 50
            by_corpus[corpus] += ask(known, asked, source[operator, metric], keys, most)
    for corpus in WINNERS:
        rows = by_corpus.get(corpus)
        result[corpus] = None
        if rows:
            per = {m: np.array([row[m] for row in rows]) for m in METHODS}
            result[corpus] = {
                "n": len(rows),
                "per_setting": {m: round(float(np.nanmean(per[m][:, 0])), 4) for m in METHODS},
                "whole": {m: round(float(per[m][:, 1].mean()), 4) for m in METHODS},
            }
            print(f"{corpus:36} {result[corpus]}", file=sys.stderr)
    print(json.dumps({"agreement": result, "two_tunings_of_one_shape": 0.21}))


if __name__ == "__main__":
    main()
