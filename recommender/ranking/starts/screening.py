"""Settings of recipes that a situation can take: read by its release, allowed by the knowledge."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kg.errors import UnknownEntityError
from kg.nouns.framework import Framework
from kg.nouns.knowledge import Assignment, Strategy
from kg.nouns.look_up import LookUp, Standing
from kg.nouns.recipe import RecipeSetting
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from kg.terms.conditions import Truth
from kg.terms.dialects import positive, statement
from kg.terms.meanings import meaning_of, usual_place
from kg.terms.model_name import quantised_format
from kg.terms.parts import part_of
from kg.terms.precisions import canonical_precision
from kg.terms.purposes import QUANTISATION, Purpose, plain_key, purpose
from kg.terms.resolved_defaults import is_default
from kg.terms.setting_registry import ReleaseSettings, registry
from kg.terms.successors import newest_word, successors
from recommender.applicability.gate import judge
from recommender.ranking.change import NotHere
from recommender.ranking.starts.drafting import DRAFT_MODEL, DRAFT_MODELS, DRAFTS, METHODS, drafted_whole
from recommender.ranking.starts.recipes.agreement import AgreedSetting
from recommender.ranking.starts.recipes.resemblance import WeighedRecipe
from recommender.ranking.starts.situation import StartSituation

SIXTEEN_BIT = frozenset({"bfloat16", "float16", "bf16", "fp16"})
_QUANTISES = ("quantization", "kv_cache_dtype")
_OTHERS = {"bf16": "float16", "fp16": "bfloat16"}
"""The format that a setting of each of the two rules out, by the name of questions."""
_STORED = {"w8a8": "int8"}
"""Names of number formats as recipes write them."""
FORMATS_OF = {
    "ascend": frozenset({"int8", "w4a8", "w4a16", "w8a16", "w4a4"}),
    "modelslim": frozenset({"int8", "w4a8", "w4a16", "w8a16", "w4a4"}),
    "fp8": frozenset({"fp8"}),
    "awq": frozenset({"w4a16", "int4"}), "gptq": frozenset({"w4a16", "int4", "int8"}),
    "mxfp4": frozenset({"mxfp4", "fp4"}), "modelopt_fp4": frozenset({"nvfp4", "fp4"}),
    "modelopt": frozenset({"fp8"}),
}  # fmt: skip
"""Formats of weights by what a server calls their quantisation: vllm-ascend and SGLang on Ascend take all
that msModelSlim writes under one name (docs of vllm-ascend, user_guide/feature_guide/quantization)."""
WITHOUT_PREFIXES = frozenset({"no_enable_prefix_caching", "disable_radix_cache"})
"""Recipes switch the prefix cache off because they are timed on random prompts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Facts against which settings of recipes are screened.

    Attributes:
        situation: The question.
        frameworks: Those that the graph knows.
        setting: Strategies that set a parameter.
    """

    situation: StartSituation
    frameworks: Sequence[Framework]
    setting: Callable[[str], tuple[Strategy, ...]]

    def sift(self, agreed: Iterable[AgreedSetting]) -> tuple[list[AgreedSetting], list[NotHere]]:
        """The settings that may be set here, in the spelling of the release; the others with the reason.

        Of several values the first that may be set is taken; where the most agreed one may not, it counts
        for what
        its own recipes weigh.
        """
        release = self.release()
        kept: list[AgreedSetting] = []
        refused: dict[tuple[SettingPlace, str], NotHere] = {}
        seen: set[tuple[SettingPlace, str]] = set()
        for item in agreed:
            before = (item.where, plain_key(item.key))
            if before in seen:
                continue
            here, why = self._in_release(item, release)
            why = why or self._by_what_runs(here) or self._by_checkpoint(here) or self._by_question(here)
            why = why or self._by_part(here) or self._by_knowledge(here)
            place = (here.where, plain_key(here.key))
            if why is not None:
                refused.setdefault(before, why)
            elif place not in seen:
                kept.append(replace(here, share=here.value_share) if before in refused else here)
                seen |= {before, place}
        kept, alone = drafted_whole(kept, self.situation)
        return kept, [why for place, why in refused.items() if place not in seen] + alone

    def _by_what_runs(self, item: AgreedSetting) -> NotHere | None:
        """Other number formats are no setting of what runs: they are changes.

        A script states all that it sets; settings that are told alone leave the others open.
        """
        program = self.situation.framework.id
        now: Mapping[str, Value] = self.situation.current or {}
        if not self.situation.problem.situation.has_script:
            return None
        if plain_key(item.key) == QUANTISATION and QUANTISATION not in {plain_key(name) for name in now}:
            return NotHere(strategy=item.key, because="what runs now has other weights", fact="current")
        said = statement({item.key: item.value}, program).facts.keys()
        if "precision_cache" in said - statement(now, program).facts.keys():
            return NotHere(strategy=item.key, because="what runs now has another cache", fact="current")
        return None

    def _by_checkpoint(self, item: AgreedSetting) -> NotHere | None:
        """Weights of four bits are a checkpoint of their own, which another model may not have."""
        is_of_four_bits = plain_key(item.key) == QUANTISATION and quantised_format(item.value) == "w4a16"
        if not is_of_four_bits or item.first.model == self.situation.model.id:
            return None
        return NotHere(strategy=item.key, because=f"a checkpoint of {item.first.model}", fact="model")

    def place_of(self, name: str) -> tuple[SettingPlace, str]:
        """The place and the key of a setting, by the name that people or strategies give it."""
        written = self.situation.script_key(name)  # as the script has it
        usual = usual_place(self.situation.framework.id)
        if usual == SettingPlace.CODE and not re.match("[A-Z]{2}", name):
            return SettingPlace.CODE, written or name
        release = self.release()
        if release is not None and release.registry.overrides and "." in (written or name).lstrip("-"):
            return SettingPlace.YAML, (written or name).lstrip("-")
        if written and not written.startswith("-"):
            flag = f"--{written}"
            is_flag = release is not None and release.look_up(flag, SettingPlace.FLAG, suggest=False).usable
            if is_flag and "." in written:
                return SettingPlace.FLAG, flag
            in_file = release.look_up(written, SettingPlace.YAML, suggest=False).setting if release else None
            is_in_file = in_file is not None and in_file.place is SettingPlace.YAML
            return SettingPlace.YAML if is_in_file else SettingPlace.JSON, written
        found = release.look_up(written or name, suggest=False) if release is not None else None
        if found is not None and found.setting is not None:
            is_alias = found.setting.place is SettingPlace.ENV and name in found.setting.aliases
            is_beneath = found.standing is Standing.PASSED_ON  # of a section that takes any key
            return found.setting.place, name if is_alias or is_beneath else found.setting.key
        if written:
            return SettingPlace.FLAG, written
        if release is not None and (stem := name.removeprefix("speculative_")) != name:
            found = release.look_up(f"speculative_config.{stem}", SettingPlace.JSON, suggest=False)
            if found.setting is not None:  # as a launch's object is read
                return SettingPlace.JSON, f"speculative_config.{stem}"
        for strategy in self.setting(name.lstrip("-").replace("-", "_")):
            for one in strategy.sets:
                if one.carrier and one.parameter.rpartition(".")[2] == name:
                    return one.place, f"{one.carrier.lstrip('-').replace('-', '_')}.{one.parameter}"
        if re.match("[A-Z]{2}", name):
            return SettingPlace.ENV, name
        program = self.situation.framework.id
        is_field = release is None or "." in name or meaning_of(name, program) is not None
        is_key = is_field and usual == SettingPlace.YAML
        flag = f"--{name.lstrip('-').replace('_', '-')}"
        return (SettingPlace.YAML, name) if is_key else (SettingPlace.FLAG, flag)

    def usable(self, weighed: Sequence[WeighedRecipe]) -> list[WeighedRecipe]:
        """The recipes with the weight that their settings keep here: one for another release counts for less.

        The weight goes with the square of the share of its tuning settings that the release in use takes.
        """
        release = self.release()
        if release is None or not weighed:
            return list(weighed)
        taken: dict[tuple[SettingPlace, str], bool] = {}

        def is_taken(setting: RecipeSetting) -> bool:
            place = (setting.where, setting.key)
            if place not in taken:
                found = release.look_up(setting.key, setting.where, suggest=False)
                taken[place] = found.usable or successors(release, found, _typed(setting.value)) is not None
            return taken[place]

        masses = []
        for one in weighed:
            tuned = [item for item in one.recipe.settings if purpose(item.key) is Purpose.TUNING]
            share = sum(map(is_taken, tuned)) / len(tuned) if tuned else 1.0
            masses.append(one.weight * share**2)
        total = sum(masses)
        if not total:
            return []
        return [replace(one, weight=mass / total) for one, mass in zip(weighed, masses, strict=True)]

    def release(self) -> ReleaseSettings | None:
        """The settings of the release in use; None where none ship."""
        framework = self.situation.framework
        try:
            return registry(framework.id).at(framework.version)
        except UnknownEntityError:
            return None

    def _in_release(
        self, item: AgreedSetting, release: ReleaseSettings | None
    ) -> tuple[AgreedSetting, NotHere | None]:
        if release is None:
            return item, None
        found = release.look_up(item.key, item.where, suggest=False)
        after = successors(release, found, _typed(item.value)) or {}
        if len(after) == 1:
            item, found = _moved(item, *next(iter(after.items())), release)
        if not found.usable:
            return item, NotHere(
                strategy=item.key, because=str(found), fact="release", source=item.first.source.url
            )
        if is_default(found, _typed(item.value), self.situation.facts):
            name = f"{self.situation.framework.id} {self.situation.framework.version}".strip()
            because = f"{item.value} is the default of {name}"
            return item, NotHere(strategy=item.key, because=because, fact="default")
        if found.setting is not None and found.standing is Standing.TAKEN and not found.negated:
            if not found.setting.accepts(item.value):
                because = f"{self.situation.framework.version} does not take {item.value}"
                return item, NotHere(strategy=item.key, because=because, fact="release")
            item = replace(item, key=found.setting.key, value=str(newest_word(found, item.value)))
        return item, None

    def _by_question(self, item: AgreedSetting) -> NotHere | None:
        """Refuse what the question rules out: formats of other widths, drafts where there are none."""
        plain, facts = plain_key(item.key), self.situation.facts
        precision = str(facts.get("precision", ""))
        if (plain in _QUANTISES and precision in SIXTEEN_BIT) or (
            plain == QUANTISATION and precision and not _is_in(item, precision)
        ):
            return NotHere(strategy=item.key, because=f"{precision} is asked for", fact="precision")
        stated = statement({item.key: item.value}, self.situation.framework.id).facts
        layers, stages = self.situation.number("layers"), self.situation.number("pp")
        # a start fills stages up with empty layers
        held = math.ceil(layers / stages) if layers and stages else 0
        if held and (piece := positive(stated.get("stage_layers"))) and held % piece:
            because = f"{held} layers of a stage do not divide by {piece}"
            return NotHere(strategy=item.key, because=because, fact="layers")
        said = stated.get("precision")
        if said in _OTHERS and canonical_precision(precision) == _OTHERS[said]:
            return NotHere(strategy=item.key, because=f"{precision} is asked for", fact="precision")
        if plain.startswith(DRAFTS):
            if "speculative" in self.situation.problem.workload.traits and facts.get("speculative") is False:
                return NotHere(strategy=item.key, because="no drafts are asked for", fact="speculative")
            is_own = item.first.model == self.situation.model.id and facts.get("draft_layers") != 0
            if item.value.lower().endswith("mtp") and not (is_own or facts.get("draft_layers")):
                because = "the model is not known to have layers that draft"
                return NotHere(strategy=item.key, because=because, fact="draft_layers")
            if plain in DRAFT_MODELS and item.first.model != self.situation.model.id:
                return NotHere(
                    strategy=item.key,
                    because=f"{item.value} drafts for {item.first.reported_model}",
                    fact="model",
                )
        shared = self.situation.number("shared_prefix_share")
        if plain in WITHOUT_PREFIXES and shared != 0:
            because = (
                "prompts share prefixes" if shared else "only for prompts that share no prefix: not stated"
            )
            return NotHere(strategy=item.key, because=because, fact="shared_prefix_share")
        return None

    def _by_part(self, item: AgreedSetting) -> NotHere | None:
        """Refuse settings of a part that the model lacks or, in a recipe of another model, may lack."""
        part = part_of(item.key, item.value, self.situation.framework.id)
        if part is None:
            return None
        lacking = part.lacking(self.situation.facts)
        is_own = item.first.model == self.situation.model.id
        if not lacking and part.is_built and not is_own and not part.is_in(self.situation.facts):
            lacking = f"no {part.name} that is known of"
        return NotHere(strategy=item.key, because=lacking, fact=part.name) if lacking else None

    def _by_knowledge(self, item: AgreedSetting) -> NotHere | None:
        """Refuse settings that the knowledge rules out: all strategies that set them fail here."""
        failed: NotHere | None = None
        if plain_key(item.key).startswith(DRAFTS) and plain_key(item.key) not in METHODS:
            return None  # how far it goes: the method is judged
        facts = dict(self.situation.facts)
        if item.first.model == self.situation.model.id:  # what drafts in a recipe of the model is there
            facts.pop("public_drafts", None)
        for strategy in self.setting(_parameter(item)):
            if not _sets(strategy, item):
                continue
            verdict = judge(strategy, facts, self.frameworks)
            if verdict.truth is not Truth.FAILS:
                return None
            if verdict.because.startswith("hardware:") and item.first.hardware in self.situation.hardware:
                return None  # it was published for this very hardware
            failed = NotHere(
                strategy=strategy.label, because=verdict.because, fact=item.key, source=verdict.source
            )
        return failed


def _is_in(item: AgreedSetting, precision: str) -> bool:
    """True if a quantisation that recipes set is one of weights in a number format."""
    formats = FORMATS_OF.get(item.value.lower())
    if formats is None:
        formats = frozenset({_STORED.get(name, name) for name in (item.first.precision.lower(), item.value)})
    return _STORED.get(precision, precision) in formats


def _moved(
    item: AgreedSetting, key: str, value: Value, release: ReleaseSettings
) -> tuple[AgreedSetting, LookUp]:
    """The setting as what took its place."""
    found = release.look_up(key)
    where = item.where if found.setting is None else found.setting.place
    return replace(
        item, where=where, key=key, value=str(value) if value != _typed(item.value) else item.value
    ), found


def _parameter(item: AgreedSetting) -> str:
    """The name under which strategies know a setting."""
    if item.where is SettingPlace.ENV:
        return item.key
    return plain_key(item.key).rpartition(".")[2] if item.where is SettingPlace.JSON else plain_key(item.key)


def _sets(strategy: Strategy, item: AgreedSetting) -> bool:
    """True if a strategy sets what a recipe has, and that recipe all else that it sets for the program."""
    had = {plain_key(one.key).rpartition(".")[2]: one.value for one in item.first.settings}
    had[_parameter(item).rpartition(".")[2]] = item.value
    mine = {one.software for one in strategy.sets if _is_of(one, _parameter(item))}
    values = ((one, had.get(plain_key(one.parameter).rpartition(".")[2])) for one in strategy.sets)
    return bool(mine) and all(_is_value(one, value) for one, value in values if one.software in mine)


def _is_of(one: Assignment, parameter: str) -> bool:
    return parameter in {one.parameter, one.parameter.rpartition(".")[2]}


def _is_value(one: Assignment, value: str | None) -> bool:
    """True if a value is the one that is assigned, or words are assigned that a user fills in."""
    text, said = ("true" if one.value is None else str(one.value).lower()), (value or "").lower()
    return text in {said, DRAFT_MODEL.lower()} or {text, said} <= {"1", "true"}


def _typed(text: str) -> Value:
    low = text.lower()
    return True if low == "true" else False if low == "false" else text
