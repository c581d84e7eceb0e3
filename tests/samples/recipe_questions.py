"""A published recipe as a question to the cost model: what it sets, in the cost model's words."""

from collections.abc import Mapping

from benchmarks.cost_models.published_question import priced_format
from kg.nouns.layout import DEGREES
from kg.nouns.recipe import Recipe, Role
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from kg.triples.hardware_tree import HardwareTree
from recommender.cost_model.machine import device_and_server
from recommender.cost_model.question import Question, QuestionFacts
from recommender.cost_model.settings.dialects import translate

LENGTHS = {"seq_len": "seq_len", "input_len": "input_len", "output_len": "output_len"}
USUAL_LENGTH = 4096
"""Tokens of a training sequence where a recipe states none, as starts assume."""


def recipe_question(recipe: Recipe, sizes: Mapping[str, Value], tree: HardwareTree) -> Question:
    """The question that a recipe's configuration is to the cost model.

    The layout that the recipe's reader worked out wins over the flags, because it counts devices one way for
    all frameworks. A batch that is not limited is the concurrency of the recipe, shared among its replicas.

    Args:
        recipe: What somebody published.
        sizes: Facts of its model, with its ``architecture``.
        tree: Knows hardware.

    Raises:
        InputError: The cost model knows no such setting.
        MissingFactError: A size of the model is unknown.
    """
    phase = "training" if recipe.role in {Role.TRAIN, Role.FINETUNE} else "serving"
    count = max(recipe.devices // recipe.instances, 1)
    device, server = device_and_server(tree, recipe.hardware)
    facts = QuestionFacts.look_up(recipe.model, sizes, tree, representative(tree, device), server)
    told: dict[str, Value] = {
        item.key: item.value for item in recipe.settings if item.where != SettingPlace.CODE
    }
    found = translate(told, phase, count=count, layers=int(facts.model_sizes().layers) or None).settings
    settings: dict[str, Value] = {
        name: value for name, value in found.items() if isinstance(value, int | float | str)
    }
    for name, setting in DEGREES.items():
        size = recipe.layout.get(name)
        if isinstance(size, int) and not (phase == "serving" and name == "cp"):
            settings[setting] = size
    copies = settings.get("data_parallel", 1)
    if recipe.layout.get("dp_attention") and isinstance(copies, int) and copies > 1:
        settings["tensor_parallel"] = max(count // copies, 1)
    for name, setting in LENGTHS.items():
        if name in recipe.context and (setting == "seq_len") == (phase == "training"):
            settings.setdefault(setting, recipe.context[name])
    if phase == "training":
        settings.setdefault("seq_len", USUAL_LENGTH)
        settings.setdefault("zero_stage", 1)
        # gradients are gathered over as many micro-batches as it takes
        settings.pop("data_parallel", None)
    else:
        running = recipe.context.get("concurrency")
        if isinstance(running, int) and isinstance(copies, int):
            limit, each = settings.get("batch"), max(running // copies, 1)
            settings["batch"] = min(limit, each) if isinstance(limit, int) else each
        if not facts.sizes.get("experts"):
            settings.pop("expert_parallel", None)
    if recipe.precision:
        settings["precision"] = priced_format(recipe.precision) or "bf16"
    if settings.get("precision", "bf16") == "bf16" and "peak_bf16_flops" not in facts.device_facts:
        settings["precision"] = "fp16"  # what engines fall to on chips without the other format
    return Question.of_facts(facts, count=count, phase=phase, current=settings)


def representative(tree: HardwareTree, hardware: str) -> str:
    """The device that stands for a kind: itself, or the middle one by peak where none is stated.

    Recipes name a generation, such as A2, whose parts differ by a third.
    """
    node = tree.node(hardware)
    while node is not None:
        known = sorted(
            (float(peak), name)
            for name in tree.devices(node.id)
            if isinstance(peak := tree.facts(name).get("peak_int8_ops"), int | float)
        )
        names = [name for _, name in known]
        if names:
            return node.id if node.id in names else names[len(names) // 2]
        node = tree.node(node.broader) if node.broader else None
    return hardware
