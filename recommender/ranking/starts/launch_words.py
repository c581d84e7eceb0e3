"""Words in capitals of a program's command and what they stand for: devices, servers, stage, recipe."""

from collections.abc import Iterator, Sequence

from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.situation import RECIPE
from kg.terms.meanings import table
from kg.terms.purposes import plain_key
from recommender.ranking.plan_setting import Origin, PlanSetting, settings_by_key
from recommender.ranking.starts.draft import StartDraft
from recommender.ranking.starts.situation import StartSituation

KEYED = frozenset({"torchtune", "maxtext"})
"""Trainers whose commands take settings as ``key=value`` alone, their recipe and its file as words."""
_TOLD = {"nproc_per_node": "SIZE", "nnodes": "NODES", "config": "CONFIG"}
_CONFIGS = "recipes/configs/"
_OF_ANOTHER = frozenset({"qat", "kd", "ppo", "dpo", "dora", "lora", "full"})
"""Words before the method in the name of a configuration of torchtune by which it is another method's."""


def method_settings(situation: StartSituation, settings: Sequence[PlanSetting]) -> list[PlanSetting]:
    """The settings with what tells the program the method that the question names."""
    program, traits = situation.framework.id, situation.problem.workload.traits
    word = str(traits.get("trained_by", "")) or (situation.task if situation.is_training else "")
    told = table("meanings")["trained_by"].get(program, {}).get(word, {})
    made = settings_by_key({key: value.format(word) for key, value in told.items()}, Origin.KNOWLEDGE)
    names = {plain_key(item.key) for item in made}
    return [*(item for item in settings if plain_key(item.key) not in names), *made]


def launch_words(
    draft: StartDraft, settings: Sequence[PlanSetting], layout: ParallelLayout | None
) -> tuple[list[PlanSetting], dict[str, str]]:
    """The settings that stay settings, and what the words of the command stand for.

    Args:
        draft: What is asked, with recipes that are alike.
        settings: Of the start.
        layout: How the work is divided; None if that is not known.
    """
    situation, framework = draft.situation, draft.situation.framework.id
    if not situation.is_training:
        return list(settings), {}
    found: dict[str, str] = {}
    if layout is not None:
        nodes = int(situation.number("nodes") or 1)
        found = {"SIZE": str(layout.devices // nodes), "NODES": str(nodes)}
    if framework == "torchtune":
        found |= dict(_of_torchtune(draft, is_alone=found.get("SIZE") == "1"))
    if framework in KEYED:
        told = {_TOLD[name]: item for item in settings if (name := plain_key(item.key)) in _TOLD}
        found |= {word: str(item.value) for word, item in told.items()}
        settings = [item for item in settings if plain_key(item.key) not in _TOLD]
    elif task := situation.script_key(RECIPE):
        found["TASK"] = task
    elif framework == "nemo-2":
        found["TASK"] = "finetune" if situation.facts.get("lora") else "pretrain"
    settings = [*settings, *_trained_model(situation, settings)]
    if situation.current is None:
        kinds = {plain_key(item.key) for item in settings}
        stage = "rlhf" if "rlhf_type" in kinds else "sft"
        found["STAGE"] = stage if framework == "ms-swift" else "SCRIPT"
    return list(settings), found


def _trained_model(situation: StartSituation, settings: Sequence[PlanSetting]) -> list[PlanSetting]:
    """The flag that names the model, where a script gives its trainer flags: else nothing is trained."""
    flags = any(item.origin is Origin.CURRENT and item.where is SettingPlace.FLAG for item in settings)
    keys = table("launches")["programs"].get(situation.framework.id, {}).get("model", ())
    checkpoint = situation.problem.situation.checkpoint
    if not (flags and keys and checkpoint) or {plain_key(item.key) for item in settings} & set(keys):
        return []
    return settings_by_key({f"--{keys[0]}": checkpoint}, Origin.CURRENT)


def _of_torchtune(draft: StartDraft, *, is_alone: bool) -> Iterator[tuple[str, str]]:
    """The recipe by what is trained, and the file of it that an official configuration is."""
    situation, traits = draft.situation, draft.situation.problem.workload.traits
    method = "lora" if situation.facts.get("lora") or situation.number("lora_rank") else "full"
    step = "dpo" if traits.get("trained_by") == "dpo" else "finetune"
    ending = "single_device" if is_alone else "distributed"
    yield "RECIPE", situation.script_key(RECIPE) or f"{method}_{step}_{ending}"
    ends = tuple(
        f"_{name}{'_dpo' * (step == 'dpo')}{'_single_device' * is_alone}"
        for name in (("qlora", "lora") if situation.number("frozen_bits") else (method,))
    )
    files = (
        one.recipe.source.url.partition(_CONFIGS)[2].partition(".yaml")[0]
        for one in draft.weighed
        if one.recipe.model == situation.model.id
    )
    sizes = ((file, end, file.removesuffix(end).rpartition("/")[2]) for file in files for end in ends)
    fitting = (
        file for file, end, size in sizes if file.endswith(end) and _OF_ANOTHER.isdisjoint(size.split("_"))
    )
    if file := next(fitting, ""):
        yield "CONFIG", file
