"""Values of recipes adapted to a question: lengths, requests at once, drafts."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from kg.terms.dialects import statement
from kg.terms.meanings import meaning_of
from recommender.ranking.starts.lengths import are_stated, longest
from recommender.ranking.starts.recipes.recipe_load import AT_ONCE

if TYPE_CHECKING:
    from kg.nouns.layout import ParallelLayout
    from recommender.ranking.starts.recipes.agreement import AgreedSetting
    from recommender.ranking.starts.situation import StartSituation


def falls_short(item: AgreedSetting, at_once: float | None) -> bool:
    """True if it captures graphs for fewer requests than an engine gets: the default captures more."""
    facts = statement({item.key: item.value}).facts
    most = facts.get("captured_requests", facts.get("captured_rows"))
    return at_once is not None and isinstance(most, int) and most < at_once


def adapted(
    item: AgreedSetting, situation: StartSituation, layout: ParallelLayout | None, load: float | None = None
) -> tuple[str, str]:
    """The value of a setting for a question, and why it is not that of the recipe (empty if it is).

    The longest sequence follows from the lengths that are asked for, or is at most what the model takes;
    requests at once follow from the load, which vLLM counts for each engine and SGLang over all of them.

    Args:
        item: The setting.
        situation: What is asked.
        layout: How the work is divided.
        load: Requests at once on all devices, stated or assumed.
    """
    meaning = meaning_of(item.key)
    is_length = meaning is not None and meaning.fact == "max_len"
    tokens = longest(situation)
    if is_length and tokens and not are_stated(situation) and item.value.isdecimal():
        tokens = max(tokens, int(item.value))
    if is_length and tokens:
        return str(tokens), "input and output lengths"
    most = situation.model.most_tokens
    if is_length and most and item.value.isdecimal() and int(item.value) > most:
        return str(most), "the longest sequence of the model"
    if not load or meaning is None or meaning.fact not in {AT_ONCE, "chunk", "captured_requests"}:
        return item.value, ""
    replicas = layout.dp if layout and not meaning.over else 1
    value = str(max(1, math.ceil(load / replicas)))
    if meaning.fact == "captured_requests":
        captured = _captured(item.value, int(value)) if meaning.largest else item.value
        return captured, "" if captured == item.value else "requests at once"
    if meaning.fact == "chunk":  # a step has a token of each request at least
        is_short = item.value.isdecimal() and 0 < int(item.value) < int(value)
        return (value, "requests at once") if is_short else (item.value, "")
    return value, "" if value == item.value else "requests at once"


def _captured(listed: str, most: int) -> str:
    """The listed sizes of captured graphs up to so many requests; doublings where all are larger."""
    sizes = [int(size) for size in re.findall(r"\d+", listed)]
    if not sizes or max(sizes) <= most:
        return listed
    smaller = [size for size in sizes if size < most] or [
        2**k for k in range(most.bit_length()) if 2**k < most
    ]
    separator = ", " if "," in listed else " "
    text = separator.join(map(str, [*smaller, most]))
    return f"[{text}]" if listed.lstrip().startswith("[") else text
