"""Situations, recipes and settings made up for tests of starts."""

from collections.abc import Mapping, Sequence

from kg.nouns.entities import Better, Hardware, Objective, Problem, Source, Workload, WorkloadKind
from kg.nouns.recipe import Authority, Recipe, RecipeSetting, Role
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings, Value
from kg.terms.conditions import FactValue
from recommender.applicability.framework import RunningFramework
from recommender.ranking.model_traits import ModelTraits
from recommender.ranking.starts.draft import StartDraft
from recommender.ranking.starts.recipes.agreement import AgreedSetting
from recommender.ranking.starts.recipes.resemblance import WeighedRecipe
from recommender.ranking.starts.screening import Screen
from recommender.ranking.starts.situation import StartSituation

SOURCE = Source(title="Guide", url="https://example.org/guide")
MODELS = {
    "small": ModelTraits(id="small", family="pine", parameters=8e9, is_mixture=False, attention="grouped"),
    "large": ModelTraits(id="large", family="pine", parameters=32e9, is_mixture=False, attention="grouped"),
    "experts": ModelTraits(id="experts", family="oak", parameters=600e9, is_mixture=True, attention="latent"),
}
HARDWARE = {
    "chip-a": ("chip-a", "line-a", "generation-a", "maker-a"),
    "chip-b": ("chip-b", "line-b", "generation-b", "maker-a"),
    "chip-c": ("chip-c", "line-c", "generation-c", "maker-c"),
}


def problem(
    model: str = "small",
    hardware: str = "chip-a",
    count: int | None = 8,
    phase: str = "serving",
    *,
    current: Mapping[str, Value] | None = None,
    software: Mapping[str, Value] | None = None,
) -> Problem:
    return Problem(
        workload=Workload(kind=WorkloadKind(phase), operator=phase, model=model),
        hardware=Hardware(name=hardware, count=count),
        objective=Objective(metric="throughput", better=Better.HIGHER),
        current=None if current is None else Settings(current),
        software=Settings(software or {}),
    )


def situation(
    model: str = "small",
    hardware: str = "chip-a",
    count: int | None = 8,
    phase: str = "serving",
    *,
    framework: str = "vllm",
    version: str = "0.18.0",
    current: Mapping[str, Value] | None = None,
    **facts: FactValue,
) -> StartSituation:
    return StartSituation(
        problem=problem(model, hardware, count, phase, current=current),
        framework=RunningFramework(id=framework, version=version),
        model=MODELS[model],
        hardware=HARDWARE[hardware],
        devices=count,
        facts={"phase": phase, **facts},
    )


def setting(key: str, value: str = "true") -> RecipeSetting:
    where = SettingPlace.ENV if key.isupper() else SettingPlace.JSON if "." in key else SettingPlace.FLAG
    return RecipeSetting(where=where, key=key, value=value)


def recipe(
    identifier: str = "r",
    sets: Mapping[str, str] | None = None,
    *,
    model: str = "small",
    hardware: str = "chip-a",
    devices: int = 8,
    role: Role = Role.SERVE,
    framework: str = "vllm",
    layout: Mapping[str, Value] | None = None,
    precision: str = "",
    instances: int = 1,
) -> Recipe:
    return Recipe(
        id=identifier,
        role=role,
        model=model,
        reported_model=model.title(),
        family=MODELS[model].family,
        hardware=hardware,
        devices=devices,
        framework=framework,
        layout=Settings(layout or {}),
        precision=precision,
        instances=instances,
        settings=tuple(setting(*item) for item in (sets or {"--swap-space": "4"}).items()),
        source=Source(title="Guide", url=f"https://example.org/{identifier}"),
        authority=Authority.VENDOR_TUTORIAL,
    )


def weighed(*recipes: Recipe, weights: tuple[float, ...] = ()) -> list[WeighedRecipe]:
    """Recipes of equal weight, or of the weights given."""
    shares = weights or (1 / len(recipes),) * len(recipes)
    return [
        WeighedRecipe(recipe=one, distance=float(place), weight=share)
        for place, (one, share) in enumerate(zip(recipes, shares, strict=True))
    ]


def agreed(
    key: str, value: str = "true", share: float = 0.8, *, first: Recipe | None = None
) -> AgreedSetting:
    where, by = setting(key, value).where, first or recipe()
    return AgreedSetting(where=where, key=key, value=value, share=share, value_share=share, first=by)


def draft(
    *settings: AgreedSetting, about: StartSituation | None = None, behind: Sequence[WeighedRecipe] = ()
) -> StartDraft:
    now = about or situation()
    return StartDraft(situation=now, recipe_settings=[*settings], refused=[], weighed=[*behind])


def screen(about: StartSituation | None = None) -> Screen:
    return Screen(situation=about or situation(), frameworks=(), setting=lambda _: ())
