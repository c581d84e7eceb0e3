import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from embeddings.encoder import NO_TEXT, TEXT_WIDTH, ProblemEncoder, Projection
from embeddings.features import WIDTH
from embeddings.text_encoder import DEFAULT_HASH, OnnxTextEncoder
from embeddings.weights import BlockWeights
from kg.errors import MissingDependencyError
from kg.nouns.entities import Problem
from kg.triples.hardware_tree import HardwareTree
from tests.hashing_encoder import HashingEncoder

Make = Callable[..., Problem]


def test_squared_distance_is_the_weighted_sum_over_blocks(tree: HardwareTree, problem: Make) -> None:
    encoder = ProblemEncoder(tree, HashingEncoder(), BlockWeights(shape=0.5, tree=3, text=2))
    pair = [problem(), problem(shape={"M": 1}, hardware="small")]
    blocks = encoder.blocks(pair)
    weights = encoder.weights.as_dict()
    parts = [weights[name] ** 2 * np.sum((rows[0] - rows[1]) ** 2) for name, rows in blocks.items()]
    one, other = encoder.encode(pair)
    assert set(blocks) == set(weights)
    assert np.sum((one - other) ** 2) == pytest.approx(sum(parts), rel=1e-5)


def test_vectors_take_other_weights_by_factors(tree: HardwareTree, problem: Make) -> None:
    encoder = ProblemEncoder(tree, HashingEncoder(), BlockWeights(shape=0.5, limits=0.0))
    other = BlockWeights(shape=2.0, tree=3.0, text=0.25, limits=0.0)
    made = encoder.encode([problem()]) * encoder.factors(other)
    assert made == pytest.approx(encoder.reweighted(other).encode([problem()]), rel=1e-5)
    assert encoder.reweighted(other).hash != encoder.hash


def test_dimension_and_hash_cover_what_changes_vectors(tree: HardwareTree) -> None:
    encoders = [
        ProblemEncoder(tree, None),
        ProblemEncoder(tree, HashingEncoder(64)),
        ProblemEncoder(tree, HashingEncoder(32)),
        ProblemEncoder(tree, HashingEncoder(64), BlockWeights(shape=7)),
    ]
    assert [encoder.dimension for encoder in encoders] == [WIDTH, *[WIDTH + TEXT_WIDTH] * 3]
    assert len({encoder.hash for encoder in encoders}) == len(encoders)
    assert ProblemEncoder(tree, HashingEncoder(64)).hash == encoders[1].hash
    assert 128 <= WIDTH + TEXT_WIDTH <= 192


def test_the_nearest_problem_is_the_one_most_alike(tree: HardwareTree, problem: Make) -> None:
    encoder = ProblemEncoder(tree, HashingEncoder())
    others = [
        problem(hardware="ascend-910b2"),
        problem(hardware="small"),
        problem(operator="softmax", shape={"M": 2}),
        problem(shape={"M": 1, "N": 128, "K": 64}),
    ]
    distances = np.linalg.norm(encoder.encode(others) - encoder.query(problem()), axis=1)
    assert distances.argmin() == 0


def test_without_a_text_model_numbers_answer_alone_and_say_so(tree: HardwareTree, problem: Make) -> None:
    encoder = ProblemEncoder(tree, None)
    assert encoder.query(problem()).shape == (WIDTH,)
    assert len(encoder.notes) == 1
    assert encoder.notes[0].startswith(NO_TEXT)


def test_a_question_survives_a_text_model_that_went_missing(
    tree: HardwareTree, problem: Make, tmp_path: Path
) -> None:
    encoder = ProblemEncoder(tree, OnnxTextEncoder(tmp_path))
    with pytest.raises(MissingDependencyError):
        encoder.encode([problem()])
    vector = encoder.query(problem())
    encoder.query(problem())
    assert np.array_equal(vector[-TEXT_WIDTH:], np.zeros(TEXT_WIDTH))
    assert np.array_equal(vector[:WIDTH], ProblemEncoder(tree, None).query(problem()))
    assert len(encoder.notes) == 1


def test_the_shipped_projection_is_orthonormal_and_for_the_pinned_model(tmp_path: Path) -> None:
    shipped = Projection.of(OnnxTextEncoder(tmp_path))
    assert OnnxTextEncoder(tmp_path).hash == DEFAULT_HASH
    assert shipped.hash == Projection.shipped().hash
    assert np.allclose(shipped.directions.T @ shipped.directions, np.eye(TEXT_WIDTH), atol=1e-5)


def test_a_drawn_projection_keeps_distances_roughly() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(40, 384)).astype(np.float32)
    short = Projection.draw(384).apply(vectors)
    ratios = np.linalg.norm(short[:20] - short[20:], axis=1) / np.linalg.norm(
        vectors[:20] - vectors[20:], axis=1
    )
    # The spread of one ratio is about 1/sqrt(2 * 64) = 9 %, its mean over 20 pairs within 2 %.
    assert abs(ratios.mean() - 1) < 0.1
    assert ratios.std() < 0.2


def test_negative_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        BlockWeights(shape=-1)


def test_encoding_imports_nothing_heavy() -> None:
    script = (
        "import sys, embeddings.encoder, embeddings.index, embeddings.text_cache\n"
        "heavy = {'torch', 'sentence_transformers', 'onnxruntime', 'tokenizers', 'faiss', 'sklearn'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
