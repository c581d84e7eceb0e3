"""Plans: the start of a question, and what is worth testing on it, in order."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ingest.questions.launches.megatron import SIZES
from kg.nouns.entities import Problem
from kg.nouns.gain import Gain
from kg.nouns.knowledge import Assignment, Strategy
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings, Value, show
from kg.terms.conditions import Condition
from kg.terms.meanings import size_of
from kg.terms.purposes import plain_key
from kg.terms.setting_conflicts import broken_conflicts, companions
from kg.terms.setting_registry import ReleaseSettings
from recommender.applicability.gate import IN_PROFILES
from recommender.cost_model.settings.dialects import translate
from recommender.cost_model.settings.plans import PHASES
from recommender.ranking.change import Change, NotHere, recommendation_id
from recommender.ranking.changes.ranked_strategy import RankedStrategy, kinds_of
from recommender.ranking.changes.strategies import StrategyRanker
from recommender.ranking.combination import combine
from recommender.ranking.feasibility.feasibility import QuestionFeasibility, Refusal
from recommender.ranking.plan.candidate import of_recipes, of_strategy, without_conflicts
from recommender.ranking.plan.layout_change import layout_changes
from recommender.ranking.plan.missed_limits import missed_limits
from recommender.ranking.plan.plan import Plan
from recommender.ranking.plan.reach import Reach
from recommender.ranking.plan.shares import recipe_shares, share_of
from recommender.ranking.plan.started import names_of, started
from recommender.ranking.plan_setting import Origin, PlanSetting, settings_by_key
from recommender.ranking.start import StartConfiguration, without_promises
from recommender.ranking.starts.finder import StartFinder
from recommender.ranking.starts.recipes.agreement import AgreedSetting, carrier
from recommender.ranking.starts.starts import Starts

TESTS = 5
"""Changes up to which an answer that is priced holds those alone that have a number, or are for a told
bottleneck: whoever asks for more gets what is only documented too."""


def undoing(
    change: Change, start_settings: Iterable[PlanSetting], phase: str, release: ReleaseSettings
) -> tuple[PlanSetting, ...]:
    """The settings that take back what a change is contradicted by, such as eager mode by graph capture.

    Args:
        change: The change.
        start_settings: Settings of the start that it is tested on.
        phase: ``"training"`` or ``"serving"``.
        release: Knows how a switch is taken back.
    """
    wanted = translate({item.name: _value(item) for item in change.settings}, phase).settings
    found = []
    for item in start_settings:
        if item.origin is not Origin.CURRENT or _value(item) is not True:
            continue
        now = translate({item.name: True}, phase).settings
        if all(wanted.get(name, value) == value for name, value in now.items()):
            continue
        setting = release.look_up(item.key, suggest=False).setting
        if setting is not None and setting.negation:
            found += settings_by_key({setting.negation: None}, Origin.CURRENT)
    return tuple(found)


def _value(item: PlanSetting) -> Value:
    return True if item.value is None or str(item.value).lower() == "true" else item.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan and what it was made of.

    Attributes:
        plan: The plan.
        ranked: All strategies that apply, with their gains.
        starts: Where the start comes from.
        refused: What rules left out.
    """

    plan: Plan
    ranked: tuple[RankedStrategy, ...]
    starts: Starts
    refused: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Makes plans.

    Attributes:
        starts: Finds start configurations.
        strategies: Ranks strategies.
        version: Identifier of the knowledge that plans rest on.
    """

    starts: StartFinder
    strategies: StrategyRanker
    version: str

    def plan(
        self,
        problem: Problem,
        k: int,
        *,
        model: Mapping[str, Value],
        rules: QuestionFeasibility,
    ) -> Planned | None:
        """The plan for a question; None where no framework runs such a model on such hardware.

        Args:
            problem: The question.
            k: Changes at most.
            model: Facts of the model by name.
            rules: What can run.
        """
        situation = self.starts.situation(problem)
        if situation is None:
            return None
        starts = self.starts.find(situation, model)
        starts = self._with_ids(starts, problem)
        if starts.first.fits is False:
            plan = Plan(understood=_understood(situation.facts), start=starts.first)
            return Planned(plan=plan, ranked=(), starts=starts, refused=())
        priced = starts.question.settings if starts.question is not None else None
        now = started(problem, starts.first, situation.framework, priced, starts.price)
        ranked, refused = self.strategies.rank(now, beyond=True)
        broken = {item.strategy.id: rules.check(item.strategy.configuration) for item in ranked}
        refused += [refusal for found in broken.values() for refusal in found]
        told = {plain_key(name) for name in problem.current or {}}
        ranked = [item for item in ranked if not (broken[item.strategy.id] or _undoes(item.strategy, told))]
        candidates = self._candidates(problem, starts, ranked, refused)
        release = self.starts.release(situation)
        candidates += layout_changes(problem, starts, self.version, release, candidates)
        candidates.sort(key=lambda one: one.order)
        candidates, refusing = self._allowed(candidates, starts, refused)
        chosen = without_conflicts(candidates)
        first, further = parted(chosen, k, is_priced=starts.price is not None)
        offered = {item.key for one in chosen for item in one.settings}
        elsewhere = [item for item in starts.not_here if item.strategy not in offered]
        plan = Plan(
            understood=_understood(situation.facts),
            start=starts.first,
            alternatives=without_promises(starts.first, starts.alternatives),
            changes=first,
            further=further,
            not_here=(*elsewhere, *refusing, *(_not_here(one) for one in refused if _is_telling(one))),
            missed=()
            if starts.first.is_measured
            else missed_limits(problem.limits, starts.price, _won(first, problem, ranked)),
        )
        return Planned(
            plan=plan,
            ranked=tuple(ranked),
            starts=starts,
            refused=tuple(refused),
        )

    def _with_ids(self, starts: Starts, problem: Problem) -> Starts:
        """The same with ids, by which outcomes refer to them."""

        def named(start: StartConfiguration) -> StartConfiguration:
            return replace(start, id=recommendation_id(problem, start.configuration, self.version, "start"))

        return replace(starts, first=named(starts.first), alternatives=tuple(map(named, starts.alternatives)))

    def _candidates(
        self,
        problem: Problem,
        starts: Starts,
        ranked: Sequence[RankedStrategy],
        refused: Sequence[Refusal],
    ) -> list[Change]:
        not_to_set = {
            (spelt, show(value).lower())
            for one in refused
            for name, value in one.configuration.items()
            for spelt in (name, plain_key(name))
        }
        further = {
            (item.where, plain_key(item.key)): item
            for item in starts.further
            if not any((name, item.value.lower()) in not_to_set for name in _names(item))
        }
        shares = recipe_shares(starts)
        begun = {name: item.value for item in starts.first.settings for name in names_of(item)}
        kind = problem.workload.kind.value
        facts = {key: _facts({item.key: item.value}, kind) for key, item in further.items()}
        candidates: list[Change] = []
        reach = Reach(self.strategies.graph, starts.price)
        release = self.starts.release(starts.situation)
        for place, item in enumerate(ranked):
            for key in _places(item.strategy.sets, further):
                if _same(item, further[key]):
                    further.pop(key)
            share = share_of(item.strategy, shares)
            one = of_strategy(
                problem,
                item,
                share,
                place,
                begun,
                self.version,
                starts=starts,
                reach=reach,
            )
            if one is not None:
                candidates.append(one if release is None else _undone(one, starts, release))
                # the same in another spelling is no second change
                said = _facts(item.strategy.configuration, kind)
                further = {key: held for key, held in further.items() if not said or facts[key] != said}
        groups: dict[tuple[SettingPlace, str], list[AgreedSetting]] = {}
        for setting in further.values():
            if any(begun.get(name) is not None for name in _names(setting)):
                continue  # the start sets it, or it runs now
            if _is_below_load(setting, starts):
                continue
            groups.setdefault((setting.where, carrier(setting.where, setting.key)), []).append(setting)
        found = (of_recipes(problem, items, self.version, starts.question) for items in groups.values())
        return candidates + [one for one in found if one is not None]

    def _allowed(
        self, candidates: Sequence[Change], starts: Starts, elsewhere: Sequence[Refusal]
    ) -> tuple[list[Change], list[NotHere]]:
        """The changes that the release takes with the start, completed by what they need beside them.

        The others come with the conflict that the release raises, or with why what they need is not for here.

        Args:
            candidates: The changes.
            starts: What they are changes of.
            elsewhere: What is refused here.
        """
        release = self.starts.release(starts.situation)
        if release is None:
            return list(candidates), []
        begun = {**_sizes_of_launch(starts, release), **_values(starts.first.settings)}
        not_for_here = {
            (plain_key(name), show(value).lower()): refusal.reason
            for refusal in elsewhere
            for name, value in refusal.configuration.items()
        }
        allowed: list[Change] = []
        refused: list[NotHere] = []
        for one in candidates:
            change = _values(one.settings)
            needed = companions(release, begun, change)
            if needed is None:
                before = set(broken_conflicts(release, begun))
                broken = [
                    item for item in broken_conflicts(release, {**begun, **change}) if item not in before
                ]
                because = f"this release refuses: {broken[0].replace(' and not ', ' without ')}"
                refused.append(NotHere(strategy=one.title, because=because, fact="conflict"))
                continue
            places = ((plain_key(key), show(value).lower()) for key, value in needed.items())
            barred = next((not_for_here[place] for place in places if place in not_for_here), "")
            if barred:
                because = f"it needs what is not for here: {barred}"
                refused.append(NotHere(strategy=one.title, because=because, fact="conflict"))
            else:
                allowed.append(_completed(one, needed, release))
        return allowed, refused


def _values(settings: Iterable[PlanSetting]) -> dict[str, Value]:
    return {item.key: item.value for item in settings}


def _sizes_of_launch(starts: Starts, release: ReleaseSettings) -> dict[str, Value]:
    """The model's sizes by the options of a launch that states them beside settings, as Megatron's does."""
    situation = starts.situation
    if not situation.is_training or release.look_up("--num-layers", suggest=False).setting is None:
        return {}
    sizes = {f"--{name.replace('_', '-')}": situation.number(fact) for name, fact in SIZES.items()}
    return {option: int(size) for option, size in sizes.items() if size is not None}


def _undoes(strategy: Strategy, told: Set[str]) -> bool:
    """True if a strategy removes what only the start sets: recipes have it there, and nothing else does."""
    read = (name for clause in strategy.applies_when for name in Condition(clause.condition).settings)
    return strategy.work == "unset" and told.isdisjoint(map(plain_key, read))


def parted(
    changes: Sequence[Change], k: int, *, is_priced: bool
) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """The changes of an answer and those beyond: first what wins something, then the others in their order.

    What is for no observed bottleneck, or only a profile could justify, does not come forward.

    Args:
        changes: In their order.
        k: How many are asked for.
        is_priced: Whether the start has a price, so that what can be modelled has a number.
    """
    fit = [
        one for one in changes if one.order[:1] == changes[0].order[:1] and IN_PROFILES not in one.provided
    ]
    winning = [one for one in fit if one.wins]
    rest = [one for one in changes if one not in winning]
    if is_priced and k <= TESTS:
        rest = [one for one in rest if one.bottleneck or (one.gain and IN_PROFILES not in one.provided)]
    first = (winning + rest)[:k]
    return tuple(first), tuple(one for one in changes if one not in first)


def _won(changes: Sequence[Change], problem: Problem, ranked: Sequence[RankedStrategy]) -> Gain | None:
    """The joint gain of changes: of strategies that can be set together, or the best of all."""
    both = combine(changes, problem.bottlenecks, kinds_of(ranked))
    if both is not None:
        return both.gain
    return max(
        (one.gain for one in changes if one.gain is not None), key=lambda gain: gain.expected, default=None
    )


def _completed(one: Change, needed: Settings, release: ReleaseSettings) -> Change:
    """The same with the settings that the release asks for beside it."""
    added = []
    for key, value in needed.items():
        setting = release.look_up(key, suggest=False).setting
        if setting is not None:
            given = {setting.key: value}
            added += settings_by_key(given, Origin.KNOWLEDGE, setting.source, setting.place)
    if not added:
        return one
    configuration = Settings({**one.configuration, **{item.name: item.value for item in added}})
    return replace(one, settings=(*one.settings, *added), configuration=configuration)


def _undone(one: Change, starts: Starts, release: ReleaseSettings) -> Change:
    """The same with the switches taken back that it is contradicted by."""
    phase = "training" if starts.situation.is_training else "serving"
    return replace(one, settings=(*one.settings, *undoing(one, starts.first.settings, phase, release)))


def _is_below_load(item: AgreedSetting, starts: Starts) -> bool:
    """True if a setting admits fewer requests at once than the start is priced with."""
    if starts.question is None or size_of(plain_key(item.key)) != "batch" or not item.value.isdecimal():
        return False
    load = starts.question.settings.get("batch")
    return isinstance(load, int | float) and int(item.value) < load


def _facts(configuration: Mapping[str, Value], kind: str) -> Mapping[str, object]:
    """Settings of the cost model that settings stand for; empty where it has none for them."""
    return translate(configuration, kind).settings if kind in PHASES else {}


def _names(item: AgreedSetting) -> tuple[str, ...]:
    if item.where is SettingPlace.ENV:
        return (item.key,)
    plain = plain_key(item.key)
    return (plain, plain.partition(".")[2], plain.rpartition(".")[2])


def _places(
    sets: Iterable[Assignment], further: Mapping[tuple[SettingPlace, str], AgreedSetting]
) -> list[tuple[SettingPlace, str]]:
    """The settings of recipes that the parameters of a strategy are."""
    names = {plain_key(one.parameter) for one in sets}
    return [
        key
        for key, item in further.items()
        if key[1] in names or (item.where is SettingPlace.JSON and key[1].partition(".")[2] in names)
    ]


def _same(item: RankedStrategy, agreed: AgreedSetting) -> bool:
    values = {"true" if one.value is None else show(one.value).lower() for one in item.strategy.sets}
    return agreed.value.lower() in values


def _understood(facts: Mapping[str, object]) -> dict[str, object]:
    return {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in sorted(facts.items())
    }


def _is_telling(refusal: Refusal) -> bool:
    """True if a refusal is news to the reader; that another framework reads a setting is not."""
    return ": framework: " not in refusal.reason


def _not_here(refusal: Refusal) -> NotHere:
    label, _, reason = refusal.reason.partition(": ")
    return NotHere(strategy=label, because=reason or refusal.reason, fact=refusal.rule, source=refusal.source)
