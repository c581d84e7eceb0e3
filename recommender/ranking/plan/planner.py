"""Plans: the start of a question, and what strategies and recipes offer beyond it, in the order to test it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kg.nouns.entities import Kind
from kg.nouns.recipe import Where
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings, show
from kg.terms.purposes import plain_key
from kg.terms.setting_conflicts import broken_conflicts
from kg.triples.hardware_tree import Distance
from recommender.ranking.changes.recommendations import as_recommendation
from recommender.ranking.plan.plan import Plan
from recommender.ranking.plan.started import names_of, started
from recommender.ranking.plan_change import NotHere, PlanChange
from recommender.ranking.recommendation import Recommendation, Support, recommendation_id
from recommender.ranking.start import Origin, PlanSetting
from recommender.ranking.starts.agreement import carrier
from recommender.ranking.starts.finder import typed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kg.nouns.entities import Problem
    from kg.nouns.knowledge import Assignment, Strategy
    from kg.nouns.values import Value
    from recommender.ranking.changes.strategies import RankedStrategy, StrategyRanker
    from recommender.ranking.feasibility.feasibility import QuestionFeasibility, Refusal
    from recommender.ranking.starts.agreement import AgreedSetting
    from recommender.ranking.starts.finder import StartFinder, Starts

USUAL = 0.3
"""Agreement from which a change has its place although the question leaves a condition of it open; a choice."""
LEAST_CHANCE = 0.5
"""Chance to help below which a change is not offered: testing it would be expected to lose."""
AGREEMENT_AS_GAIN = 0.1
"""Log gain that full agreement of recipes counts as, for the order alone: it is never shown as a gain. A choice:
what all experts set comes before a published gain of less than 10 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan with its changes as recommendations, which outcomes and explanations refer to.

    Attributes:
        plan: The plan.
        recommendations: Its changes, in the same order.
        ranked: All strategies that apply, with their gains.
        starts: Where the start comes from.
        refused: What rules left out.
    """

    plan: Plan
    recommendations: tuple[Recommendation, ...]
    ranked: tuple[RankedStrategy, ...]
    starts: Starts
    refused: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """One change before it has its place."""

    change: PlanChange
    recommendation: Recommendation
    order: tuple[object, ...]


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
        with_hypotheses: bool = False,
    ) -> Planned | None:
        """The plan for a question; None where no framework runs such a model on such hardware.

        Args:
            problem: The question.
            k: Changes at most.
            model: Facts of the model by name.
            rules: What can run.
            with_hypotheses: Also strategies that were proposed and not tested yet.
        """
        situation = self.starts.situation(problem)
        if situation is None:
            return None
        starts = self.starts.find(situation, model)
        if starts.first.fits is False:
            plan = Plan(understood=_understood(situation.facts), start=starts.first)
            return Planned(plan=plan, recommendations=(), ranked=(), starts=starts, refused=())
        now = started(problem, starts.first, situation.framework)
        ranked, refused = self.strategies.rank(now, with_hypotheses=with_hypotheses, beyond=True)
        broken = {item.strategy.id: rules.check(item.strategy.configuration) for item in ranked}
        refused += [refusal for found in broken.values() for refusal in found]
        ranked = [item for item in ranked if not broken[item.strategy.id]]
        candidates = self._candidates(problem, starts, ranked, with_priors=with_hypotheses)
        candidates.sort(key=lambda one: one.order)
        candidates, refusing = self._allowed(candidates, starts)
        chosen = _without_conflicts(candidates)
        plan = Plan(
            understood=_understood(situation.facts),
            start=starts.first,
            alternatives=starts.alternatives,
            changes=tuple(one.change for one in chosen[:k]),
            further=tuple(one.change for one in chosen[k:]),
            not_here=tuple(
                [*starts.not_here, *refusing, *(_not_here(one) for one in refused if _is_telling(one))]
            ),
        )
        return Planned(
            plan=plan,
            recommendations=tuple(one.recommendation for one in chosen[:k]),
            ranked=tuple(ranked),
            starts=starts,
            refused=tuple(refused),
        )

    def _candidates(
        self, problem: Problem, starts: Starts, ranked: Sequence[RankedStrategy], *, with_priors: bool
    ) -> list[_Candidate]:
        further = {(item.where, plain_key(item.key)): item for item in starts.further}
        shares = _shares(starts)
        begun = {name: item.value for item in starts.first.settings for name in names_of(item)}
        candidates: list[_Candidate] = []
        for place, item in enumerate(ranked):
            for key in _places(item.strategy.sets, further):
                if _same(item, further[key]):
                    further.pop(key)
            share = _share(item.strategy, shares)
            one = self._of_strategy(problem, item, share, place, begun)
            if one is not None and not with_priors:
                bare = replace(one.recommendation, gain=one.change.gain, basis=_basis(one.change))
                one = replace(one, recommendation=bare)
            if one is not None:
                candidates.append(one)
        groups: dict[tuple[Where, str], list[AgreedSetting]] = {}
        for setting in further.values():
            if any(begun.get(name) is not None for name in _names(setting)):
                continue  # the start sets it, or it runs now
            groups.setdefault((setting.where, carrier(setting.where, setting.key)), []).append(setting)
        candidates += [self._of_recipes(problem, items) for items in groups.values()]
        return candidates

    def _allowed(
        self, candidates: Sequence[_Candidate], starts: Starts
    ) -> tuple[list[_Candidate], list[NotHere]]:
        """The changes that the release takes together with the start; the others with the conflict it raises."""
        release = self.starts.release(starts.situation)
        if release is None:
            return list(candidates), []
        begun = {item.key: item.value for item in starts.first.settings}
        allowed: list[_Candidate] = []
        refused: list[NotHere] = []
        for one in candidates:
            with_it = {**begun, **{item.key: item.value for item in one.change.settings}}
            before = set(broken_conflicts(release, begun))
            broken = [item for item in broken_conflicts(release, with_it) if item not in before]
            if broken:
                name = one.change.strategy or one.change.title
                refused.append(NotHere(strategy=name, because=f"{broken[0]} is refused", fact="conflict"))
            else:
                allowed.append(one)
        return allowed, refused

    def _of_strategy(
        self, problem: Problem, item: RankedStrategy, share: float, place: int, begun: Mapping[str, object]
    ) -> _Candidate | None:
        """A strategy as a change; None if it is expected to lose, or if experts decided otherwise."""
        gain = item.gain if item.effects else None
        if gain is not None and gain.probability_of_gain < LEAST_CHANCE:
            return None
        overrules = any(one.parameter in begun for one in item.strategy.sets)
        if overrules and gain is None:
            return None
        recommendation = as_recommendation(item, problem, self.version)
        change = PlanChange(
            id=recommendation.id,
            title=recommendation.title,
            strategy=item.strategy.id,
            how=recommendation.how,
            settings=tuple(_assigned(one, item) for one in item.strategy.sets),
            gain=gain,
            tier=_tier(item),
            provided=item.provided,
            accuracy=item.strategy.accuracy,
            conflicts=item.conflicts,
            evidence=recommendation.evidence,
        )
        expected = max(gain.expected if gain else 0.0, AGREEMENT_AS_GAIN * share)
        order = (
            not item.match.bottleneck,
            bool(item.provided) and share < USUAL,
            not item.strategy.sets and not item.strategy.families,
            -expected * item.match.closeness,
            -(item.match.share or 0.0) * item.match.closeness,
            item.strategy.accuracy != "unchanged",
            place,
        )
        return _Candidate(change=change, recommendation=recommendation, order=order)

    def _of_recipes(self, problem: Problem, items: Sequence[AgreedSetting]) -> _Candidate:
        """Settings that some recipes have, and no strategy of the graph is about."""
        share = max(item.share for item in items)
        first = items[0]
        settings = tuple(
            PlanSetting(
                where=SettingPlace(item.where.value),
                key=item.key,
                value=item.value if item.where is Where.ENV else typed(item.value),
                origin=Origin.RECIPE,
                source=item.first.source.url,
                agreement=item.share,
            )
            for item in items
        )
        configuration = Settings({item.key.lstrip("-"): item.value for item in settings})
        basis = f"set by {share:.0%} of the recipes for such problems, by weight; no time was published"
        support = Support(
            kind="recipe", says=f"set in {first.first.title or first.first.id}", source=first.first.source.url
        )
        recommendation = Recommendation(
            id=recommendation_id(problem, configuration, self.version),
            title=", ".join(f"{item.key.lstrip('-')} {show(item.value)}"[:40] for item in settings[:2]),
            configuration=configuration,
            flags=tuple(_flag(item) for item in settings),
            gain=None,
            against="",
            basis=basis,
            evidence=(support,),
            accuracy="unknown",
        )
        change = PlanChange(
            id=recommendation.id,
            title=recommendation.title,
            settings=settings,
            accuracy="unknown",
            evidence=(support,),
        )
        return _Candidate(
            change=change,
            recommendation=recommendation,
            order=(True, False, False, -AGREEMENT_AS_GAIN * share, 0.0, True, 0),
        )


def _shares(starts: Starts) -> dict[tuple[str, str], float]:
    """Weight of the recipes that set a parameter to a value, by both; a key is known by its last part."""
    found: dict[tuple[str, str], float] = {}
    for one in starts.recipes:
        keys = {(plain_key(item.key).rpartition(".")[2], item.value.lower()) for item in one.recipe.settings}
        keys.add((_PRECISION, one.recipe.precision.lower()))
        for key in keys:
            found[key] = found.get(key, 0.0) + one.weight
    return found


_PRECISION = "precision"
_WIDTHS = re.compile(r"\bw\d+a\d+\b")


def _share(strategy: Strategy, shares: Mapping[tuple[str, str], float]) -> float:
    """Weight of the recipes that do what a strategy does: set all that it sets, or have the widths that it names."""
    if not strategy.sets:
        return 0.0
    set_so = min(shares.get(_assignment(one), 0.0) for one in strategy.sets)
    names = " ".join([strategy.id, strategy.label, *strategy.aliases]).lower()
    widths = [shares.get((_PRECISION, width), 0.0) for width in set(_WIDTHS.findall(names))]
    return max(widths) if widths else set_so


def _assignment(one: Assignment) -> tuple[str, str]:
    value = "true" if one.value is None else show(one.value).lower()
    return plain_key(one.parameter).rpartition(".")[2], value


def _names(item: AgreedSetting) -> tuple[str, ...]:
    if item.where is Where.ENV:
        return (item.key,)
    plain = plain_key(item.key)
    return (plain, plain.partition(".")[2], plain.rpartition(".")[2])


def _places(
    sets: Iterable[Assignment], further: Mapping[tuple[Where, str], AgreedSetting]
) -> list[tuple[Where, str]]:
    """The settings of recipes that the parameters of a strategy are."""
    names = {plain_key(one.parameter) for one in sets}
    return [
        key
        for key, item in further.items()
        if key[1] in names or (item.where is Where.JSON and key[1].partition(".")[2] in names)
    ]


def _same(item: RankedStrategy, agreed: AgreedSetting) -> bool:
    values = {"true" if one.value is None else show(one.value).lower() for one in item.strategy.sets}
    return agreed.value.lower() in values


def _assigned(one: Assignment, item: RankedStrategy) -> PlanSetting:
    key = (
        f"{one.carrier.lstrip('-').replace('-', '_')}.{one.parameter}"
        if one.carrier
        else one.flag or one.parameter
    )
    source = item.strategy.sources[0].url if item.strategy.sources else ""
    return PlanSetting(where=one.place, key=key, value=one.value, origin=Origin.KNOWLEDGE, source=source)


def _flag(item: PlanSetting) -> str:
    """A setting as people paste it."""
    text = show(item.value)
    if item.where is SettingPlace.ENV:
        return f"export {item.key}={text}"
    if item.where is SettingPlace.FLAG:
        return item.key if item.value is True else f"{item.key} {text}"
    return f"{item.key}={text}"


_TIERS = {
    Kind.MEASURED: "measured elsewhere",
    Kind.PUBLISHED: "published",
    Kind.MODELLED: "modelled",
    Kind.CLAIMED: "claimed",
}


def _basis(change: PlanChange) -> str:
    """What a change rests on, where its recommendation would speak of a prior."""
    return change.tier if change.gain is not None else f"{change.tier}, never measured here: no gain is known"


def _tier(item: RankedStrategy) -> str:
    """How the gain of a strategy is known: by the best of its effects."""
    kinds = {seen.effect.kind for seen in item.effects}
    if Kind.MEASURED in kinds and item.distance is Distance.SAME_DEVICE:
        return "measured here"
    return next((tier for kind, tier in _TIERS.items() if kind in kinds), item.strategy.kind)


def _without_conflicts(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """The candidates without those that a better one excludes, or that set what a better one sets."""
    chosen: list[_Candidate] = []
    for one in candidates:
        mine = {(item.where, plain_key(item.key)) for item in one.change.settings}
        for other in chosen:
            theirs = {(item.where, plain_key(item.key)) for item in other.change.settings}
            if (
                other.change.strategy in one.change.conflicts
                or (one.change.strategy and one.change.strategy in other.change.conflicts)
                or (mine and mine <= theirs)
            ):
                break
        else:
            chosen.append(one)
    return chosen


def _understood(facts: Mapping[str, object]) -> dict[str, object]:
    return {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in sorted(facts.items())
    }


def _is_telling(refusal: Refusal) -> bool:
    """Whether it is news that something is not for a question: what another framework reads is not."""
    return ": framework: " not in refusal.reason


def _not_here(refusal: Refusal) -> NotHere:
    label, _, reason = refusal.reason.partition(": ")
    return NotHere(strategy=label, because=reason or refusal.reason, fact=refusal.rule, source=refusal.source)
