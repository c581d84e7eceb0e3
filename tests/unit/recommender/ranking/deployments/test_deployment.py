"""Deployments rated by the cost model."""

import pytest

from kg.nouns.knowledge import Model
from kg.triples.model_facts import facts_of
from kg.triples.serialisation import from_graph
from recommender.cost_model.question import Question, QuestionFacts
from recommender.ranking.deployments.deployment import PREFILL, RatedDeployment, rated_deployments
from recommender.workspace.workspace import Workspace

ANSWER = 1024


def rated(
    shipped: Workspace,
    model: str,
    device: str,
    *counts: int,
    precision: str = "bf16",
    most: float = 64.0,
    answer: int = ANSWER,
    role: str = "",
) -> list[RatedDeployment]:
    facts = QuestionFacts.look_up(
        model, facts_of(from_graph(shipped.graph, Model, model)), shipped.hardware, device
    )
    settings = {"input_len": 1024, "output_len": answer, "precision": precision}
    base = Question(
        model=facts.model_sizes(),
        machine=facts.machine(counts[-1]),
        phase="serving",
        settings=settings,
        engine="vllm",
    )
    return list(rated_deployments(base, "vllm", counts, most, role))


def test_a_smaller_memory_holds_fewer_layouts(shipped: Workspace) -> None:
    assert rated(shipped, "llama-3-3-70b", "h100-pcie", 1) == []
    assert rated(shipped, "llama-3-3-70b", "h100-pcie", 4)


def test_experts_are_spread_only_where_there_are_some(shipped: Workspace) -> None:
    dense = rated(shipped, "llama-3-3-70b", "h200", 1, 2, 4, 8, precision="fp8")
    assert {item.deployment.layout.ep for item in dense} == {1}
    mixed = {item.deployment.layout for item in rated(shipped, "qwen3-30b-a3b", "ascend-910c", 4, most=16.0)}
    assert {(one.ep > 1, one.dp_attention) for one in mixed} == {(False, False), (True, False), (True, True)}
    assert {one.devices for one in mixed} == {4}


def test_every_replica_has_as_many_requests_as_another(shipped: Workspace) -> None:
    few = [item.deployment for item in rated(shipped, "qwen3-30b-a3b", "ascend-910c", 2, 4, 8, most=7.0)]
    assert {item.layout.dp for item in few} == {1, 2, 4}  # seven requests are too few for eight replicas
    assert all(item.concurrency % item.layout.dp == 0 and 0 < item.concurrency <= 7 for item in few)


def test_a_deployment_has_the_price_of_the_same_layout_in_a_plan(shipped: Workspace) -> None:
    raw = {"model": "qwen3-32b", "phase": "serving", "hardware": "ascend-910b3", "count": 8}
    problem, _ = shipped.problem({**raw, "traits": {"concurrency": 256}})
    start = shipped.recommend(problem).starts[0]
    decision = shipped.ask.decision(problem)
    assert decision is not None
    assert decision.question is not None
    found = rated_deployments(decision.question, decision.situation.framework.id, [8], 256.0)
    same = [
        one for one in found if one.deployment.layout == start.layout and one.deployment.concurrency == 256
    ]
    assert [one.throughput for one in same] == [pytest.approx(start.expected[0].value, rel=1e-3)]


def test_what_answers_in_one_pass_hands_no_cache_over(shipped: Workspace) -> None:
    """A card without a known network serves it, and its first token waits for no link."""
    [alone] = rated(shipped, "llama-3-1-8b", "l40s", 1, answer=1, role=PREFILL)
    assert alone.requests_per_s * 1024 == pytest.approx(alone.throughput)
    first, moved = (rated(shipped, "llama-3-1-8b", "h100-sxm", 1, answer=n, role=PREFILL)[0] for n in (1, 2))
    assert first.ttft_s < moved.ttft_s
