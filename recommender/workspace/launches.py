"""Launches that run: what their settings cost, and the answer without what only costs."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from ingest.questions.bounds import device_count
from ingest.questions.launches.launch_facts import is_told
from ingest.questions.launches.running import RunningSetting
from ingest.questions.launches.serving import NOT_TUNED
from kg.errors import AmbiguousEntityError, InfeasibleError, InputError, NoEvidenceError
from kg.nouns.audit import AuditRule, FindingKind, FindingLevel
from kg.nouns.entities import Problem
from kg.nouns.setting import SettingPlace
from kg.nouns.situation import FactOrigin, Situation, StatedFact
from kg.nouns.values import Value, show
from kg.terms.model_name import rotary_of
from kg.terms.precisions import canonical_precision
from kg.terms.purposes import plain_key
from recommender.answers.answer import Answer
from recommender.audit.audit import Audit, all_rules, without_costs
from recommender.audit.case import AuditCase, audit_case
from recommender.audit.finding import SettingFinding
from recommender.audit.judge import judge_settings
from recommender.audit.launch_findings import FEW_REQUESTS
from recommender.audit.pricing import is_of_room, judged_by_memory, priced_findings
from recommender.audit.room_findings import NO_ROOM, as_started, room_findings
from recommender.cost_model.question import Question
from recommender.measuring.masking import is_secret
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.starts.screening import SIXTEEN_BIT
from recommender.workspace.ask import AskDesk
from recommender.workspace.desk import Desk

SECRET = "SECRET"  # noqa: S105  it stands in the place of one
_NOT_KEPT = frozenset({"model", "model_path", "config", "gpus"})
"""Options that a start says itself, or by other settings."""


def as_launched(answer: Answer, running: Sequence[RunningSetting]) -> Answer:
    """The answer with what of the launch is no setting in its start, without changes that findings make."""
    if answer.plan is None:
        return answer
    start = answer.plan.start
    held = {plain_key(item.key) for item in start.settings}
    refused = [item for item in answer.findings if item.kind is FindingKind.REFUSED]
    gone = {plain_key(key) for item in answer.findings if item.is_taken_back for key in item.removals}
    gone |= {plain_key(item.setting.key) for item in refused}
    kept = [
        PlanSetting(where=item.place, key=item.key, value=_shown(item), origin=Origin.CURRENT)
        for item in running
        if item.place is SettingPlace.FLAG
        and plain_key(item.key).replace("-", "_") in NOT_TUNED - _NOT_KEPT
        and plain_key(item.key) not in held | gone
        and not (plain_key(item.key) == "dtype" and _is_told_otherwise(answer.problem, item.value))
    ]
    start = replace(start, settings=(*start.settings, *kept))
    shown = [item for item in answer.findings if item.level is not FindingLevel.NOTE]
    found = {plain_key(item.setting.key) for item in shown if item.kind is FindingKind.LIMIT}
    found |= {plain_key(key) for item in shown if item.spare for key in item.removals}
    changes = [
        one
        for one in answer.plan.changes
        if not (one.settings and {plain_key(item.key) for item in one.settings} <= found)
    ]
    return replace(answer, plan=replace(answer.plan, start=start, changes=tuple(changes)))


def _is_told_otherwise(problem: Problem, dtype: str) -> bool:
    """True if the question tells another number format of 16 or 32 bits in the place of the launch's."""
    told = problem.situation.facts.get("precision")
    wide = {*SIXTEEN_BIT, "fp32", "float32"}
    is_told = told is not None and told.origin is FactOrigin.TOLD and told.value in wide
    return is_told and problem.workload.precision != canonical_precision(dtype)


def _shown(setting: RunningSetting) -> Value:
    """The value of a flag as a start has it: none of a switch, and of a secret a word to fill in."""
    if setting.value == "true":
        return True
    return SECRET if setting.is_known and is_secret(setting.key) else setting.value


