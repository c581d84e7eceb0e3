"""A start configuration written down: layout, agreed settings, what its price assumes, what runs now."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from kg.nouns.entities import Problem
from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from kg.terms.dialects import statement
from kg.terms.meanings import OF_VLLM, file_of, meaning_of
from kg.terms.purposes import plain_key
from kg.terms.resolved_defaults import is_default
from kg.terms.setting_conflicts import broken_conflicts
from kg.terms.setting_registry import ReleaseSettings
from recommender.cost_model.priced_step import PricedStep
from recommender.cost_model.question import Question
from recommender.ranking.layout_question import LIMITED, SHORTEST
from recommender.ranking.measured.best_case import case_settings, runs_of
from recommender.ranking.measured.measured_run import MeasuredRun
from recommender.ranking.paste import OVERRIDING, UNNAMED
from recommender.ranking.plan_setting import FIELDS, Origin, PlanSetting, settings_by_key
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.assumed import OF_ADAPTERS, assumed_settings, one_queue
from recommender.ranking.starts.current_settings import in_place_of, with_current
from recommender.ranking.starts.draft import IN_THE_START, StartDraft
from recommender.ranking.starts.drafting import DRAFT_MODEL
from recommender.ranking.starts.flags.layout_flags import (
    FIELDED,
    layout_settings,
    of_one_server,
    spelt_settings,
)
from recommender.ranking.starts.flags.server_flags import (
    FIRST_SERVER,
    RANK,
    pooling_settings,
    role_settings,
    server_lines,
    server_settings,
    with_own_sizes,
)
from recommender.ranking.starts.launch_words import KEYED, launch_words, method_settings
from recommender.ranking.starts.layout_choice import ChosenLayout
from recommender.ranking.starts.layout_options import expected_of
from recommender.ranking.starts.lengths import adapted, longest, startable, stretched_positions
from recommender.ranking.starts.recipes.agreement import AgreedSetting
from recommender.ranking.starts.recipes.company import Company
from recommender.ranking.starts.recipes.recipe_load import is_load_of
from recommender.ranking.starts.rollout import NO_ENGINE, ROLLED, in_one_count, rollout_settings
from recommender.ranking.starts.screening import Screen
from recommender.ranking.starts.situation import StartSituation
from recommender.ranking.starts.support import because, memory_line, official, recipes_behind
from recommender.ranking.starts.weights import weights_of

_EXCHANGE, _CONNECTOR = "moe_a2a_backend", "kv_transfer_config.kv_connector"


def write_start(
    draft: StartDraft, chosen: ChosenLayout | None, layout: ParallelLayout | None, screen: Screen
) -> StartConfiguration:
    """The start configuration of a layout.

    Args:
        draft: What recipes agree on, sifted for this layout.
        chosen: The layout with its price; None if it has none.
        layout: How the work is divided; None if that is not known.
        screen: Knows what the release takes.
    """
    situation, framework = draft.situation, draft.situation.framework
    is_anew = draft.is_divided_anew
    # these engines count the replicas of the attention inside of their tensor parallel size
    if layout is not None and layout.dp > 1 and situation.splits_attention(anew=is_anew):
        layout = replace(layout, tp=layout.tp * layout.dp, dp_attention=True)
    settings: list[PlanSetting] = []
    if layout is not None:
        settings += layout_settings(
            layout if situation.is_training else of_one_server(layout, framework.id)[0],
            framework.id,
            experts=bool(situation.model.is_mixture),
            layers=situation.number("layers"),
            release=framework.version,
            origin=Origin.RECIPE if chosen and chosen.agreement > IN_THE_START else Origin.COST_MODEL,
            source=chosen.nearest.source.url if chosen and chosen.nearest else "",
        )
        settings += _redundant_experts(layout, situation)
    load = situation.at_once or draft.load
    at_once = None
    if chosen is not None and chosen.option.log_merit is not None and "batch" in chosen.option.settings:
        at_once = float(str(chosen.option.settings["batch"])) * chosen.option.layout.dp
        load = min(load, at_once) if load else None  # what does not fit waits
    problem = situation.problem
    is_timed = problem.objective.metric in SHORTEST or any(one.metric in LIMITED for one in problem.limits)
    load = load or (at_once if is_timed else None)
    has_load = partial(is_load_of, model=situation.model.id, device=next(iter(situation.hardware), ""))
    settings += [
        _planned(item, situation, layout, load or (None if has_load(item.first) else at_once))
        for item in draft.agreed
        if not _shortens(item, situation)
    ]
    if layout is not None and not draft.is_copied:
        priced = None if chosen is None else {**chosen.settings, **chosen.option.settings}
        if chosen is not None and priced and chosen.option.log_merit is None:
            priced.pop("batch", None)  # nothing told one from another
        settings += _further_than(draft, settings, assumed_settings(situation, layout, priced), screen)
    settings = _with_rollout(draft, chosen, settings, screen)
    beside: list[str] = []
    settings = in_place_of(settings, role_settings(situation, framework.id, settings))
    if layout is not None:
        transfers = any(
            plain_key(item.key) == _CONNECTOR and str(item.value).startswith("Mooncake") for item in settings
        )
        if not situation.is_training:
            settings += server_settings(situation, layout, framework.id, transfers=transfers)
        beside = server_lines(situation, layout, framework.id, transfers=transfers)
    if any(plain_key(item.key) == _EXCHANGE for item in settings):  # SGLang spreads the experts by itself
        flags = {item.key for item in spelt_settings({"ep": 1}, framework.id)}
        settings = [item for item in settings if item.key not in flags]
    # a measured run overrules the recipes, and what runs now (with_current) overrules both: hence the order
    runs = _runs_of(draft, chosen)
    if runs and not draft.is_copied:
        settings = in_place_of(
            settings, case_settings(_fastest(runs), screen.release(), situation.taken_away)
        )
    if not any("rope_" in item.key for item in settings):
        settings += stretched_positions(situation, screen.release(), draft.notes)
    settings += pooling_settings(situation, screen.release(), settings)
    settings = method_settings(situation, settings)
    settings = with_current(settings, situation, screen, is_divided=is_anew)
    settings = _in_one_form([*with_own_sizes(settings, situation, layout)], situation)
    settings += one_queue(situation, layout, settings)
    settings += _whole_sequences(draft, layout, settings)
    settings = list(switched(settings, screen.release()))
    settings, filled = launch_words(draft, settings, layout)
    weights = weights_of(draft, settings, chosen)
    return StartConfiguration(
        framework=framework.id,
        version=framework.version,
        layout=layout,
        fits=chosen.option.fits if chosen else None,
        settings=tuple(sorted(settings, key=lambda item: list(SettingPlace).index(item.where))),
        expected=expected_of(chosen.option, situation.problem) if chosen else (),
        needs=(*_requirements(settings, weights.requirement), *beside),
        because=(*because(draft, chosen, runs), *official(draft, chosen, layout, settings)),
        recipes=recipes_behind(draft, chosen),
        checkpoint=weights.name,
        filled=filled,
        agreement=chosen.agreement if chosen is not None and draft.weighed else None,
    )


def _with_rollout(
    draft: StartDraft, chosen: ChosenLayout | None, settings: list[PlanSetting], screen: Screen
) -> list[PlanSetting]:
    """The settings with those of the engine that writes answers, where a program has one."""
    framework = draft.situation.framework.id
    if framework not in ROLLED:
        return settings
    kept, is_packed = in_one_count(settings, draft.situation)
    if chosen is None or draft.question is None:
        return kept
    rolled = rollout_settings(draft.situation, draft.question, chosen.option, is_packed=is_packed)
    stated = statement({item.key: item.value for item in rolled}, framework).facts
    draft.notes += [] if "rollout_tensor" in stated or draft.is_divided_anew else [NO_ENGINE]
    return kept + _further_than(draft, kept, rolled, screen)


def _shortens(item: AgreedSetting, situation: StartSituation) -> bool:
    """True if recipes would cut the sequences of a server below the model's longest."""
    meaning, recipe, most = meaning_of(item.key), item.first, situation.model.most_tokens
    if meaning is None or meaning.fact != "max_len" or longest(situation) is not None:
        return False
    is_elsewhere = recipe.model != situation.model.id or recipe.hardware not in situation.hardware
    is_cut = bool(most and item.value.isdigit() and int(item.value) < most)
    return situation.current is not None or (is_elsewhere and is_cut)


