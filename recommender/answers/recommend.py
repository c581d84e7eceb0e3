"""Answers a question with ranked recommendations of cases and strategies, or an abstention."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kg.errors import InfeasibleError, InputError, NoEvidenceError
from kg.nouns.entities import WorkloadKind
from kg.nouns.values import Settings
from kg.triples.hardware_tree import Distance
from recommender.answers.answer import Abstention, Answer
from recommender.applicability.unread_names import without_unread
from recommender.calibration.outlook import ABSTAIN_ABOVE
from recommender.ranking.change import changes
from recommender.ranking.changes.ranked_strategy import kinds_of
from recommender.ranking.changes.recommendations import as_change, choose
from recommender.ranking.combination import combine
from recommender.ranking.deployments.disaggregation import beside, separation_change
from recommender.ranking.feasibility.rules import NUMBER_FORMAT
from recommender.ranking.plan.planner import parted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kg.nouns.entities import Limit, Problem
    from kg.nouns.values import Value
    from recommender.ranking.cases.recommendations import CaseChoice, CaseChooser
    from recommender.ranking.change import Change
    from recommender.ranking.changes.ranked_strategy import RankedStrategy
    from recommender.ranking.changes.strategies import StrategyRanker
    from recommender.ranking.feasibility.feasibility import FeasibilityRules, QuestionFeasibility, Refusal
    from recommender.ranking.kernels.planning import PlannedKernel
    from recommender.ranking.plan.planner import Planned, Planner
    from recommender.retrieval.neighbours import Neighbour, Retriever
    from recommender.space.space import SearchSpace

LEAST, MOST = 1, 50
"""Bounds on the number of recommendations in a request."""

SEPARATION = "prefill-decode-separation"
"""Strategy of engines that prefill and others that decode."""
_BY_STRATEGY = frozenset({WorkloadKind.TRAINING, WorkloadKind.SERVING})


@dataclass(frozen=True, slots=True)
class Recommender:
    """Answers questions, from the cases, knowledge and cost model of a workspace.

    Attributes:
        retriever: Finds the nearest known problems.
        cases: Chooses among their configurations.
        strategies: Ranks the strategies of the graph.
        planner: Makes the plan for a model.
        feasibility: Says what can run.
        version: Identifier of the knowledge that answers rest on.
    """

    retriever: Retriever
    cases: CaseChooser
    strategies: StrategyRanker
    planner: Planner
    feasibility: FeasibilityRules
    version: str

    def answer(
        self,
        problem: Problem,
        k: int,
        *,
        model: Mapping[str, Value],
        notes: Sequence[str] = (),
        space: SearchSpace | None = None,
    ) -> Answer:
        """The k configurations to try.

        Args:
            problem: The question.
            k: How many at most.
            model: Facts of the model, for rules of divisibility.
            notes: What was assumed when the question was read.
            space: The configurations that the kernel or operator can take; None for what is known of it.

        Raises:
            InputError: There is a space, and the question is about a whole model.
            NoEvidenceError: Nothing known is near enough; the hint says what to measure.
            InfeasibleError: All that is known was refused; the message names the rules.
        """
        k = min(max(k, LEAST), MOST)
        if space is not None and problem.workload.kind in _BY_STRATEGY:
            hint = "layouts of a model are searched with: tunegraph search run FILE"
            raise InputError("--space is the space of a kernel or an operator", hint=hint)
        is_of_model = problem.workload.kind in _BY_STRATEGY and bool(problem.workload.model)
        neighbours = self.retriever.find(without_unread(problem, model) if is_of_model else problem)
        rules = self.feasibility.of(problem, model, neighbours)
        if problem.workload.kind in _BY_STRATEGY and problem.workload.model:
            # a number format that the chip lacks rules out every configuration: no plan need be sought
            if formats := [item for item in rules.check(Settings()) if item.rule == NUMBER_FORMAT]:
                raise _nothing(problem, neighbours, formats)
            planned = self.planner.plan(problem, k, model=model, rules=rules)
            if planned is not None:
                return self._planned(problem, planned, neighbours, rules, notes, k)
        choice = self.cases.choose(problem, neighbours, k, rules, space)
        cases, refused = list(choice.recommendations), list(choice.refused)
        if problem.workload.kind in _BY_STRATEGY:  # names of frameworks and formats are of one vendor
            cases = [item for item in cases if item.distance_class != Distance.OTHER_VENDOR.name.lower()]
        ranked: list[RankedStrategy] = []
        if problem.workload.kind in _BY_STRATEGY:
            ranked, more = self.strategies.rank(problem)
            broken = {item.strategy.id: rules.check(item.strategy.configuration) for item in ranked}
            refused = [*refused, *more, *(refusal for found in broken.values() for refusal in found)]
            ranked = [item for item in ranked if not broken[item.strategy.id]]
        chosen = [as_change(item, problem, self.version) for item in choose(ranked, k)]
        if problem.workload.kind in _BY_STRATEGY:
            cases = [item for item in cases if not self._is_for_strategies(item, ranked, problem)]
        recommendations = [_with_warnings(item, rules) for item in _merged(cases, chosen, k)]
        # a far nearest case is a reason to abstain for cases alone: strategies state where they hold
        abstention = None if chosen or not recommendations else _abstention(choice, recommendations)
        kernel = self._kernel(problem, k, recommendations, refused, space, is_near=abstention is None)
        if kernel is not None:
            recommendations, notes = [*kernel.recommendations, *recommendations], [*notes, *kernel.notes]
            abstention = None if kernel.recommendations else abstention
        if not recommendations:
            if fit := self.planner.starts.fit(problem):
                raise NoEvidenceError(
                    f"no program that trains on {problem.hardware.name} is modelled; {fit.words}",
                    hint="tunegraph estimate shows the parts of its memory; --software names a program",
                )
            raise _nothing(problem, neighbours, refused, is_declared=space is not None)
        return Answer(
            problem=problem,
            version=self.version,
            recommendations=tuple(recommendations),
            plan=None if kernel is None else kernel.plan,
            notes=tuple(dict.fromkeys([*notes, *self.retriever.encoder.notes, *rules.skipped])),
            unchecked=_unchecked(problem, recommendations, rules),
            refused=tuple(refused),
            neighbours=tuple(item.to_json() for item in neighbours[:10]),
            ceiling=self.strategies.ceiling(problem),
            together=combine(recommendations, problem.bottlenecks, kinds_of(ranked)),
            regret={} if any(item.strategy for item in recommendations) else choice.regret,
            abstention=abstention,
        )

    def _kernel(
        self,
        problem: Problem,
        k: int,
        cases: Sequence[Change],
        refused: Sequence[Refusal],
        space: SearchSpace | None,
        *,
        is_near: bool,
    ) -> PlannedKernel | None:
        """The plan for a single kernel; None for a model, and where all that is known was refused."""
        if problem.workload.kind in _BY_STRATEGY or (refused and not cases):
            return None
        from recommender.ranking.kernels.planning import kernel_plan

        hardware = problem.hardware.name
        tree = self.feasibility.tree
        node = tree.node(hardware)
        label = hardware if node is None else node.label
        return kernel_plan(
            problem,
            tree.facts(hardware),
            version=self.version,
            k=k,
            cases=cases,
            is_near=is_near,
            declared=space,
            label=label,
        )

    def _planned(
        self,
        problem: Problem,
        planned: Planned,
        neighbours: Sequence[Neighbour],
        rules: QuestionFeasibility,
        notes: Sequence[str],
        k: int,
    ) -> Answer:
        apart = beside(problem, planned.starts)
        plan = planned.plan
        if apart is not None:  # what is priced is not advised as a document has it
            changes = [one for one in (*plan.changes, *plan.further) if one.strategy != SEPARATION]
            moved = separation_change(problem, planned.starts, apart, self.version)
            if moved is not None:
                changes.insert(_place(moved, changes), moved)
            first, further = parted(changes, k, is_priced=True)
            plan = replace(plan, changes=first, further=further)
        recommendations = [_with_warnings(item, rules) for item in plan.changes]
        open_ended = {change.id for change in plan.changes if change.provided or change.against}
        unconditional = [item for item in recommendations if item.id not in open_ended]
        return Answer(
            problem=problem,
            version=self.version,
            recommendations=tuple(recommendations),
            plan=plan,
            separation=apart,
            device=self._device(problem),
            priced=planned.starts.question,
            assumed=planned.starts.assumed,
            support=planned.starts.support,
            notes=tuple(
                note
                for note in dict.fromkeys(
                    [
                        *notes,
                        *planned.starts.notes,
                        *_unsaid(rules.skipped, planned.starts.notes),
                    ]
                )
                if note
            ),
            unchecked=tuple(
                limit
                for limit in _unchecked(problem, recommendations, rules)
                if not planned.starts.checks(limit.metric)
            ),
            refused=planned.refused,
            neighbours=tuple(item.to_json() for item in neighbours[:10]),
            ceiling=self.strategies.ceiling(problem),
            together=combine(unconditional, problem.bottlenecks, kinds_of(planned.ranked)),
        )

    def _device(self, problem: Problem) -> str:
        """The device of the server that a question names; empty where it names a device."""
        node = self.feasibility.tree.node(problem.hardware.name)
        return node.device if node is not None else ""

    def _is_for_strategies(self, case: Change, ranked: Sequence[RankedStrategy], problem: Problem) -> bool:
        """True if a strategy sets just the same as a case: it speaks then, or was left out for a reason.

        Only where a strategy fits and has no gain of its own, the case says more than it does.
        """
        for item in ranked:
            if changes(item.strategy.configuration, problem.current) == case.configuration:
                return bool(item.effects)
        return self.strategies.has_one_for(case.configuration)


def _place(change: Change, others: Sequence[Change]) -> int:
    """The place of a change among others: before the first that gains less."""
    gained = change.gain.expected if change.gain is not None else 0.0
    return next(
        (at for at, one in enumerate(others) if one.gain is None or one.gain.expected < gained), len(others)
    )


def _with_warnings(item: Change, rules: QuestionFeasibility) -> Change:
    """The same, with what to mind of it here first."""
    warnings = rules.warnings(item.configuration)
    return replace(item, conditions=(*warnings, *item.conditions)) if warnings else item


def _unsaid(notes: Sequence[str], before: Sequence[str]) -> list[str]:
    """The notes whose reason none before gives."""
    return [
        note for note in notes if not any(other.endswith(note.partition(": ")[2] or note) for other in before)
    ]


def _unchecked(problem: Problem, items: Sequence[Change], rules: QuestionFeasibility) -> tuple[Limit, ...]:
    """The limits that the rules cannot tell of all that is recommended."""
    configurations = [item.configuration for item in items]
    return tuple(limit for limit in problem.limits if not rules.checks(limit.metric, configurations))


def _merged(cases: list[Change], strategies: list[Change], k: int) -> list[Change]:
    """Both kinds by expected gain; what is for an observed bottleneck comes before what is for none.

    Cases stay in the order of their ranking, which is not that of their gains alone: it sees to it that the
    first few differ.
    """
    some_observed = any(item.bottleneck for item in strategies)
    keyed: list[tuple[bool, float, Change]] = []
    for items in (cases, strategies):
        least = math.inf
        for item in items:
            expected = item.gain.expected if item.gain else 0.0
            least = min(least, expected) if items is cases else expected
            keyed.append((not item.bottleneck and some_observed, -least, item))
    return [item for _, _, item in sorted(keyed, key=lambda one: one[:2])][:k]


def _abstention(choice: CaseChoice, listed: Sequence[Change]) -> Abstention | None:
    """The reason why what is listed is no recommendation; None if it is one."""
    regret = choice.regret.get(1, 0.0)
    if regret <= ABSTAIN_ABOVE:
        return None
    nearest = listed[0].distance_class.replace("_", " ")
    return Abstention(
        reason=f"the nearest timed case is of {_A.get(nearest, nearest)}, and with evidence like this the"
        f" first proposal took {math.exp(regret):.2f}x the best time where that could be checked",
        regret=regret,
        measure=choice.telling,
    )


_A = {
    "same device": "the same device",
    "sibling": "a sibling device",
    "same architecture": "another device of the architecture",
    "same vendor": "another generation of the vendor",
    "other vendor": "another vendor",
}
"""Distance classes in the middle of a sentence."""


def _told(refused: Sequence[Refusal]) -> str:
    """The first reason and source for each rule."""
    first = {item.rule: item for item in reversed(refused)}
    return "; ".join(f"{item.reason} <{item.source}>" for item in reversed(first.values()))


def _nothing(
    problem: Problem,
    neighbours: Sequence[Neighbour],
    refused: Sequence[Refusal],
    *,
    is_declared: bool = False,
) -> InfeasibleError | NoEvidenceError:
    what = " ".join(part for part in (problem.workload.model, problem.workload.operator) if part)
    if refused:
        rules = ", ".join(dict.fromkeys(item.rule for item in refused))
        return InfeasibleError(
            f"nothing that is known of {what} can run on {problem.hardware.name}: {rules}",
            hint=f"{_told(refused)}; loosen what is fixed",
        )
    if neighbours and is_declared:
        return NoEvidenceError(
            f"no known configuration of {what} is a point of the space",
            hint="name its parameters as tables spell them, or: tunegraph search run FILE",
        )
    if neighbours:
        return NoEvidenceError(
            f"what is known of {what} has no configuration for {problem.hardware.name}",
            hint="measure a few configurations there and ingest them",
        )
    return NoEvidenceError(
        f"no case of {what} decided by {problem.objective.metric} is known, on any hardware",
        hint="ingest cases of it, or ask by another metric with --objective",
    )