class LaunchDesk(Desk):
    """Launches that run, judged and answered."""

    __slots__ = ()

    @property
    def ask(self) -> AskDesk:
        """Questions and their answers."""
        return AskDesk(self.workspace)

    def recommend(
        self, problem: Problem, running: Sequence[RunningSetting], k: int = 5, *, notes: Sequence[str] = ()
    ) -> Answer:
        """The answer for a launch, with the findings on it: the start is without what only costs.

        Args:
            problem: The question that the launch asks.
            running: Its settings (``ingest.questions.launches.running``).
            k: How many configurations at most.
            notes: What was assumed when the question was read.

        Raises:
            InputError, NoEvidenceError, InfeasibleError: As :meth:`AskDesk.recommend`.
        """
        problem, notes = self.ask.questions.understood(problem, notes)
        case, findings = self._judged(problem, running)
        problem = without_costs(problem, case, findings)
        answer = self.ask.recommend(problem, k, notes=notes)
        has_limit = any(item.kind is FindingKind.LIMIT for item in findings)
        question = self._unlimited(problem, case, findings) if has_limit else answer.priced
        priced = self._with_prices(problem, case, findings, question)
        if answer.plan is not None:
            priced = as_started(priced, answer.plan.start)
        return as_launched(replace(answer, findings=priced), running)

    def of_measured(self, answer: Answer) -> Answer:
        """The answer whose start is a measured run, with what only costs of what it set."""
        if answer.plan is None:
            return answer
        start = answer.plan.start
        running = [
            RunningSetting(key=item.key, value=show(item.value), place=item.where) for item in start.settings
        ]
        problem = replace(answer.problem, current=start.configuration)
        case, findings = self._judged(problem, running)
        if not findings:
            return answer
        without = self._unlimited(problem, case, findings)
        return replace(answer, findings=self._with_prices(problem, case, findings, without))

    def without_copied(self, answer: Answer) -> Problem | None:
        """The question of an answer whose start copies what only costs from a run near by, without that.

        None where it copies nothing of the kind.
        """
        settings = () if answer.plan is None else answer.plan.start.settings
        copied = [item for item in settings if item.origin is Origin.CASE]
        if not copied:
            return None
        running = [RunningSetting(key=item.key, value=show(item.value), place=item.where) for item in copied]
        _, findings = self._judged(answer.problem, running)
        costs = [
            StatedFact(
                name=f"current.{item.setting.key}", value=item.setting.value, origin=FactOrigin.ASSUMED
            )
            for item in findings
            if item.is_taken_back
        ]
        situation = Situation.of([*answer.problem.situation, *costs])
        return replace(answer.problem, situation=situation) if costs else None

    def _with_prices(
        self,
        problem: Problem,
        case: AuditCase,
        findings: Sequence[SettingFinding],
        question: Question | None,
    ) -> tuple[SettingFinding, ...]:
        """The findings with what each costs."""
        others = [item for item in findings if not is_of_room(item, case)]
        shared = self._unlimited(problem, case, others) if len(others) < len(findings) else None
        return priced_findings(findings, case, question, shared)

    def _unlimited(
        self, problem: Problem, case: AuditCase, findings: Sequence[SettingFinding]
    ) -> Question | None:
        """The question without the settings of the findings, limits among them; None without a price."""
        try:
            starts = self.ask.decision(without_costs(problem, case, findings, limits=True))
        except (InputError, NoEvidenceError, InfeasibleError):
            return None
        return None if starts is None else starts.question

    def check(
        self,
        raw: Mapping[str, object],
        running: Sequence[RunningSetting],
        *,
        rules: Sequence[AuditRule] = (),
        to: tuple[str, str] | None = None,
    ) -> Audit:
        """Judge the settings of a launch: what they switch off, what that costs here, where it is right.

        Args:
            raw: The question as for :meth:`AskDesk.problem`; unpriced without hardware or a known model.
            running: Settings of the launch (``ingest.questions.launches.running``).
            rules: Of a user, beside those that ship.
            to: A program and its release: what that makes of the launch is told as well.

        Raises:
            UnknownEntityError: Hardware or a program that is not known.
            InputError: ``to`` is of another program, or the release that runs is not told.
        """
        from kg.nouns.knowledge import Strategy
        from kg.triples.serialisation import all_of
        from recommender.audit.upgrade import upgrade

        audit = self._audit(raw, running, rules)
        if to is None:
            return audit
        helpful = {
            f"{item.software} {plain_key(item.parameter)}": strategy.id
            for strategy in all_of(self.graph, Strategy)
            for item in strategy.sets
        }
        return replace(audit, upgrade=upgrade(audit.case, *to, helpful))

    def _audit(
        self, raw: Mapping[str, object], running: Sequence[RunningSetting], rules: Sequence[AuditRule]
    ) -> Audit:
        """The audit of a launch."""
        raw, names = self.ask.questions.on_this_machine(raw)
        hardware = raw.get("hardware")
        try:
            if hardware:
                names.hardware(str(hardware), device_count(raw.get("count")))
        except AmbiguousEntityError:
            if is_told(raw, "hardware"):
                raise
            hardware = None  # a script's own word for them says too little
        if not hardware:
            case, findings = self._judged(None, running, raw=raw, rules=rules)
            return Audit(case=case, findings=findings)
        try:
            problem, notes = self.ask.questions.problem(raw)
        except InputError as fault:
            case, findings = self._judged(None, running, raw=raw, rules=rules)
            return Audit(case=case, findings=findings, place=str(hardware), notes=(f"not priced: {fault}",))
        case, findings = self._judged(problem, running, rules=rules)
        if findings:
            question = self._unlimited(problem, case, findings)
            findings = self._with_prices(problem, case, findings, question)
        count = problem.hardware.count
        place = f"{count} x {problem.hardware.name}" if count else problem.hardware.name
        return Audit(case=case, findings=findings, place=place, notes=notes)

    def _judged(
        self,
        problem: Problem | None,
        running: Sequence[RunningSetting],
        *,
        raw: Mapping[str, object] | None = None,
        rules: Sequence[AuditRule] = (),
    ) -> tuple[AuditCase, tuple[SettingFinding, ...]]:
        """A launch and the findings on it, before they are priced."""
        from kg.nouns.framework import Framework
        from kg.triples.finders import ModelFinder
        from kg.triples.serialisation import all_of
        from recommender.applicability.question_facts import question_facts

        framework, stated, asked, positions, rotary = None, None, dict(raw or {}), 0, None
        if problem is not None:
            model = ModelFinder(self.graph).of(problem)
            known = {fact.name: fact.value for fact in model.facts} if model else {}
            positions = int(most) if isinstance(most := known.get("max_positions"), int | float) else 0
            rotary = rotary_of(problem.workload.model or "", problem.situation.model_name)
            stated = question_facts(problem, self.hardware, model)
            asked |= {"software": problem.software, "traits": problem.workload.traits}
            asked |= {"model": problem.situation.checkpoint}
            with suppress(NoEvidenceError):
                situation = self.snapshot.recommender.planner.starts.situation(problem)
                framework = None if situation is None else situation.framework
            if problem.software and not {*problem.software} & {
                item.id for item in all_of(self.graph, Framework)
            }:
                framework = None  # what is usual instead of a program that cannot be planned for
        name = problem.hardware.name if problem is not None else str(asked.get("hardware") or "")
        device, is_known = self.names.hardware_or_slug(name) if name else ("", False)
        path = self.hardware.path(device) if is_known else ()
        case = audit_case(
            running,
            asked,
            framework=framework,
            stated=stated,
            hardware=path,
            positions=positions,
            rotary=rotary,
        )
        findings = judge_settings(case, all_rules(rules))
        question = self._priced(problem)
        room = tuple(room_findings(case, question))
        settled = {item.setting for item in room}
        needless = (
            FEW_REQUESTS if any(item.rule == NO_ROOM for item in room) else ""
        )  # fewer fit than it admits
        findings = tuple(item for item in findings if item.setting not in settled and item.rule != needless)
        found = (*room, *judged_by_memory(findings, case, question))
        return case, tuple(sorted(found, key=lambda item: item.order))

    def _priced(self, problem: Problem | None) -> Question | None:
        """The running launch as a question for the cost model, at a usual length; None where it cannot be."""
        from recommender.cost_model.question import Question
        from recommender.ranking.feasibility.training_fit import with_length

        if problem is None:
            return None
        try:
            sizes = self.ask.model_facts(problem)
            return with_length(Question.of(problem, sizes, self.hardware), sizes)[0]
        except (InputError, NoEvidenceError):
            return None
