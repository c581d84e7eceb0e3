"""Recipes: one node each; their settings are one literal that keeps the order, with the keys beside it."""

import json
from dataclasses import MISSING, dataclass
from typing import Any

from pyoxigraph import Literal

from kg.nouns.recipe import Authority, Recipe, RecipeSetting, Role
from kg.nouns.setting import SettingPlace
from kg.nouns.values import canonical_json
from kg.triples import iris
from kg.triples.tables.common import derived_from
from kg.triples.tables.fields import EnumField, Field, LinkField, LiteralField, Node, Packed, SubjectDraft
from kg.triples.tables.table import NounTable
from kg.triples.vocabulary import RDF_JSON, TG


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeSettings(Field):
    """Settings in their order as one JSON array, and each key by itself so that it can be asked for."""

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """The array, and a literal for each key."""
        rows = [[item.where.value, item.key, item.value] for item in value]
        draft.add(self.predicate, Literal(canonical_json(rows), datatype=RDF_JSON))
        for key in dict.fromkeys(item.key for item in value):
            draft.add(TG.SETTING_KEY, Literal(key))

    def read(self, node: Node) -> object:
        """Read the settings."""
        found = node.literals(self.predicate)
        if not found:
            return MISSING
        rows = json.loads(found[0].value)
        return tuple(
            RecipeSetting(where=SettingPlace(where), key=key, value=value) for where, key, value in rows
        )


RECIPE = NounTable(
    Recipe,
    TG.RECIPE,
    EnumField(name="role", predicate=TG.ROLE, choices=Role),
    LinkField(name="model", predicate=TG.OF_MODEL, iri=iris.model_iri),
    LiteralField(name="reported_model", predicate=TG.REPORTED_MODEL),
    LiteralField(name="family", predicate=TG.RECIPE_FAMILY),
    LinkField(name="hardware", predicate=TG.HARDWARE, iri=iris.hardware_iri),
    LiteralField(name="reported_hardware", predicate=TG.REPORTED_HARDWARE),
    LiteralField(name="devices", predicate=TG.DEVICE_COUNT),
    LiteralField(name="nodes", predicate=TG.SERVER_COUNT),
    LiteralField(name="instances", predicate=TG.INSTANCE_COUNT),
    LiteralField(name="framework", predicate=TG.SOFTWARE),
    LiteralField(name="version", predicate=TG.VERSION),
    Packed(name="context", predicate=TG.RECIPE_CONTEXT),
    LiteralField(name="precision", predicate=TG.PRECISION),
    Packed(name="layout", predicate=TG.LAYOUT),
    RecipeSettings(name="settings", predicate=TG.RECIPE_SETTINGS),
    LiteralField(name="title", predicate=TG.CASE_TITLE),
    derived_from(),
    EnumField(name="authority", predicate=TG.AUTHORITY, choices=Authority),
    iri=lambda recipe: iris.recipe_iri(recipe.id),
    from_id=iris.recipe_iri,
    identity="id",
)
