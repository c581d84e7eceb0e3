"""Deployments of served work that no plan decides: engines, sizes, loads and drafts as a table has them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from kg.errors import InputError
from kg.nouns.entities import Limit
from kg.nouns.values import Value
from kg.triples.hardware_tree import HardwareTree
from recommender.cost_model.question import Question, QuestionFacts
from recommender.ranking.deployments.deployment import RatedDeployment, rated_deployments

ENGINES = ("tensorrt-llm", "vllm", "atom", "sglang")
"""Engines in the order in which deployments of one price are proposed: by measured over modelled time in the
tables of InferenceMAX (0.78, 0.85, 0.86, 1.0, medians on the same GPUs)."""
DRAFTED = 2
"""Tokens drafted for each step where drafting is on and nothing says how many; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work that a deployment serves.

    Attributes:
        device: Id of the device.
        model: Id of the model.
        precision: Canonical name of the number format of the weights.
        input_len: Tokens of a prompt.
        output_len: Tokens of an answer.
    """

    device: str
    model: str
    precision: str
    input_len: float
    output_len: float

    @property
    def lengths(self) -> tuple[float, float]:
        """Doublings of both lengths."""
        return math.log2(self.input_len), math.log2(self.output_len)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentDomain:
    """The choices that are open.

    Attributes:
        frameworks: Engines that may run.
        counts: Numbers of devices of one instance.
        most_at_once: Requests at once that one instance gets at most.
        drafts: Whether tokens may be drafted: the model or a smaller one proposes them.
    """

    frameworks: tuple[str, ...]
    counts: tuple[int, ...]
    most_at_once: float
    drafts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentQuestion:
    """The question that deployments answer.

    Attributes:
        work: What is served.
        domain: What is open.
        limits: Bounds on ``tpot``, ``ttft``, ``ttft_p99`` or ``latency``, in seconds.
    """

    work: Work
    domain: DeploymentDomain
    limits: tuple[Limit, ...] = ()


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
        found: list[RatedDeployment] = []
        for engine in sorted(domain.frameworks, key=lambda name: (*ENGINES, name).index(name)):
            for count in domain.counts:
                base = self._base(question.work, engine, count)
                for drafts in (False, True) if domain.drafts else (False,):
                    more = {"speculative_tokens": DRAFTED} if drafts else {}
                    asked = replace(base, settings={**base.settings, **more})
                    found += [
                        replace(one, deployment=replace(one.deployment, drafts=drafts))
                        for one in rated_deployments(asked, engine, (count,), domain.most_at_once)
                    ]
        return found

    def _base(self, work: Work, engine: str, count: int) -> Question:
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
        return self._about(
            Question(model=model, machine=machine, phase="serving", settings=settings, engine=engine)
        )
