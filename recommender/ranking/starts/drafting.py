"""Settings that draft tokens, of one piece: without what drafts, the others do nothing or stop the server."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import data
from kg.terms.purposes import plain_key
from recommender.ranking.change import NotHere
from recommender.ranking.starts.draft import IN_THE_START

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recommender.ranking.starts.recipes.agreement import AgreedSetting
    from recommender.ranking.starts.situation import StartSituation

DRAFTS = "speculative_"
"""Beginning of the keys of draft settings, in vLLM and SGLang."""
DRAFT_MODELS = frozenset({"speculative_config.model", "speculative_draft_model_path"})
DRAFT_MODEL = "DRAFT_MODEL"
"""Stands for the path of a draft model, which recipes keep on disks of their own."""
_METHODS = frozenset({"speculative_config.method", "speculative_algorithm"})
_OF_THE_MODEL = ("mtp", "nextn", "dspark")
_OF_THE_PROMPT = frozenset({"ngram", "ngram_gpu", "suffix"})
_PATHS = {"speculative_config.method": "speculative_config.model"}


@cache
def _heads() -> Mapping[tuple[str, str], str]:
    rows = csv.DictReader(data.text("models/drafts.csv").splitlines())
    return {(row["model"], row["method"]): row["head"] for row in rows}


def draft_head(model: str, values: Iterable[object]) -> str:
    """The published draft model of a model for one of the methods among values; else what stands for one."""
    named = (_heads().get((model, str(value).lower())) for value in values)
    return next((head for head in named if head), DRAFT_MODEL)


def drafted_whole(
    kept: Iterable[AgreedSetting], situation: StartSituation
) -> tuple[list[AgreedSetting], list[NotHere]]:
    """The settings, those of drafts only where the start names what drafts and the model can have it.

    Args:
        kept: Settings that may be set, one value for each key.
        situation: What is asked.
    """
    settings = list(kept)
    drafts = [item for item in settings if plain_key(item.key).startswith(DRAFTS)]
    method = next((item for item in drafts if plain_key(item.key) in _METHODS), None)
    path = next((item for item in drafts if plain_key(item.key) in DRAFT_MODELS), None)
    if not drafts:
        return settings, []
    why = _missing(method or path, situation, has_path=path is not None)
    if why:
        rest = [item for item in settings if item not in drafts]
        return rest, [NotHere(strategy=item.key, because=why, fact="draft") for item in drafts]
    if method is not None and path is None and _needs_model(method.value, situation):
        key = _PATHS.get(plain_key(method.key), "--speculative-draft-model-path")
        settings.append(replace(method, key=key, value=draft_head(situation.model.id, [method.value])))
    return settings, []


def _missing(drafter: AgreedSetting | None, situation: StartSituation, *, has_path: bool) -> str:
    """The reason that nothing drafts here; empty if a method, or a draft model in its place, does."""
    if drafter is None or drafter.share < IN_THE_START:
        return "fewer than half of the recipes, by weight, agree on what drafts"
    name, model = drafter.value.lower(), situation.model
    if has_path:
        return ""
    if any(part in name for part in _OF_THE_MODEL):
        return f"{model.id} has no layers that draft" if model.has_draft is False else ""
    if not _needs_model(drafter.value, situation) or drafter.first.model == model.id:
        return ""
    return f"no draft model of {model.id} is known to {drafter.value} recipes"


def _needs_model(method: str, situation: StartSituation) -> bool:
    """True if a method drafts with a checkpoint of its own, not with layers of the model."""
    name = method.lower()
    if name in _OF_THE_PROMPT or any(part in name for part in _OF_THE_MODEL):
        return False
    return not (name == "eagle" and situation.model.has_draft)
