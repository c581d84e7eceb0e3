"""Drafting of tokens."""

import numpy as np
import pytest

from recommender.cost_model.settings.drafts import (
    DRAFT_METHODS,
    method_of,
    passes,
    tokens_a_step,
    usual_share,
)

NUMBERS = {name: float(place) for place, name in enumerate(DRAFT_METHODS)}


def tokens(drafted: float, accepted: float, method: str, steps: float = 0.0) -> float:
    """Tokens of one step."""
    columns = (np.array([value]) for value in (drafted, accepted, NUMBERS[method], steps))
    return float(tokens_a_step(*columns)[0])


@pytest.mark.parametrize(
    ("drafted", "accepted", "method", "given"),
    [
        (0, 0.0, "mtp", 1.0),
        (1, 0.0, "mtp", 1.85),
        (3, 0.0, "mtp", 2.5),
        (3, 0.0, "eagle3", 2.26),
        (3, 0.0, "other", 1 + 0.7 + 0.49 + 0.343),
        (3, 0.5, "mtp", 2.5),
        (2.5, 0.0, "eagle3", (2.08 + 2.26) / 2),
    ],
)
def test_what_is_stated_counts_before_what_a_method_had_accepted(
    drafted: float, accepted: float, method: str, given: float
) -> None:
    assert tokens(drafted, accepted, method) == pytest.approx(given)


def test_a_longer_draft_gives_ever_less_more() -> None:
    for method in DRAFT_METHODS:
        more = np.diff([tokens(count, 0.0, method) for count in range(20)])
        assert np.all(more > 0)
        assert np.all(np.diff(more[1:]) <= 1e-12)


def test_a_block_is_drafted_at_once() -> None:
    methods = np.array([NUMBERS[name] for name in ("dflash", "mtp", "eagle3")])
    count, blocks, rows, vocabulary = passes(np.array([7.0, 7.0, 2.0]), methods, np.zeros(3))
    assert list(count) == [1.0, 7.0, 2.0]
    assert list(blocks) == [5.0, 1.0, 1.0]
    assert list(rows) == [7.0, 1.0, 1.0]
    assert list(vocabulary) == [np.inf, np.inf, 32000.0]


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("deepseek_mtp", "mtp"),
        ("NEXTN", "mtp"),
        ("EAGLE3", "eagle3"),
        ("ngram_gpu", "ngram"),
        ("draft_model", "other"),
        ("", "other"),
    ],
)
def test_words_of_programs_name_methods(text: str, method: str) -> None:
    assert method_of(text) == method


def test_the_usual_share_gives_as_many_tokens() -> None:
    for method in DRAFT_METHODS:
        assert tokens(3, usual_share(method, 3), "other") == pytest.approx(tokens(3, 0.0, method))
        of_a_tree = tokens(31, usual_share(method, 31, 5), "other")
        assert of_a_tree == pytest.approx(tokens(31, 0.0, method, 5)) == pytest.approx(tokens(5, 0.0, method))


def test_a_tree_is_drafted_in_as_many_passes_as_it_is_deep() -> None:
    methods = np.full(3, NUMBERS["eagle3"])
    count, *_ = passes(np.array([31.0, 3.0, 2.0]), methods, np.array([5.0, 3.0, 8.0]))
    assert list(count) == [5.0, 3.0, 2.0]