def _whole_sequences(
    draft: StartDraft, layout: ParallelLayout | None, settings: Sequence[PlanSetting]
) -> list[PlanSetting]:
    """The length that vLLM is told where its cache would not hold one sequence of what the model takes."""
    situation, question = draft.situation, draft.question
    most, told = situation.model.most_tokens, statement({item.key: item.value for item in settings}).facts
    is_vllm = situation.framework.id in OF_VLLM and not situation.is_training
    if not (is_vllm and question and layout and most) or "max_len" in told or situation.current is not None:
        return []
    chunk = told.get("chunk")
    length = startable(question, layout, most, float(chunk) if isinstance(chunk, int | float) else None)
    return spelt_settings({"max_len": length}, situation.framework.id) if length else []


def _redundant_experts(layout: ParallelLayout, situation: StartSituation) -> list[PlanSetting]:
    """Copies of experts where SGLang spreads them over devices that do not divide their number."""
    missing = int(-(situation.number("experts") or 0) % layout.ep)
    if situation.framework.id != "sglang" or not missing:
        return []
    return settings_by_key({"--ep-num-redundant-experts": missing})


def _planned(
    item: AgreedSetting, situation: StartSituation, layout: ParallelLayout | None, load: float | None
) -> PlanSetting:
    value, why = adapted(item, situation, layout, load)
    one = planned(item, value)
    return replace(one, origin=Origin.COST_MODEL, source=why) if why else one


