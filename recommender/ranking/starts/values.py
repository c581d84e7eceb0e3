"""Values of recipes adapted to a question: lengths, requests at once, drafts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kg.terms.purposes import plain_key
from recommender.ranking.starts.assumed import longest

if TYPE_CHECKING:
    from recommender.ranking.start import ParallelLayout
    from recommender.ranking.starts.agreement import AgreedSetting
    from recommender.ranking.starts.situation import Situation

_LONGEST = frozenset({"max_model_len", "context_length"})
_AT_ONCE_OF_AN_ENGINE = frozenset({"max_num_seqs"})
_AT_ONCE = frozenset({"max_running_requests"})


def adapted(item: AgreedSetting, situation: Situation, layout: ParallelLayout | None) -> tuple[str, str]:
    """The value of a setting for a question, and why it is not that of the recipe (empty if it is).

    The longest sequence follows from the lengths that are asked for, and requests at once from the
    concurrency,
    which vLLM counts for each engine and SGLang over all of them.
    """
    plain = plain_key(item.key)
    tokens = longest(situation)
    if plain in _LONGEST and tokens:
        return str(tokens), "input and output lengths"
    concurrency = situation.number("concurrency")
    if concurrency and plain in _AT_ONCE:
        return str(math.ceil(concurrency)), "concurrency"
    if concurrency and plain in _AT_ONCE_OF_AN_ENGINE:
        replicas = layout.dp if layout else 1
        return str(max(1, math.ceil(concurrency / replicas))), "concurrency"
    return item.value, ""
