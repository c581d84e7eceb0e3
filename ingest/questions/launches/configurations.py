"""Files of settings that are given without the command that reads them, and that command."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

from ingest.questions.launches.launch_files import Beside, table_in
from ingest.questions.launches.manifests import chart_commands, is_manifest
from ingest.questions.launches.program import (
    MATCHING_OPTIONS,
    POSITIONAL,
    ProgramSigns,
    launcher_rows,
    program_signs,
)
from ingest.questions.launches.script import ShellCommand, as_flags
from ingest.questions.launches.variables import DEVICE_LABELS
from kg.nouns.setting import SettingPlace
from kg.nouns.values import load_toml
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import registry, softwares

_LOOKS = re.compile(r"(?:\s*(?:#.*|---)\n)*\s*(?:\{|[\w-]+[ ]*:(?:\s|$))")
"""Beginning of a table of settings: a brace, or a key, behind comments."""
_LOOKS_TOML = re.compile(r"(?:\s*(?:#.*)?\n)*\s*\[[\w.-]+\]\s*(?:#.*)?(?:\n|$)")
"""Beginning of a text in TOML that has tables."""
_RAY = re.compile(r"^[ \t-]{0,40}llm_configs[ ]?:", re.MULTILINE)
_DEEPEST = 12
"""Levels of a document in which engines are looked for: a RayService has them at six; a choice."""
_SCRIPT = "train.py"
"""Name of the user's own script where a program has no command of its own."""


def own_name(text: str, place: str = "") -> str:
    """The name by which a command that is made for a text of settings names it: its own, where it has one."""
    if place.endswith((".json", ".yaml", ".yml", ".toml")):
        return place
    end = "json" if text.lstrip().startswith("{") else "toml" if _LOOKS_TOML.match(text) else "yaml"
    return f"settings.{end}"


def with_itself(text: str, beside: Beside, place: str = "") -> Beside:
    """The files beside a text, with the text among them."""
    return lambda name: text if name == own_name(text, place) else beside(name)


def configuration_command(text: str, place: str) -> list[ShellCommand]:
    """The command that reads a text as the settings of its program; none for another text."""
    content = _content(text)
    if not content:
        return []
    itself = own_name(text, place)
    for name, row in launcher_rows().items():
        if set(row.get("sections", ())) & content.keys():
            words = (name, *row.get("words", ()), f"--{row['file'][0]}", itself, _SCRIPT)
            return [ShellCommand(words=words)]
    signs = next((one for one in program_signs().values() if _is_of(one, content)), None)
    if signs is None:
        return []
    own = signs.scripts[0] if signs.reader == "mindformers" else _SCRIPT
    own_words = signs.commands[0].split() if signs.commands else ["python", own]
    command = ["python", "-m", signs.starts] if signs.starts else own_words
    option = () if POSITIONAL in signs.file else (f"--{signs.file[0]}",)
    return [ShellCommand(words=(*command, *option, itself))]


def is_launch(text: str, place: str) -> bool:
    """True if a file is a launch; the file of a question is a table, too, of other keys."""
    if place.endswith((".json", ".yaml", ".yml", ".toml")) or _LOOKS.match(text):
        if is_manifest(text) or chart_commands(text) or ray_commands(text):
            return True
        return bool(configuration_command(text, place))
    return bool(text.strip())


def _content(text: str) -> Mapping[str, object]:
    """A text as a table of settings, by their names with ``_``; none where it is something else."""
    held = table_in(text) if _LOOKS.match(text) else {}
    if _LOOKS_TOML.match(text):
        with suppress(ValueError):
            held.update(load_toml(text))
    return {str(key).replace("-", "_"): item for key, item in held.items()}


def _is_of(signs: ProgramSigns, content: Mapping[str, object]) -> bool:
    """True if a table holds settings of a program that reads files: by their names, or by its registry."""
    names = content.keys()
    if not signs.file or not names:
        return False
    if names & {*signs.sections, *signs.alone} or len(names & {*signs.options}) >= MATCHING_OPTIONS:
        return True
    if signs.reader != "server" or signs.id not in softwares() or len(names) < MATCHING_OPTIONS:
        return False
    release = registry(signs.id).at("")
    answers = (
        release.look_up(f"--{name.replace('_', '-')}", SettingPlace.FLAG, suggest=False) for name in names
    )
    known = {plain_key(answer.setting.key) for answer in answers if answer.setting is not None}
    return known == names  # in full: a file abbreviates nothing


def ray_commands(text: str) -> list[ShellCommand]:
    """The command of each engine of a configuration, or of a RayService; none for another text.

    Source:
        https://docs.ray.io/en/latest/serve/llm/index.html: ``LLMConfig``, whose engine is vLLM.
    """
    if _RAY.search(text) is None:
        return []
    return [made for one in _configs(table_in(text), 0) if (made := engine_command(one)) is not None]


def engine_command(config: Mapping[str, object]) -> ShellCommand | None:
    """The command of the engine of one ``LLMConfig``; None where it names no model."""
    loading, engine, runtime = (
        held if isinstance(held := config.get(name), dict) else {}
        for name in ("model_loading_config", "engine_kwargs", "runtime_env")
    )
    model = loading.get("model_source") or loading.get("model_id")
    if not isinstance(model, str):
        return None
    variables = runtime.get("env_vars")
    environment = {str(k): str(v) for k, v in variables.items()} if isinstance(variables, dict) else {}
    if isinstance(device := config.get("accelerator_type"), str):
        environment[DEVICE_LABELS[0]] = device
    return ShellCommand(words=("vllm", "serve", model, *as_flags(engine)), environment=environment)


def _configs(content: object, depth: int) -> Iterator[Mapping[str, object]]:
    """The configurations in a document, wherever they stand; also in one that stands in it as a text."""
    if depth > _DEEPEST:
        return
    if isinstance(content, dict):
        for name, held in content.items():
            if name == "llm_configs" and isinstance(held, list):
                yield from (one for one in held if isinstance(one, dict))
            elif name == "serveConfigV2" and isinstance(held, str):
                yield from _configs(table_in(held), depth + 1)
            else:
                yield from _configs(held, depth + 1)
    elif isinstance(content, list):
        for one in content:
            yield from _configs(one, depth + 1)