def planned(item: AgreedSetting, value: str) -> PlanSetting:
    """A setting of recipes, with a value, as a plan holds it."""
    return PlanSetting(
        where=item.where,
        key=item.key,
        value=value if item.where is SettingPlace.ENV else typed(value),
        origin=Origin.RECIPE,
        source=item.first.source.url,
        agreement=item.share,
        file=file_of(item.first.framework) if item.where is SettingPlace.YAML else "",
    )


def typed(text: str) -> Value:
    """A value of a recipe as what it is: a truth, a number, or the text."""
    low = text.lower()
    if low in {"true", "false"}:
        return low == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _further_than(
    draft: StartDraft, settings: Sequence[PlanSetting], assumed: Sequence[PlanSetting], screen: Screen
) -> list[PlanSetting]:
    """The assumed settings that nothing sets yet, as far as the release and recipes allow them."""
    present = {plain_key(item.key) for item in settings}
    release = screen.release()
    found: list[PlanSetting] = []
    company = Company.of(draft.weighed)
    for item in assumed:
        plain = plain_key(item.key)
        meaning = meaning_of(item.key, screen.situation.framework.id)
        is_told = meaning is not None and meaning.fact in OF_ADAPTERS
        if plain in present or (company.is_avoided(plain, present) and not is_told):
            continue
        if release is not None:
            place = None if item.where in FIELDS else item.where
            taken = release.look_up(item.key, place, suggest=False)
            if not taken.usable or is_default(taken, item.value, screen.situation.facts):
                continue
            begun = {one.key: one.value for one in [*settings, *found]}
            broken = broken_conflicts(release, {**begun, item.key: item.value})
            if set(broken) - set(broken_conflicts(release, begun)):
                continue
        found.append(item)
    return found


def _runs_of(draft: StartDraft, chosen: ChosenLayout | None) -> list[MeasuredRun]:
    """The measured runs of a layout, nearest first."""
    if chosen is None or draft.question is None or not draft.measured:
        return []
    return runs_of(draft.question.place(_priced_settings(draft.question, chosen)), draft.measured)


