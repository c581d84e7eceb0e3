"""The deployments of a question: instances of every size at every load, priced as a plan prices them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.nouns.layout import DEGREES
from recommender.cost_model.layout_domain import with_count
from recommender.cost_model.question import Question, QuestionFacts
from recommender.ranking.deployments.deployment import Deployment, RatedDeployment
from recommender.ranking.starts.layout_options import LayoutQuestion, priced_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kg.nouns.values import Value
    from kg.triples.hardware_tree import HardwareTree
    from recommender.ranking.deployments.deployment import DeploymentQuestion, Work
    from recommender.ranking.starts.layout_options import LayoutOption

PREFILL, DECODE = "prefill", "decode"
ENGINES = ("tensorrt-llm", "vllm", "atom", "sglang")
"""Engines in the order in which deployments of one price are proposed: by measured over modelled time in the
tables of InferenceMAX (0.78, 0.85, 0.86, 1.0, medians on the same GPUs)."""
DRAFTED = 2
"""Tokens drafted for each step where drafting is on and nothing says how many; a choice."""


class Deployments:
    """Rates deployments by the cost model.

    Args:
        tree: Knows hardware.
        sizes_of: Facts of a model by its id.
        about: Gives a question what measured runs near by make of its prices; None for nothing.
    """

    def __init__(
        self,
        tree: HardwareTree,
        sizes_of: Callable[[str], Mapping[str, Value]],
        about: Callable[[Question], Question] | None = None,
    ) -> None:
        self._tree = tree
        self._sizes_of = sizes_of
        self._about = about or (lambda question: question)

    def rate(self, question: DeploymentQuestion) -> list[RatedDeployment]:
        """Every layout of the domain that fits, at every load; of engines the one that is fastest first.

        Raises:
            InputError: It is no model that is served token by token.
            MissingFactError: A fact of the model or the device is not known.
        """
        domain = question.domain
        engines = sorted(domain.frameworks, key=lambda name: (*ENGINES, name).index(name))
        return [
            one
            for engine in engines
            for count in domain.counts
            for drafts in ((False, True) if domain.drafts else (False,))
            for one in self._rated(question, engine, count, drafts=drafts)
        ]

    def _rated(
        self, question: DeploymentQuestion, engine: str, count: int, *, drafts: bool
    ) -> Iterator[RatedDeployment]:
        domain, work = question.domain, question.work
        base = question.base or self._base(work, engine, domain.version, count)
        kept = {
            name: value
            for name, value in base.settings.items()
            if name not in {*DEGREES.values(), "batch", "concurrency"}
        }
        if drafts:
            kept["speculative_tokens"] = DRAFTED
        if domain.role:
            kept["separation"] = "separate"
        asked = LayoutQuestion(
            question=with_count(replace(base, settings=kept), count),
            objective="throughput",
            loads=(1.0,) if domain.role == PREFILL else domain.loads,  # a prompt after the other
        )
        for option in priced_options(asked):
            is_copied = option.layout.dp > 1 and option.layout.ep == 1
            if not is_copied and option.log_merit is not None:  # copies are instances of their own
                yield _rated(work, engine, domain.version, option, role=domain.role, drafts=drafts)

    def _base(self, work: Work, engine: str, version: str, count: int) -> Question:
        """The question for some work alone; a number format that the device lacks is widened."""
        facts = QuestionFacts.look_up(work.model, self._sizes_of(work.model), self._tree, work.device)
        model, machine = facts.model_sizes(), facts.machine(count)
        if not model.layers:
            raise InputError(f"{work.model} does not answer token by token")
        settings = {
            "input_len": work.input_len,
            "output_len": work.output_len,
            "precision": machine.device.computed_precision(work.precision),
        }
        asked = Question(
            model=model, machine=machine, phase="serving", settings=settings, engine=engine, version=version
        )
        return self._about(asked)


def _rated(
    work: Work, engine: str, version: str, option: LayoutOption, *, role: str, drafts: bool
) -> RatedDeployment:
    """A priced layout as an instance under its load."""
    results, layout = option.results, option.layout
    at_once = float(str(option.settings["batch"])) * layout.dp
    first_s = 0.0 if role == DECODE else results["ttft_s"]
    token_s = 0.0 if role == PREFILL else results["tpot_s"]
    request_s = first_s + work.output_len * token_s
    requests = results["throughput"] / work.output_len
    if role == PREFILL:
        requests = results["prefill_throughput"] / work.input_len
    elif role == DECODE:
        requests = at_once / request_s
    if layout.dp > 1:  # replicas of the attention alone, in one instance
        layout = replace(layout, tp=layout.tp * layout.dp, dp_attention=True)
    return RatedDeployment(
        deployment=Deployment(
            framework=engine, version=version, layout=layout, drafts=drafts, concurrency=at_once, role=role
        ),
        throughput=requests * work.output_len,
        requests_per_s=requests,
        tpot_s=token_s,
        ttft_s=first_s,
        latency_s=request_s,
        spread=option.spread,
        memory_bytes=option.memory_bytes,
        watts=results.get("power_w"),
    )
