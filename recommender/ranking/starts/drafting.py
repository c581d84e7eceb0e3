"""Settings that draft tokens, of one piece: without what drafts, the others do nothing or stop the server."""

from collections.abc import Iterable
from dataclasses import replace

from kg.terms.purposes import plain_key
from recommender.applicability.draft_heads import DraftHead, draft_head
from recommender.ranking.change import NotHere
from recommender.ranking.starts.draft import IN_THE_START
from recommender.ranking.starts.recipes.agreement import AgreedSetting
from recommender.ranking.starts.situation import StartSituation

DRAFTS = "speculative_"
"""Beginning of the keys of draft settings, in vLLM and SGLang."""
DRAFT_MODELS = frozenset({"speculative_config.model", "speculative_draft_model_path"})
DRAFT_MODEL = "DRAFT_MODEL"
"""Stands for the path of a draft model, which recipes keep on disks of their own."""
METHODS = frozenset({"speculative_config.method", "speculative_algorithm"})
"""Keys of what drafts."""
_OF_THE_MODEL = ("mtp", "nextn", "dspark")
_OF_THE_PROMPT = frozenset({"ngram", "ngram_gpu", "suffix"})
_PATHS = {"speculative_config.method": "speculative_config.model"}


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
    method = next((item for item in drafts if plain_key(item.key) in METHODS), None)
    path = next((item for item in drafts if plain_key(item.key) in DRAFT_MODELS), None)
    if not drafts:
        return settings, []
    why = _missing(method or path, situation, has_path=path is not None)
    if why:
        rest = [item for item in settings if item not in drafts]
        return rest, [NotHere(strategy=item.key, because=why, fact="draft") for item in drafts]
    if method is not None and path is None and _needs_model(method.value, situation):
        key = _PATHS.get(plain_key(method.key), "--speculative-draft-model-path")
        head = _head(method.value, situation)
        settings.append(replace(method, key=key, value=head.name if head else DRAFT_MODEL))
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
    if _head(drafter.value, situation) is not None:
        return ""
    return f"no draft model of {model.id} is known to {drafter.value} recipes"


def _needs_model(method: str, situation: StartSituation) -> bool:
    """True if a method drafts with a checkpoint of its own, not with layers of the model."""
    name = method.lower()
    if _head(method, situation) is not None:
        return True
    if name in _OF_THE_PROMPT or any(part in name for part in _OF_THE_MODEL):
        return False
    return not (name == "eagle" and situation.model.has_draft)


def _head(method: str, situation: StartSituation) -> DraftHead | None:
    """The published draft model for a method that the program loads."""
    checkpoint = situation.problem.situation.checkpoint
    return draft_head(situation.model.id, method, (situation.framework.id,), checkpoint)
