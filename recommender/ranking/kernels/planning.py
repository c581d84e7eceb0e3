"""The plan for one kernel: a start, two configurations of another kind, changes, what is not for here.

Measured or published cases decide where there are some; the tile model fills what they leave open, and
decides alone where there is none. What it says is said to be modelled.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kg.errors import InfeasibleError, InputError, MissingFactError, NoEvidenceError
from kg.nouns.entities import Problem
from kg.nouns.gain import NORMAL_90
from kg.nouns.values import Settings, Value, show
from kg.triples.hardware_tree import Distance
from recommender.ranking.change import MEASURED, Change, NotHere, Support, recommendation_id
from recommender.ranking.kernels.choice import KernelChoice, choose_rows
from recommender.ranking.kernels.domain import KernelDomain, declared_domain, generated_domain
from recommender.ranking.kernels.question import KernelQuestion, kernel_question
from recommender.ranking.kernels.score import assumptions, tile_times
from recommender.ranking.kernels.spelling import (
    foreign_settings,
    kernel_settings,
    limit_lines,
    not_fitting,
    place,
)
from recommender.ranking.kernels.tile_times import TileTimes
from recommender.ranking.paste import plain_flags
from recommender.ranking.plan.plan import Plan
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.start import ExpectedValue, StartConfiguration, without_promises
from recommender.space.made.kernels import NAMES, plain_name
from recommender.space.space import SearchSpace

LOG_SPREAD, CUBE_LOG_SPREAD = 0.7, 0.25
"""Standard deviation of the logarithm of a good library's time over that of the best tile by the model:
products on six parts of GPUs, and on the cube cores of a 910B (``benchmarks/answers/kernels.py``). The first
stands for all else."""
BASIS = "tile model on the facts of the device; nothing was measured for it"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedKernel:
    """A plan for a kernel, with its configurations as recommendations.

    Attributes:
        plan: The plan.
        recommendations: Start, alternatives and changed ones; empty where cases decide, which are listed
            themselves.
        notes: What was assumed.
    """

    plan: Plan
    recommendations: tuple[Change, ...]
    notes: tuple[str, ...]


def kernel_plan(
    problem: Problem,
    facts: Mapping[str, float | str],
    *,
    version: str,
    k: int = 3,
    cases: Sequence[Change] = (),
    is_near: bool = True,
    declared: SearchSpace | None = None,
    label: str = "",
) -> PlannedKernel | None:
    """Plan for a kernel.

    Args:
        problem: The question.
        facts: Facts of its hardware.
        version: Identifier of the knowledge.
        k: How many configurations to list at most: the start, others, then single changes of it.
        cases: Configurations of known cases, best first, that rules let pass.
        is_near: Whether the cases are near enough to decide; else the model does, in their parameters.
        declared: The space that the user has; None for the one that hardware and shape allow.
        label: Name of the device as people write it.

    Returns:
        None where the operator is no kernel, cases answer that are written in other parameters and the
        question names no language, or cases answer that ran so on this device: nothing is added to them.

    Raises:
        InputError: No such kernel, or a size, precision or language that is wrong; not where there are cases.
        NoEvidenceError: Nothing says how fast a configuration is; the hint names what to measure.
        InfeasibleError: Nothing fits.
    """
    if plain_name(problem.workload.operator) not in NAMES:
        return None
    try:
        question = kernel_question(problem, facts)
        domain = generated_domain(question) if declared is None else declared_domain(question, declared)
        times = tile_times(question, domain.columns)
    except (InputError, NoEvidenceError, MissingFactError, InfeasibleError):
        if cases:
            return None
        raise
    case = next((item for item in cases if set(item.configuration) & set(domain.columns)), None)
    if case is None and cases and "language" not in problem.workload.traits:
        return None
    if case is not None and is_near and declared is None and _runs_as_it_is(case, domain):
        return None
    case = case if is_near else None
    current = dict(problem.current or {})
    broken = domain.broken(current)
    choice = choose_rows(question, domain, times, {} if case is None else case.configuration)
    if choice is None:
        if case is not None:
            return None  # measured, and outside of what the model knows
        raise InfeasibleError(
            f"no configuration of {question.operator} fits {question.device.id}",
            hint="; ".join(dict.fromkeys(item.reason for item in domain.space.constraints)),
        )
    kernel = _Kernel(
        question=question,
        domain=domain,
        times=times,
        case=case,
        current={} if broken else current,
        label=label or question.device.id,
    )
    plan = kernel.plan(choice, problem, version, not_fitting(current, broken))
    rows = () if case is not None else (choice.start, *choice.others, *(row for row, _ in choice.steps))
    return PlannedKernel(
        plan=plan,
        recommendations=tuple(kernel.recommendation(row, problem, version) for row in rows[:k]),
        notes=(*question.notes, *assumptions(question), *domain.notes),
    )


def _runs_as_it_is(case: Change, domain: KernelDomain) -> bool:
    """True if a case was timed for this very question, or here by a kernel without what it leaves open."""
    is_here = case.distance_class == Distance.SAME_DEVICE.name.lower()
    leaves = not set(domain.columns) <= set(case.configuration)
    return case.tier in {MEASURED, "published"} or (is_here and leaves)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kernel:
    """A kernel's configurations on the way to a plan.

    Attributes:
        question: What is asked.
        domain: Its configurations.
        times: Their expected times.
        case: The case that decides; None without one.
        current: What is set now, where that can run.
        label: Name of the device.
    """

    question: KernelQuestion
    domain: KernelDomain
    times: TileTimes
    case: Change | None
    current: Mapping[str, Value]
    label: str

    def plan(self, choice: KernelChoice, problem: Problem, version: str, broken: tuple[NotHere, ...]) -> Plan:
        """The plan from the rows that were chosen."""
        question, start = self.question, self._start(choice.start, self.case)
        return Plan(
            understood={
                "operator": question.operator,
                "sizes": dict(question.sizes),
                "precision": question.number,
                "language": str(question.language),
                "device": question.device.id,
                "configurations": len(self.domain),
                "assumed": [*question.notes, *assumptions(question)],
            },
            start=start,
            alternatives=without_promises(start, (self._start(row, None) for row in choice.others)),
            changes=tuple(
                self._change(row, name, choice.start, problem, version) for row, name in choice.steps
            ),
            not_here=(*broken, *foreign_settings(question, self.domain)),
        )

    def recommendation(self, row: int, problem: Problem, version: str) -> Change:
        """A row as a recommendation, which has no gain: nothing was measured."""
        configuration = Settings(self.domain.configuration(row))
        return Change(
            id=recommendation_id(problem, configuration, version),
            title="start configuration",
            configuration=configuration,
            flags=plain_flags(configuration),
            gain=None,
            against="",
            basis=BASIS,
            evidence=(Support(kind="modelled", says=self.times.reason(row)),),
            conditions=("modelled, not measured: time it beside the alternatives",),
        )

    def _start(self, row: int, case: Change | None) -> StartConfiguration:
        configuration = self.domain.configuration(row)
        measured = {} if case is None else dict(case.configuration)

        def origin(key: str) -> Origin:
            if key in measured:
                return Origin.CASE
            if key in self.current and self.current[key] == configuration.get(key):
                return Origin.CURRENT
            return Origin.COST_MODEL

        seconds = float(self.times.total_s[row])
        is_cube = self.question.device.ascend and self.question.kernel.names[0] == "gemm"
        wide = math.exp(NORMAL_90 * (CUBE_LOG_SPREAD if is_cube else LOG_SPREAD))
        basis = BASIS if case is None else f"{case.basis}; what it leaves open: {BASIS}"
        return StartConfiguration(
            framework=self.question.framework,
            version=self.question.version,
            fits=True,
            settings=kernel_settings(self.question, configuration, origin),
            expected=(
                ExpectedValue(
                    metric="latency",
                    unit="s",
                    value=seconds,
                    low=seconds / wide,
                    high=seconds * wide,
                    tier="modelled",
                ),
            ),
            because=(
                basis,
                self.times.reason(row),
                place(self.question, self.label),
                *self._overlap(configuration),
                *limit_lines(self.domain, configuration),
                *self._against_current(row),
            ),
        )

    def _overlap(self, configuration: Mapping[str, Value]) -> tuple[str, ...]:
        """Settings that let transfers run beside products, by the language's own means."""
        if configuration.get("dbL0A") == 2 and configuration.get("dbL0B") == 2:
            return (
                "L0A and L0B are used as a double buffer: the next base blocks come in beside the product",
            )
        if configuration.get("multibuffer") is True:
            return ("multibuffer overlaps transfers with products; each block takes its room twice",)
        return ()

    def _against_current(self, row: int) -> tuple[str, ...]:
        """Modelled time of what is set now, completed as well as it can be, against that of the row."""
        own = {name: value for name, value in self.current.items() if name in self.domain.columns}
        rows = self.domain.rows_with(own)
        if not own or not rows.any():
            return ()
        seconds = float(np.where(rows, self.times.total_s, np.inf).min())
        ratio = seconds / float(self.times.total_s[row])
        stated = ", ".join(f"{name}={show(value)}" for name, value in own.items())
        return (f"with {stated} as it is now: {ratio:.2f}x the modelled time at best",)

    def _change(self, row: int, name: str, start: int, problem: Problem, version: str) -> Change:
        """A change of one parameter, without a gain: the model does not tell so small a difference."""
        new, old = self.domain.configuration(row), self.domain.configuration(start)
        ratio = float(self.times.total_s[row] / self.times.total_s[start])
        before = {item.key: item.value for item in self._settings(old)}
        settings = tuple(item for item in self._settings(new) if before.get(item.key) != item.value)
        return Change(
            id=recommendation_id(problem, Settings(new), version),
            title=f"{name}={show(new[name])} instead of {show(old[name])}",
            settings=settings,
            gain=None,
            tier="modelled",
            evidence=(
                Support(kind="modelled", says=f"{ratio:.2f}x the start's time, within the model's error"),
            ),
        )

    def _settings(self, configuration: Mapping[str, Value]) -> tuple[PlanSetting, ...]:
        return kernel_settings(self.question, configuration, lambda _: Origin.COST_MODEL)
