from collections.abc import Callable

import numpy as np
import pytest

from embeddings.features import BLOCKS, WIDTH, Features
from kg.nouns.entities import Better, Limit, Problem, WorkloadKind
from kg.nouns.values import Settings
from kg.triples.hardware_tree import HardwareTree

Make = Callable[..., Problem]


@pytest.fixture
def features(tree: HardwareTree) -> Features:
    return Features(tree)


def apart(features: Features, block: str, one: Problem, other: Problem) -> float:
    rows = features.matrix([one, other])[block]
    return float(np.linalg.norm(rows[0] - rows[1]))


def test_blocks_are_as_wide_as_they_say(features: Features, problem: Make) -> None:
    matrix = features.matrix([problem(), problem(hardware="small")])
    assert {name: block.shape for name, block in matrix.items()} == {n: (2, w) for n, w in BLOCKS.items()}
    assert sum(BLOCKS.values()) == WIDTH
    assert all(np.isfinite(block).all() and block.dtype == np.float32 for block in matrix.values())


def test_each_difference_shows_in_its_block_alone(features: Features, problem: Make) -> None:
    changed = {
        "operator": problem(operator="softmax"),
        "model": problem(model="qwen2-7b"),
        "shape": problem(shape={"M": 1, "N": 4096, "K": 4096}),
        "precision": problem(precision="fp8"),
        "objective": problem(metric="throughput", better=Better.HIGHER),
        "count": problem(count=8),
        "kind": problem(kind=WorkloadKind.KERNEL),
        "bottlenecks": problem(bottlenecks=Settings({"communication": 0.3})),
        "limits": problem(limits=(Limit(metric="peak_memory", maximum=32e9, unit="B"),)),
        "traits": problem(software=Settings({"cann": "8.0"})),
        "tree": problem(hardware="ascend-910b2"),
    }
    for expected, other in changed.items():
        moved = [block for block in BLOCKS if apart(features, block, problem(), other) > 0]
        assert moved == [expected]


def test_a_factor_of_sixteen_in_one_dimension_is_one(features: Features, problem: Make) -> None:
    one, other = problem(shape={"M": 2**12 - 1}), problem(shape={"M": 2**16 - 1})
    assert apart(features, "shape", one, other) == pytest.approx(1)


def test_a_dimension_nobody_named_yet_still_counts(features: Features, problem: Make) -> None:
    one, near, far = (problem(shape={"fixed.filter_height": size}) for size in (15, 17, 255))
    assert 0 < apart(features, "shape", one, near) < apart(features, "shape", one, far)


def test_words_among_dimensions_are_traits(features: Features, problem: Make) -> None:
    one, other = problem(shape={"mesh": "tet"}), problem(shape={"mesh": "hex"})
    assert apart(features, "shape", one, other) == 0
    assert apart(features, "traits", one, other) > 0


def test_an_unknown_fact_is_neutral_and_marked(features: Features, problem: Make) -> None:
    known, small, unknown = (problem(hardware=name) for name in ("ascend-910b3", "small", "unknown-facts"))
    assert apart(features, "facts", known, unknown) < apart(features, "facts", known, small)
    assert apart(features, "known", known, small) == 0
    assert apart(features, "known", known, unknown) > 0


def test_hardware_is_as_near_as_the_tree_says(features: Features, problem: Make) -> None:
    asked, sibling, server, other, stranger = (
        problem(hardware=name)
        for name in ("ascend-910b3", "ascend-910b2", "box-a2", "small", "never-heard-of")
    )
    distances = [apart(features, "tree", asked, each) for each in (server, sibling, other)]
    assert distances[1] < distances[2]
    assert distances[0] < distances[2]
    assert apart(features, "tree", asked, stranger) > distances[1]


def test_an_unknown_share_is_between_none_and_all(features: Features, problem: Make) -> None:
    none, unknown, whole = (problem(bottlenecks=Settings({"memory": share})) for share in (0, None, 1))
    assert apart(features, "bottlenecks", none, unknown) == pytest.approx(
        apart(features, "bottlenecks", unknown, whole)
    )


def test_rows_do_not_depend_on_their_company(features: Features, tree: HardwareTree, problem: Make) -> None:
    problems = [problem(hardware=name, shape={"M": 7}) for name in ("small", "ascend-910b3", "small")]
    together = features.matrix(problems)
    alone = Features(tree).matrix([problems[1]])
    assert all(np.array_equal(together[block][1], alone[block][0]) for block in BLOCKS)


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("bfloat16", 16),
        ("fp8_e4m3fn", 8),
        ("float8_e5m2", 8),
        ("attn=bfloat16,kv_cache=fp8", 12),
        ("Half", 16),
    ],
)
def test_precision_knows_its_bits(features: Features, problem: Make, name: str, bits: int) -> None:
    row = features.matrix([problem(precision=name)])["precision"][0]
    assert 2 ** (2 * row[-2] + 4) == pytest.approx(bits)
