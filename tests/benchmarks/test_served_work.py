"""Deployments of served work: engines, drafts and number formats."""

from dataclasses import replace

import pytest

from benchmarks.answers.served_work import DeploymentDomain, DeploymentQuestion, Deployments, Work
from kg.errors import MissingFactError, UnknownEntityError
from kg.nouns.knowledge import Model
from kg.triples.model_facts import facts_of
from kg.triples.serialisation import from_graph
from recommender.ranking.deployments.deployment import RatedDeployment
from recommender.workspace.workspace import Workspace

WORK = Work(device="h200", model="llama-3-3-70b", precision="fp8", input_len=1024.0, output_len=1024.0)
DOMAIN = DeploymentDomain(frameworks=("sglang", "vllm"), counts=(2,), most_at_once=4.0, drafts=True)


def rated(shipped: Workspace, work: Work) -> list[RatedDeployment]:
    asked = DeploymentQuestion(work=work, domain=DOMAIN)

    def sizes_of(model: str) -> dict[str, float | str]:
        try:
            return facts_of(from_graph(shipped.graph, Model, model))
        except UnknownEntityError:
            return {}

    return Deployments(shipped.hardware, sizes_of).rate(asked)


def test_every_engine_is_asked_with_drafts_and_without(shipped: Workspace) -> None:
    found = [one.deployment for one in rated(shipped, WORK)]
    order = list(dict.fromkeys((one.framework, one.drafts) for one in found))
    assert order == [("vllm", False), ("vllm", True), ("sglang", False), ("sglang", True)]


def test_a_format_that_the_device_lacks_is_widened_to_one_that_it_has(shipped: Workspace) -> None:
    assert rated(shipped, replace(WORK, device="tesla-v100-sxm2-32gb", model="qwen3-8b"))


def test_a_fact_that_is_missing_is_named(shipped: Workspace) -> None:
    with pytest.raises(MissingFactError, match="no-such-model: hidden_size is not known"):
        rated(shipped, replace(WORK, model="no-such-model"))
