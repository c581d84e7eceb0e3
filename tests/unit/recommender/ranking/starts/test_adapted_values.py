"""Values of recipes adapted to lengths and requests."""

import pytest

from kg.nouns.layout import ParallelLayout
from recommender.ranking.starts.lengths import adapted, falls_short
from tests.unit.recommender.ranking.starts.situations import agreed, situation

ASKED = situation(input_len=2000, output_len=100, concurrency=30)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("--max-model-len", "3072", "input and output lengths"),
        ("--context-length", "3072", "input and output lengths"),
        ("--max-num-seqs", "8", "requests at once"),  # 30 requests on four engines
        ("--max-running-requests", "30", "requests at once"),  # over all of them
        ("--max-num-batched-tokens", "8", "requests at once"),  # a token of each request in a step
        ("--block-size", "7", ""),
    ],
)
def test_lengths_and_requests_follow_from_the_question(key: str, value: str, why: str) -> None:
    assert adapted(agreed(key, "7"), ASKED, ParallelLayout(tp=2, dp=4), load=30) == (value, why)


def test_without_them_the_value_of_the_recipe_stays() -> None:
    for key in ("--max-model-len", "--max-num-seqs", "--max-running-requests"):
        assert adapted(agreed(key, "7"), situation(), None) == ("7", "")


@pytest.mark.parametrize(
    ("key", "value", "at_once", "short"),
    [
        ("compilation_config.cudagraph_capture_sizes", "[1, 8, 80]", 128, True),
        ("compilation_config.cudagraph_capture_sizes", "[1, 8, 80]", 80, False),
        ("--cuda-graph-max-bs", "64", 256, True),
        ("--cuda-graph-max-bs", "64", None, False),
        ("--block-size", "1", 256, False),
    ],
)
def test_graphs_are_captured_for_the_load(key: str, value: str, at_once: float | None, short: bool) -> None:
    assert falls_short(agreed(key, value), at_once) is short


@pytest.mark.parametrize(
    ("listed", "load", "cut"),
    [
        ("1 2 4 8 16", 6, "1 2 4 6"),
        ("16 32 64", 4, "1 2 4"),
        ("[1, 2, 4, 8]", 4, "[1, 2, 4]"),
        ("1 2 4", 64, "1 2 4"),
        ("16 32", 1, "1"),
    ],
)
def test_captured_sizes_are_cut_to_the_load_of_an_engine(listed: str, load: float, cut: str) -> None:
    assert adapted(agreed("--cuda-graph-bs", listed), situation(), ParallelLayout(tp=4), load)[0] == cut
    halves = adapted(agreed("--cuda-graph-bs", listed), situation(), ParallelLayout(tp=2, dp=2), 2 * load)[0]
    assert halves == cut
