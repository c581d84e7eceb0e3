"""The panel of kinds: situations drawn by a seed, by program, chip, phase, load and form of launch."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

from benchmarks.kinds.launches import LAUNCHED, launch_text, problem_text
from benchmarks.kinds.situations import TRAINERS, LaunchForm, LaunchSetting, PanelSituation
from benchmarks.kinds.sources import (
    EngineParsers,
    ListedChip,
    ListedModel,
    OfficialRecipe,
    ParsedSetting,
    Program,
    by_program,
    chips,
    models,
    official_recipes,
    programs,
)
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import registry, softwares

_RECIPE_SHARE = 0.5
_PARSED, _UNLISTED = 3.0, 0.5
"""Weights of programs whose parser was read, and of those that the graph does not list; 1 of others."""
_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 3, 6, 12, 24)
_COUNT_WEIGHTS = (8, 8, 10, 14, 8, 4, 3, 1, 1, 1, 1, 1)
_USUAL_GPUS = ("h100-sxm", "h200", "a100-sxm4-80gb", "instinct-mi300x")
_USUAL_NPUS = ("ascend-910b3", "ascend-910c", "atlas-800i-a3")
_LENGTHS = (128, 200, 512, 1000, 1024, 2048, 3500, 4096, 8192, 16384, 32768)
_CONCURRENCIES = (1, 2, 4, 8, 10, 16, 32, 64, 100, 128, 256)
_SERVING = ("bf16", "bfloat16", "fp16", "fp8", "int8", "w8a8", "w4a16", "w4a8", "fp4")
_TRAINING = ("bf16", "bfloat16", "fp16", "fp8")
_FORMAT = re.compile(r"w\d+a\d+|fp\d|int\d|bf16|awq|gptq|mxfp|nvfp|4bit|8bit|gguf|a3$|vllm", re.IGNORECASE)
"""Parts of a name that tell a number format or a case rather than the model."""
_LANGUAGE = frozenset({"decoder", "moe-decoder"})

DEGREES = {
    "tp": r"--tensor-parallel-size|--tp-size|--tp|--tensor-model-parallel-size",
    "pp": r"--pipeline-parallel-size|--pp-size|--pp|--pipeline-model-parallel-size",
    "cp": r"--context-parallel-size",
}
LENGTH = r"--max-model-len|--context-length|--seq-length"
REQUESTS = r"--max-num-seqs|--max-running-requests"
_TOLD = "|".join(
    (
        *DEGREES.values(),
        LENGTH,
        REQUESTS,
        r"--data-parallel.*|--dp-size|--[de]p|--.*parallel-size.*|-dcp|-pcp|--ep-size|--nnodes|--node-rank|--nproc.*",
        r"--(micro|global|rampup)-batch-size.*|--.*batch-size|--num-(layers|experts|attention-heads).*",
        r"--hidden-size|--ffn-hidden-size|--num-query-groups|--group-query-attention|--max-position-embed.*",
        r"--model.*|--tokenizer.*|--config.*|--dtype|--quantization|--kv-cache-dtype|--.*precision.*|--fp16|--bf16",
        r"--fp8.*|--load.*|--.*(path|dir|file|port|host|addr|url|name|key|token|log)s?(-.*)?|--help|--version|-h",
        r"--headless|--api-.*|--seed|--device.*|--served.*|--ssl.*|--lora.*|--speculative.*|--.*draft.*",
    )
)
"""Flags that name places, sizes of the model or what is told in other ways: never among the drawn ones."""


class KindPanel:
    """Draws situations: half from official recipes, half from lists and parsers alone.

    Args:
        seed: Draws the panel.
        asked: Folders with more official recipes than ship.
    """

    def __init__(self, seed: int, asked: Iterable[Path] = ()) -> None:
        self._seed = seed
        recipes = official_recipes(asked)
        self._recipes = by_program(recipes)
        self._programs = [item for item in programs(recipes) if item.name != "cann"]
        self._parsers = EngineParsers()
        self._weights = [
            _UNLISTED if not item.is_known else _PARSED if item.name in self._parsers.programs else 1.0
            for item in self._programs
        ]
        self._chips = {item.id: item for item in chips()}
        self._aliases = {name.lower(): item for item in models() for name in item.spellings}

    def draw(self, n: int) -> Iterator[PanelSituation]:
        """The first n situations of the panel."""
        for number in range(n):
            yield self.situation(number)

    def situation(self, number: int) -> PanelSituation:
        """One situation of the panel, the same whenever it is drawn."""
        random = Random(f"{self._seed} {number}")
        program = random.choices(self._programs, self._weights)[0]
        recipes = self._recipes.get(program.name, ())
        if recipes and (random.random() < _RECIPE_SHARE or not program.is_known):
            return self._official(random, number, program, random.choice(recipes))
        return self._drawn(random, number, program)

    def _official(
        self, random: Random, number: int, program: Program, recipe: OfficialRecipe
    ) -> PanelSituation:
        listed = self._aliases.get(recipe.model.lower())
        chip = self._chips.get(recipe.hardware)
        if not recipe.hardware:  # what the page leaves open is told by whoever asks
            chip = self._chips[random.choice(_USUAL_GPUS if recipe.is_gpu else _USUAL_NPUS)]
        settings = tuple(
            LaunchSetting(place=place, key=key, value="" if self._is_on(program.name, key, value) else value)
            for place, key, value in recipe.settings
            if place in {"flag", "env", "json"} and value not in {"false", "False"} and "$" not in value
        )
        is_told = [name for name in recipe.load if random.random() < 0.7]
        return self._launched(
            random,
            PanelSituation(
                number=number,
                origin="recipe",
                program=program.name,
                is_known=program.is_known,
                release=self._release(random, program.name),
                model=recipe.model,
                hardware=random.choice(chip.spellings) if chip else recipe.hardware,
                count=recipe.devices,
                phase=recipe.phase,
                precision=recipe.precision if random.random() < 0.5 else "",
                load={name: recipe.load[name] for name in is_told},
                listed=listed,
                chip=chip,
            ),
            random.sample(settings, k=min(len(settings), random.choice((0, 1, 2, 4, 8, 30)))),
        )

    def _is_on(self, program: str, key: str, value: str) -> bool:
        """True if a recipe switches something on, which a launch says without a value."""
        if value != "1" or not key.startswith("-") or program not in softwares():
            return value in {"true", "True"}
        found = registry(program).at().look_up(key, suggest=False).setting
        return found is not None and found.type == "bool"

    def _drawn(self, random: Random, number: int, program: Program) -> PanelSituation:
        chip = self._chip(random, program)
        listed = self._model(random)
        plain = [name for name in listed.spellings if not _FORMAT.search(name)]
        serves = not program.trains or (
            program.name in {"torch", "torch-npu", "mindspore"} and random.random() < 0.5
        )
        phase = (
            random.choice(("serving", "serving", "serving", "prefill", "decode")) if serves else "training"
        )
        precision = random.choice(_SERVING if serves else _TRAINING) if random.random() < 0.4 else ""
        release = self._release(random, program.name)
        situation = PanelSituation(
            number=number,
            origin="drawn",
            program=program.name if release or random.random() < 0.8 else "",
            is_known=program.is_known,
            release=release,
            model=random.choice(plain or [listed.id]),
            hardware=random.choice(chip.spellings),
            count=random.choices(_COUNTS, _COUNT_WEIGHTS)[0],
            phase=phase,
            precision=precision,
            load=self._load(random, serves=serves, positions=int(listed.size("max_positions"))),
            listed=listed,
            chip=chip,
        )
        return self._launched(random, situation, self._settings(random, program.name, release))

    def _chip(self, random: Random, program: Program) -> ListedChip:
        pool = [
            item
            for item in self._chips.values()
            if item.is_for_models and (not program.vendors or item.kinds & set(program.vendors))
        ]
        vendor = random.choice(sorted({item.vendor for item in pool}))
        return random.choice([item for item in pool if item.vendor == vendor])

    @staticmethod
    def _model(random: Random) -> ListedModel:
        language = random.random() < 0.85
        return random.choice([item for item in models() if (item.architecture in _LANGUAGE) == language])

    def _release(self, random: Random, program: str) -> str:
        releases = self._parsers.releases(program)
        return random.choice(releases[-5:]) if releases and random.random() < 0.6 else ""

    @staticmethod
    def _load(random: Random, *, serves: bool, positions: int) -> dict[str, int]:
        most = positions or 4096
        lengths = [size for size in _LENGTHS if size <= most] or [most]
        if not serves:
            return {"seq_len": random.choice(lengths)} if random.random() < 0.7 else {}
        load: dict[str, int] = {}
        if random.random() < 0.6:
            load["input_len"] = random.choice([size for size in lengths if size <= most // 2] or [1])
            load["output_len"] = random.choice([size for size in lengths if size <= most // 2] or [1])
        if random.random() < 0.5:
            load["concurrency"] = random.choice(_CONCURRENCIES)
        return load

    def _settings(self, random: Random, program: str, release: str) -> list[LaunchSetting]:
        """Settings that the parser of the release takes, with values of its own choices, types and ranges."""
        named = release or next(reversed(self._parsers.releases(program)), "")
        if not named:
            return []
        pool = [
            item
            for item in self._parsers.settings(program, named)
            if item.place in {"flag", "env", "json"}
            and not any(re.fullmatch(_TOLD, name) for name in item.spellings)
        ]
        wanted = random.sample(pool, k=min(len(pool), random.choice((0, 1, 1, 2, 4))))
        return [setting for item in wanted if (setting := _valued(random, item)) is not None]

    def _launched(
        self, random: Random, situation: PanelSituation, settings: list[LaunchSetting]
    ) -> PanelSituation:
        """The same with a launch, in a form of its own."""
        program, release = situation.program, situation.release
        forms = [LaunchForm.NONE, LaunchForm.NONE, LaunchForm.CURRENT, LaunchForm.FILE]
        if program in LAUNCHED:
            forms += [LaunchForm.SCRIPT, LaunchForm.SCRIPT, LaunchForm.DOCKER, LaunchForm.SHELL]
            forms += [LaunchForm.MODULE] * (situation.phase != "training")
        form = random.choice(forms)
        if form is LaunchForm.NONE:
            return situation
        named = release or next(reversed(self._parsers.releases(program)), "")
        told, layout, bounds = self._told(random, situation, named) if named else ([], {}, {})
        taken = {plain_key(item.key) for item in told}
        if program in TRAINERS:  # whose fields stand in a file
            settings = [item for item in settings if item.place != "json" and "." not in item.key]
        settings = [s for s in settings if not re.fullmatch(_TOLD, s.key.replace("_", "-"))]
        settings = [*told, *(s for s in settings if plain_key(s.key) not in taken)]
        situation = replace(situation, form=form, layout=layout, bounds=bounds, settings=tuple(settings))
        if form is LaunchForm.CURRENT:
            return replace(situation, settings=tuple(s for s in settings if s.place != "json"))
        if form is LaunchForm.FILE:
            return replace(situation, text=_problem(situation))
        sizes = situation.listed.facts if situation.listed else {}
        return replace(
            situation,
            text=launch_text(
                program,
                release,
                situation.model,
                settings,
                form,
                count=situation.count,
                sizes=sizes,
                random=random,
            ),
        )

    def _told(
        self, random: Random, situation: PanelSituation, release: str
    ) -> tuple[list[LaunchSetting], dict[str, int], dict[str, int]]:
        """Degrees, lengths and requests as the launch itself sets them, in the spellings of its parser."""
        found: list[LaunchSetting] = []
        layout: dict[str, int] = {}
        left = situation.count
        for name, pattern in DEGREES.items():
            setting = self._parsers.find(situation.program, release, pattern)
            if setting is None or random.random() < {"tp": 0.3, "pp": 0.8, "cp": 0.9}[name]:
                continue
            size = random.choice([n for n in (1, 2, 4, 8) if left % n == 0])
            layout[name], left = size, left // size
            found.append(_spelled(random, setting, size))
        bounds: dict[str, int] = {}
        length = sum(size for name, size in situation.load.items() if name.endswith("_len"))
        setting = self._parsers.find(situation.program, release, LENGTH)
        if length and setting is not None and random.random() < 0.4:
            bounds["length"] = length
            found.append(_spelled(random, setting, length))
        setting = self._parsers.find(situation.program, release, REQUESTS)
        if setting is not None and random.random() < 0.3:
            bounds["requests"] = max(situation.load.get("concurrency", 0), random.choice((16, 32, 64, 128)))
            found.append(_spelled(random, setting, bounds["requests"]))
        return found, layout, bounds


def _spelled(random: Random, setting: ParsedSetting, value: object) -> LaunchSetting:
    key = random.choice([name for name in setting.spellings if name.startswith("-")])
    return LaunchSetting(place="flag", key=key, value=str(value))


def _valued(random: Random, setting: ParsedSetting) -> LaunchSetting | None:
    """A setting with a value that its parser takes; None where it cannot be told which."""
    key = random.choice(setting.spellings)
    if setting.choices:
        return LaunchSetting(place=setting.place, key=key, value=str(random.choice(setting.choices)))
    default = setting.default
    if setting.kind == "bool":
        on = "" if setting.place == "flag" else "1" if setting.place == "env" else "true"
        return LaunchSetting(place=setting.place, key=key, value=on)
    if setting.kind in {"int", "float"} and isinstance(default, int | float) and default > 0:
        value = default if random.random() < 0.5 else default * 2
        if setting.high is not None:
            value = min(value, type(default)(setting.high))
        return LaunchSetting(place=setting.place, key=key, value=f"{value}")
    return None


def _problem(situation: PanelSituation) -> str:
    told: dict[str, object] = {
        "model": situation.model,
        "phase": situation.phase,
        "hardware": situation.hardware,
        "count": situation.count,
    }
    current = {
        item.key.lstrip("-"): item.value or True
        for item in situation.settings
        if item.place in {"flag", "env"}
    }
    software = {situation.program: situation.release} if situation.program else {}
    return problem_text(
        told | ({"current": current} if current else {}) | ({"software": software} if software else {})
    )
