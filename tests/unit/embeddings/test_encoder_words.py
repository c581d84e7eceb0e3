from collections.abc import Callable

from embeddings.encoder import words
from kg.nouns.entities import Better, Problem, WorkloadKind
from kg.nouns.values import Settings
from kg.triples.hardware_tree import HardwareTree


def test_words_name_what_where_why_and_no_numbers(
    tree: HardwareTree, problem: Callable[..., Problem]
) -> None:
    asked = problem(
        kind=WorkloadKind.TRAINING,
        operator="pretrain",
        model="meta-llama/Llama-3-8B",
        count=8,
        metric="throughput",
        better=Better.HIGHER,
        bottlenecks=Settings({"slow-link": 0.28}),
    )
    assert words(asked, tree) == (
        "pretrain training of meta llama on ascend 910b3, ascend 910b, a2, huawei; "
        "slow link; maximise throughput"
    )


def test_problems_that_differ_in_numbers_share_their_words(
    tree: HardwareTree, problem: Callable[..., Problem]
) -> None:
    texts = {words(problem(shape={"M": m}, count=m), tree) for m in (1, 2, 4096)}
    assert texts == {"gemm operator on ascend 910b3, ascend 910b, a2, huawei; minimise latency"}


def test_a_model_that_is_only_a_size_keeps_its_name(
    tree: HardwareTree, problem: Callable[..., Problem]
) -> None:
    assert "of 7b on" in words(problem(model="7B"), tree)
