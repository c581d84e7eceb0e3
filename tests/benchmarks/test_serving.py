"""Serving tables: what a proposal is worth, and what counts as right."""

import pytest

from benchmarks.answers.served_work import DeploymentDomain, DeploymentQuestion, Work
from benchmarks.answers.serving import Scores, Table
from benchmarks.protocols.baselines import UNTRIED
from kg.nouns.layout import ParallelLayout

WORK = Work(device="h200", model="llama-3-3-70b", precision="fp8", input_len=1024, output_len=1024)
QUESTION = DeploymentQuestion(
    work=WORK, domain=DeploymentDomain(frameworks=("vllm",), counts=(1, 2, 4, 8), most_at_once=64)
)
ONE, TWO, FOUR, EIGHT = (("vllm", ParallelLayout(tp=size), False) for size in (1, 2, 4, 8))
TABLE = Table(question=QUESTION, values={ONE: 95.0, TWO: 100.0, FOUR: 50.0, EIGHT: 0.0})


def test_hits_are_within_a_tenth_and_what_keeps_no_limit_costs_most() -> None:
    scores = Scores()
    scores.take(TABLE, [ONE, FOUR], 1.0)
    scores.take(TABLE, [FOUR, EIGHT, TWO], 1.0)
    scores.take(TABLE, [EIGHT, FOUR], 1.0)
    found = scores.to_json()
    assert (found["hit10_k1"], found["hit10_k3"]) == (
        pytest.approx(1 / 3, abs=1e-4),
        pytest.approx(2 / 3, abs=1e-4),
    )
    assert scores.regrets == pytest.approx([0.0513, 0.6931, UNTRIED], abs=1e-3)


def test_what_no_table_holds_counts_as_a_miss_over_all_alone() -> None:
    scores = Scores()
    scores.take(TABLE, [("sglang", ParallelLayout(tp=2), False), TWO], 1.0)
    scores.take(TABLE, [], 1.0)
    scores.take(TABLE, [TWO], 1.0)
    found = scores.to_json()
    assert found["in_table"] == pytest.approx(1 / 3, abs=1e-4)
    assert (found["hit10_k1"], found["log_regret_k1"]) == (1.0, 0.0)
    assert found["whole"] == {
        "hit10_k1": pytest.approx(1 / 3, abs=1e-4),
        "hit10_k3": pytest.approx(2 / 3, abs=1e-4),
    }


def test_a_table_without_a_wrong_layout_asks_nothing() -> None:
    assert TABLE.is_telling
    assert not Table(question=QUESTION, values={ONE: 95.0, TWO: 100.0}).is_telling
    assert not Table(question=QUESTION, values={ONE: 0.0, TWO: 0.0}).is_telling
