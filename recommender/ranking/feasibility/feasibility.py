"""Feasibility of configurations, and the rules that refuse them.

A rule has a name and a source. One whose facts are missing says nothing, and :attr:`Feasibility.skipped`
says that. Which rules can apply is found once for each set of parameter names, so that a candidate of a
kernel costs a few look-ups.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kg.nouns.codec import JsonNoun, in_json
from kg.nouns.entities import Configuration, Problem
from kg.nouns.situation import FactOrigin
from kg.nouns.values import Settings, Value
from kg.rows.trials import TrialStore
from kg.terms.meanings import kind_of
from kg.triples.hardware_tree import HardwareTree
from recommender.ranking.feasibility import rules
from recommender.ranking.feasibility.buffers import NAMES as BUFFER_NAMES
from recommender.ranking.feasibility.buffers import buffers
from recommender.ranking.feasibility.exclusions import Exclusions, Pair
from recommender.ranking.feasibility.memory_need import LIMIT_RULE, MemoryCache, MemoryNeed
from recommender.ranking.feasibility.rules import Broken
from recommender.ranking.feasibility.task_history import TaskHistory, TrialFailures
from recommender.retrieval.neighbours import Neighbour

Rule = Callable[["Mapping[str, Value]"], Iterator[Broken]]


def _certainty(is_certain: object) -> str:
    return "high" if is_certain else "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal(JsonNoun):
    """The reason why a configuration is not proposed.

    Attributes:
        configuration: What.
        rule: Which rule.
        reason: The numbers behind it.
        source: What the rule rests on.
        is_certain: False where a model, or another device, says so.
    """

    configuration: Configuration
    rule: str
    reason: str
    source: str
    is_certain: bool = field(default=True, metadata=in_json("certainty", write=_certainty))


@dataclass(slots=True)
class QuestionFeasibility:
    """The rules for one question.

    Attributes:
        problem: The question.
        model: Facts of the model, where one is named.
        facts: Facts of the hardware; empty if nothing is known of it.
        tried: What became of configurations where they were tried.
        exclusions: Strategies that exclude each other.
        memory_cache: Needs of memory that were reckoned before.
    """

    problem: Problem
    model: Mapping[str, Value]
    facts: Mapping[str, float | str] = field(default_factory=dict)
    tried: TaskHistory | None = None
    exclusions: Exclusions | None = None
    memory_cache: MemoryCache = field(default_factory=dict)
    memory: MemoryNeed = field(init=False)
    _sizes: Mapping[str, Value] = field(init=False)
    _current: dict[str, Value] = field(init=False)
    _of_names: dict[tuple[str, ...], tuple[Rule, ...]] = field(default_factory=dict, init=False)
    _before: frozenset[tuple[str, str]] = field(default=frozenset(), init=False)
    _never_before: frozenset[str] = field(default=frozenset({LIMIT_RULE}), init=False)

    def __post_init__(self) -> None:
        """Prepare what all candidates share; what is set now is not held against a change."""
        shape = self.problem.workload.shape
        kind = self.problem.workload.traits.get("architecture")
        self._sizes = {**self.model, **shape}
        sizes = self._sizes if kind is None else {**self._sizes, "architecture": kind}
        self.memory = MemoryNeed(self.problem, sizes, self.facts, self.memory_cache)
        self._current = {**self.problem.current} if self.problem.current else {}
        if self._current:
            current = Settings(self._current)
            format_fact = self.problem.situation.facts.get("precision")
            if format_fact is not None and format_fact.origin is FactOrigin.TOLD:
                self._never_before |= {rules.NUMBER_FORMAT}  # what is told is no setting that runs
            self._before = frozenset(map(self._key, self._broken(self._found(tuple(current)), current)))

    @property
    def skipped(self) -> tuple[str, ...]:
        """Rules that say nothing because a fact is missing, and which."""
        if not self.memory.applies or not self.memory.skipped:
            return ()
        return (f"the memory that is needed was not checked: {self.memory.skipped}",)

    def check(self, configuration: Configuration) -> tuple[Refusal, ...]:
        """List the rules that a configuration breaks, together with the current settings."""
        rules_of_names = self._found(tuple(configuration))
        broken = [
            item
            for item in self._broken(rules_of_names, configuration)
            if self._key(item) not in self._before or item.rule in self._never_before
        ]
        if self.tried is not None and (seen := self.tried.broken(configuration)) is not None:
            broken.append(seen)
        return tuple(
            Refusal(
                configuration=configuration,
                rule=item.rule,
                reason=item.reason,
                source=item.source,
                is_certain=item.is_certain,
            )
            for item in broken
        )

    def warnings(self, configuration: Configuration) -> tuple[str, ...]:
        """List the warnings about a configuration that may run."""
        warnings = [self.memory.warning({**self._current, **configuration})]
        if self.tried is not None:
            warnings.append(self.tried.warning(configuration))
        return tuple(text for text in warnings if text)

    def checks(self, metric: str, configurations: Sequence[Configuration]) -> bool:
        """Return whether a limit on a metric can be checked for each of some configurations."""
        return metric == "peak_memory" and all(
            self.memory.is_complete({**self._current, **item}) for item in configurations
        )

    @staticmethod
    def _key(broken: Broken) -> tuple[str, str]:
        return broken.rule, broken.reason

    def _found(self, names: tuple[str, ...]) -> tuple[Rule, ...]:
        active = self._of_names.get(names)
        if active is None:
            active = self._of_names[names] = tuple(self._rules(frozenset(names), frozenset(self._current)))
        return active

    def _broken(self, active: tuple[Rule, ...], configuration: Configuration) -> Iterator[Broken]:
        if active:
            settings = {**self._current, **configuration}
            for rule in active:
                yield from rule(settings)

    def _rules(self, names: frozenset[str], current: frozenset[str]) -> Iterator[Rule]:
        """Yield the rules that setting these parameters beside the current ones can break."""
        problem, hardware = self.problem, self.problem.hardware.name
        if any(kind_of(name) in rules.SPLITTING for name in names):
            yield lambda settings: rules.divisibility(problem, settings, self._sizes)
            yield lambda settings: rules.layout(problem, settings)
        told = str(problem.workload.precision or "")
        if any(map(rules.states_format, names)) or rules.asks_fp8(told) or told == rules.BF16:
            yield lambda settings: rules.number_format(problem, settings, hardware, self.facts)
        if self.facts and names & BUFFER_NAMES:
            precision, shape = problem.workload.precision, dict(problem.workload.shape)
            block = problem.workload.traits.get("block_shape")
            yield lambda settings: buffers(settings, precision, hardware, self.facts, shape, block)
        if self.memory.decides(names):
            yield self._memory
        if self.exclusions is not None and (pairs := self.exclusions.among(names | current)):
            yield lambda settings: _excluded(settings, pairs)

    def _memory(self, settings: Mapping[str, Value]) -> Iterator[Broken]:
        for broken in self.memory.broken(settings):
            if self.tried is None or not self.tried.ran_here(Settings(settings)):
                yield broken


def _excluded(settings: Mapping[str, Value], pairs: Sequence[Pair]) -> Iterator[Broken]:
    for one, two, reason, source in pairs:
        if all(settings.get(name) == value for item in (one, two) for name, value in item.items()):
            yield Broken(rule="what excludes each other is not set together", reason=reason, source=source)


@dataclass(frozen=True, slots=True)
class FeasibilityRules:
    """Makes the rules for a question from a workspace's stores.

    Attributes:
        tree: Facts of hardware.
        trials: What was measured.
        failures: What failed, remembered from question to question.
        exclusions: Strategies that exclude each other.
        memory_cache: Needs of memory that were reckoned before.
    """

    tree: HardwareTree
    trials: TrialStore
    failures: TrialFailures
    exclusions: Exclusions
    memory_cache: MemoryCache = field(default_factory=dict)

    def of(
        self, problem: Problem, model: Mapping[str, Value], neighbours: Sequence[Neighbour]
    ) -> QuestionFeasibility:
        """Return the rules for one question.

        Args:
            problem: The question.
            model: Facts of its model.
            neighbours: The known problems near it.
        """
        return QuestionFeasibility(
            problem,
            model,
            self.tree.facts(problem.hardware.name),
            TaskHistory(self.failures, neighbours),
            self.exclusions,
            self.memory_cache,
        )


def by_rules(
    facts: Callable[[str], Mapping[str, float | str]],
) -> Callable[[Problem, Configuration], bool]:
    """Check a configuration against the rules for its problem, without a workspace.

    Args:
        facts: Facts by hardware id.
    """
    last: list[QuestionFeasibility] = []  # of one question at a time

    def can_run(problem: Problem, configuration: Configuration) -> bool:
        if not last or last[0].problem is not problem:
            last[:] = [QuestionFeasibility(problem, {}, facts(problem.hardware.name))]
        return not last[0].check(configuration)

    return can_run
