"""The weights that a start serves: those of the model's own name, or a repository in another format."""

from collections.abc import Sequence
from dataclasses import dataclass

from kg.terms.dialects import statement
from kg.terms.meanings import OWN_NAMES
from kg.terms.model_name import read_name
from kg.terms.precisions import GGUF_BITS, canonical_precision
from kg.terms.purposes import QUANTISATION, plain_key
from recommender.cost_model.facts.device import UNPACKED
from recommender.ranking.model_traits import accuracy_in
from recommender.ranking.paste import OTHER_WEIGHTS, UNNAMED
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.starts.draft import StartDraft
from recommender.ranking.starts.layout_choice import ChosenLayout
from recommender.ranking.starts.recipes.resemblance import WeighedRecipe
from recommender.ranking.starts.screening import SIXTEEN_BIT
from recommender.ranking.starts.situation import StartSituation

_TUNED = {"instruct": "Instruct", "chat": "Chat", "it": "it", "thinking": "Thinking"}
"""Ends of the names by which publishers of weights call those tuned for answers, beside the base model."""
_UNTOLD = "this format"
PUBLISHERS = frozenset(
    {
        "amd", "deepseek-ai", "Eco-Tech", "google", "hugging-quants", "inclusionAI", "internlm", "meta-llama",
        "MiniMaxAI", "mistralai", "moonshotai", "nvidia", "openai", "Qwen", "RedHatAI", "tencent",
        "vllm-ascend", "zai-org",
    }
)  # fmt: skip
"""Owners of the repositories that documents of vendors and engines serve: weights are programs, and a recipe
that somebody took in may name any."""


@dataclass(frozen=True, slots=True)
class ServedWeights:
    """The weights of a start.

    Attributes:
        name: As its command takes them; empty where no name is known.
        requirement: What they must be where they are not those of the model's own name, in words; else empty.
    """

    name: str
    requirement: str = ""


def weights_of(
    draft: StartDraft, settings: Sequence[PlanSetting], chosen: ChosenLayout | None
) -> ServedWeights:
    """The weights of a start.

    Args:
        draft: What it is for.
        settings: What it sets.
        chosen: Its layout; None where layouts have no price.
    """
    model, own = draft.situation.model.id, _named(draft.situation)
    asked = _other_format(draft, settings, chosen)
    if not asked:
        return ServedWeights(own)
    known = accuracy_in(model, asked) or "whose accuracy is not known here"
    if name := published_weights(draft.weighed, model, own, asked):
        return ServedWeights(name, f"{OTHER_WEIGHTS} {asked}, {known}")
    return ServedWeights("", f"{UNNAMED} in {asked}, {known}")


def published_weights(weighed: Sequence[WeighedRecipe], model: str, named: str, asked: str) -> str:
    """The repository whose weights recipes of a model serve in a format, the nearest one's; empty if none.

    Args:
        weighed: Recipes for the question.
        model: Id of the model.
        named: The model as its command takes it in its own format; empty where that is not known.
        asked: The format.
    """
    base = named.rpartition("/")[2].lower()
    for one in sorted(weighed, key=lambda one: -one.weight):
        name = one.recipe.reported_model
        owner, _, own = name.rpartition("/")
        is_so = one.recipe.model == model and read_name(name).weights == asked
        if owner in PUBLISHERS and base and is_so and base in own.lower():
            return name
    return ""


def _named(situation: StartSituation) -> str:
    """The model as its command takes it: as told, else as the hub has it and its tuned variants."""
    told, hub = situation.problem.situation, situation.model.hub
    if told.has_script and told.model_name and situation.framework.id in OWN_NAMES:
        return told.model_name
    form = situation.problem.workload.precision or ""
    if situation.framework.id == "llama.cpp" or form in GGUF_BITS:
        kind = f"-{form.upper()}" if form in GGUF_BITS else ""
        return told.checkpoint if told.checkpoint.endswith(".gguf") else f"{UNNAMED}{kind}.gguf"
    owner, _, base = hub.rpartition("/")
    name = told.model_name.lower()
    if (
        told.checkpoint or name in {"", base.lower()} or base.lower().endswith(f"-{name}")
    ):  # NVIDIA-Nemotron-...
        return told.checkpoint or hub
    ending = _TUNED.get(name.removeprefix(f"{base.lower()}-"), "")
    return f"{owner}/{base}-{ending}" if owner and ending and name != ending.lower() else ""


def _other_format(draft: StartDraft, settings: Sequence[PlanSetting], chosen: ChosenLayout | None) -> str:
    """The format of weights that a start needs beside those of the model's own name; empty if none."""
    quantised = [item for item in settings if plain_key(item.key) == QUANTISATION]
    priced = str(chosen.settings.get("precision", "")) if chosen else ""
    is_asked = bool(draft.situation.problem.workload.precision) and not draft.situation.is_training
    wide = {"", "float32", draft.weight_format, *SIXTEEN_BIT}
    is_narrowed = (is_asked or draft.is_narrowed) and priced not in wide
    named = draft.situation.problem.situation.checkpoint
    weights = read_name(named).weights
    is_told = "precision" in statement(draft.situation.current or {}, draft.situation.framework.id).facts
    is_named_so = named.endswith(".gguf") or priced in {*GGUF_BITS, weights, UNPACKED.get(weights)} - {""}
    is_named_so |= bool(named) and is_told  # what runs quantises them
    asked = canonical_precision(draft.situation.problem.workload.precision or "")
    priced = asked if UNPACKED.get(asked) == priced else priced
    is_other = is_narrowed or any(item.origin is Origin.RECIPE for item in quantised)
    return "" if is_named_so or not is_other else priced or _UNTOLD
