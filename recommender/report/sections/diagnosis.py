"""The diagnosis of a report: causes of lost time with their evidence and remedies, the split of the step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.scales import number, percent, quantity, times
from recommender.report.sections.common import notes, source_link
from recommender.report.sections.heat_map import draw_heat
from recommender.report.sections.ledger import draw_ledger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.report.words import Words


TITLE = "Diagnosis"
_MICRO = 1e-6
_MOST_ROWS = 6


def draw(content: Mapping[str, Any], words: Words) -> Markup:
    """The section of one diagnosis."""
    causes, least = content["causes"], percent(content["significant_share"])
    if causes:
        said = (
            words("One cause, which costs at least {least} of the step.", least=least)
            if len(causes) == 1
            else words("{n} causes that cost at least {least} of the step each.", n=len(causes), least=least)
        )
    else:
        said = words(
            "Nothing that was collected costs {least} of the step and shows a known cause.", least=least
        )
    beside = words("Beside {path}.", path=name(content["against"])) if content.get("against") else None
    parts = [tag("p", said, " ", beside, class_="lead"), notes(content.get("notes", ()), words)]
    parts += [_cause(cause, words) for cause in causes]
    if content.get("next_measurement"):
        parts.append(draw_next(content["next_measurement"], words))
    if content.get("ledger"):
        parts.append(draw_ledger(content["ledger"], words))
    if content.get("heat"):
        parts.append(draw_heat(content["heat"], words))
    return joined(parts)


def _cause(cause: Mapping[str, Any], words: Words) -> Markup:
    gain = cause["gain"]
    cost = words(
        "Costs {share} of the step ({lost}), confidence {confidence}, at most {ceiling}. "
        "Expected gain {gain}, 90 % interval {low} to {high}, modelled.",
        share=percent(cause["share"]),
        lost=quantity(cause["lost_us"] * _MICRO, "s"),
        confidence=percent(cause["confidence"]),
        ceiling=times(cause["ceiling"]),
        gain=times(gain["expected"]),
        low=times(gain["low"]),
        high=times(gain["high"]),
    )
    return tag(
        "div",
        tag("h3", name(cause["label"]), " ", tag("code", cause["cause"])),
        tag("p", cost),
        _replay(cause.get("fix_test"), words),
        tag("p", words("Chain: {chain}", chain=" ← ".join(cause["chain"]))),
        tag("ul", *(_evidence(item, words) for item in cause["evidence"])),
        _perhaps(cause, words),
        _remedies(cause, words),
        class_="item",
    )


def _replay(fix: Mapping[str, Any] | None, words: Words) -> Markup | None:
    if not fix:
        return None
    said = words(
        "Replayed without it: {factor}; {symptom} goes from {before} to {after} of the step.",
        factor=times(fix["factor"]),
        symptom=fix["symptom"],
        before=percent(fix["symptom_share_before"]),
        after=percent(fix["symptom_share_after"]),
    )
    eased = None if fix["symptom_eased"] else words("Not eased, so it stands behind those that are.")
    modelled = None
    if fix.get("kernels_measured_us") and fix.get("kernels_modelled_us") is not None:
        modelled = words(
            "These kernels took {measured}; their shapes need {modelled}, modelled.",
            measured=quantity(fix["kernels_measured_us"] * _MICRO, "s"),
            modelled=quantity(fix["kernels_modelled_us"] * _MICRO, "s"),
        )
    return tag("p", said, " ", eased, " ", modelled)


def _evidence(item: Mapping[str, Any], words: Words) -> Markup:
    rank = words("rank {rank}: ", rank=item["rank"]) if item.get("rank") is not None else None
    places = [
        name(f"{place['file']}:{','.join(map(str, place['rows'][:_MOST_ROWS]))}".rstrip(":"), 100)
        for place in item["places"]
    ]
    at = tag("span", " (", joined(places, "; "), ")", class_="soft") if places else None
    return tag("li", rank, item["says"], at)


def _perhaps(cause: Mapping[str, Any], words: Words) -> Markup | None:
    if not cause.get("perhaps"):
        return None
    texts = [f"{item['cause']} {percent(item['chance'])}" for item in cause["perhaps"]]
    return tag("p", words("Perhaps behind it: {causes}", causes=", ".join(texts)), class_="soft")


def _effect(case: Mapping[str, Any], factor: str) -> str:
    return f"{case['metric']} {times(case[factor])}, {case['kind']}"


def _remedies(cause: Mapping[str, Any], words: Words) -> Markup | None:
    rows = []
    for item in cause.get("remedies", ()):
        effects = [
            f"{_effect(case, 'mean_factor')}, {case['hardware'] or '?'} (n={number(case['n'])})"
            for case in item["cases"]
        ]
        settings = joined([tag("code", text) for text in item["settings"]], " ")
        sources = joined([source_link(source) for source in item["sources"][:2]], "; ")
        rows.append((name(item["label"]), settings, "; ".join(effects), sources))
    rows += [
        (
            name(case["strategy"]),
            case["bottleneck"],
            f"{_effect(case, 'factor')}, {case['model'] or '?'}, {case['hardware'] or '?'}",
            words("a case of the workspace"),
        )
        for case in cause.get("matching_cases", ())
    ]
    if not rows:
        return None
    return table(
        (
            words("what to do"),
            words("setting, or what it was for"),
            words("what it did elsewhere"),
            words("source"),
        ),
        rows,
    )


def draw_next(content: Mapping[str, Any], words: Words) -> Markup:
    """The measurement that would tell most of what is open."""
    said = words(
        "To measure next: {how}. It tells {tells} ({open}, {share} of the step).",
        how=content["how"],
        tells=content["tells"],
        open=quantity(content["open_us"] * _MICRO, "s"),
        share=percent(content["share"]),
    )
    return tag("p", said)