def _priced_settings(question: Question, chosen: ChosenLayout) -> dict[str, object]:
    return {**question.settings, **chosen.option.settings, **chosen.option.layout.degrees()}


def _fastest(runs: Sequence[MeasuredRun]) -> MeasuredRun:
    """The run of the nearest problem that beats its price most."""
    return min((run for run in runs if run.group == runs[0].group), key=lambda run: run.log_ratio)


def _in_one_form(settings: list[PlanSetting], situation: StartSituation) -> list[PlanSetting]:
    """The settings of a trainer that takes a file or flags: as the script writes them, else as fields."""
    if situation.framework.id not in OVERRIDING.keys() - FIELDED - ROLLED:
        return settings
    flagged = situation.framework.id not in KEYED
    is_flagged = flagged and any(
        situation.script_key(name).startswith("--") for name in situation.current or {}
    )
    place, dashes = (SettingPlace.FLAG, "--") if is_flagged else (SettingPlace.YAML, "")
    return [
        item
        if item.where is SettingPlace.ENV
        else replace(item, where=place, key=f"{dashes}{item.key.lstrip('-')}", file="")
        for item in settings
    ]


def switched(settings: Iterable[PlanSetting], release: ReleaseSettings | None) -> Iterator[PlanSetting]:
    """Settings with the flag that switches each off; a switch without one that is off is not written."""
    for item in (_as_switch(one, release) for one in settings):
        known = None
        if release is not None and item.where is SettingPlace.FLAG and str(item.value).lower() == "false":
            known = release.look_up(item.key, suggest=False).setting
            negated = f"--no-{item.key.lstrip('-')}"
            if known is None and release.look_up(negated, suggest=False).usable:
                yield replace(item, negation=negated)
                continue
        is_off = known is not None and bool(known.defaults) and known.defaults[-1].value is False
        if known is not None and known.type == "bool" and known.negation:
            yield replace(item, negation=known.negation)
        elif known is None or known.type != "bool" or not is_off:
            yield item


def _as_switch(item: PlanSetting, release: ReleaseSettings | None) -> PlanSetting:
    """A setting of ours, with the 1 or 0 that files write for a switch as what it is."""
    text = str(item.value)
    if release is None or item.where is not SettingPlace.FLAG or item.origin is Origin.CURRENT:
        return item
    known = release.look_up(item.key, suggest=False).setting if text in {"0", "1"} else None
    return item if known is None or known.type != "bool" else replace(item, value=text == "1")


def repriced(
    start: StartConfiguration, option: PricedStep, price: PricedStep, problem: Problem
) -> StartConfiguration:
    """A start with the price of what it sets in the end."""
    before, now = memory_line(option, option.memory_bytes), memory_line(option, price.memory_bytes)
    because = tuple(now if line == before else line for line in start.because)
    return replace(start, expected=expected_of(price, problem), because=because)


_OF_SERVERS = {
    FIRST_SERVER: "the address of the first server",
    RANK: "the place of a server among them, from 0",
}
"""The words in capitals of several servers, and what they stand for."""


def _requirements(settings: Sequence[PlanSetting], of_weights: str) -> list[str]:
    """Requirements of a start, in words, that on its weights first."""
    lines = [of_weights] if of_weights else []
    recipes = {item.key: item.value for item in settings if item.origin is Origin.RECIPE}
    if (cache := statement(recipes).facts.get("precision_cache")) not in {None, "bf16"}:
        lines.append(f"a cache in {cache}, whose accuracy is not known here")
    if any(item.value == DRAFT_MODEL for item in settings):
        lines.append(f"{DRAFT_MODEL}, a draft model trained for {UNNAMED}")
    words = {str(item.value).partition(":")[0] for item in settings}
    lines += [f"{word}, {meant}" for word, meant in _OF_SERVERS.items() if word in words]
    return lines
