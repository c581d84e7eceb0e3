"""Values of recipes adapted to a question: lengths, requests at once, drafts."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from kg.terms.purposes import plain_key
from recommender.ranking.starts.lengths import are_stated, longest
from recommender.ranking.starts.recipes.recipe_load import AT_ONCE, AT_ONCE_OF_AN_ENGINE

if TYPE_CHECKING:
    from kg.nouns.layout import ParallelLayout
    from recommender.ranking.starts.recipes.agreement import AgreedSetting
    from recommender.ranking.starts.situation import StartSituation

_LONGEST = frozenset({"max_model_len", "context_length"})
_CAPTURED = frozenset(
    {"cudagraph_capture_sizes", "cuda_graph_bs", "cuda_graph_bs_decode", "cuda_graph_max_bs"}
)


def falls_short(item: AgreedSetting, at_once: float | None) -> bool:
    """Whether it captures graphs for fewer requests than an engine gets: the default captures for more."""
    name = plain_key(item.key).rpartition(".")[2]
    sizes = [int(number) for number in re.findall(r"\d+", item.value)]
    return bool(at_once and name in _CAPTURED and sizes) and max(sizes) < (at_once or 0)


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
    plain = plain_key(item.key)
    tokens = longest(situation)
    if plain in _LONGEST and tokens and not are_stated(situation) and item.value.isdecimal():
        tokens = max(tokens, int(item.value))
    if plain in _LONGEST and tokens:
        return str(tokens), "input and output lengths"
    most = situation.model.most_tokens
    if plain in _LONGEST and most and item.value.isdecimal() and int(item.value) > most:
        return str(most), "the longest sequence of the model"
    if not load or plain not in AT_ONCE | AT_ONCE_OF_AN_ENGINE:
        return item.value, ""
    replicas = layout.dp if layout and plain in AT_ONCE_OF_AN_ENGINE else 1
    value = str(max(1, math.ceil(load / replicas)))
    return value, "" if value == item.value else "requests at once"
