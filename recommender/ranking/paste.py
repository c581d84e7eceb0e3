"""Settings of a plan as people paste them: exports, one command with its flags and JSON, fields of a file."""

from __future__ import annotations

import json
import re
import shlex
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kg.nouns.setting import SettingPlace
from kg.nouns.values import parse_json, show
from kg.terms.meanings import OF_VLLM, file_of, pasted_after, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kg.nouns.values import Value
    from recommender.ranking.plan_setting import PlanSetting

_WIDTH = 76
"""Columns of a pasted line: with two before it and a backslash behind, it fits a screen of 80."""
_NUMBERS = re.compile(r"\d+(?:\.\d+)?(?:\s+\d+(?:\.\d+)?)+")
_FILLED = re.compile(r"[\w:./-]*+\$([A-Z][A-Z_]{2,}+|\{\w+(:-[\w.-]*)?\}|\(\w+\))[\w:./-]*")
_LISTS = frozenset({"ModelConfig"})
"""Fields of MindIE's config.json that hold a list of objects, of which a plan sets the first."""
STAGE = "STAGE"
"""Stands in a command for the stage or the script of training, which a launch states itself."""
UNNAMED = "MODEL"
"""Stands in a command for a model whose files are not named."""
OTHER_WEIGHTS = "weights in"
"""Begins the requirement of weights that the command names and that are not those of the model's own name."""
COMMANDS = {name: command for name, (command, words) in pasted_after().items() if not words}
"""Command that a start is appended to, by program; the flags of others go into their launch script."""
OF_DIFFUSION = "--num-gpus"
"""Devices of SGLang's server of models that denoise, which has a command and flags of its own."""
OVERRIDING = {name: both for name, both in pasted_after().items() if both[1]}
"""Trainers whose commands take a file or a recipe, and its fields as ``key=value``."""


def pasted(
    settings: Sequence[PlanSetting],
    framework: str,
    checkpoint: str = "",
    filled: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Settings as a shell takes them: exports, files, one command of the framework, fields of other files.

    Args:
        settings: What to set.
        framework: Whose command it is.
        checkpoint: The model that is served, as its command takes it; ``MODEL`` where that is not known.
        filled: What the other words in capitals of its command stand for, as far as that is known.
    """
    named, written = file_words(settings, framework)
    words = [*flag_words(settings), *object_words(settings), *named]
    program = command_of(settings, framework, filled)
    file = ""
    if framework in OVERRIDING:
        program, file = (_filled(one, filled) for one in OVERRIDING[framework])
    if checkpoint:
        program, file = (one.replace(UNNAMED, shell_word(checkpoint)) for one in (program, file))
    if framework in OVERRIDING:
        fields = [item for item in settings if _is_field(item) and f"{item.key}=" not in file]
        if named := [f"{item.key}={shell_word(show(item.value))}" for item in fields]:
            words = [*file.split(), *named, *words]
    lines = wrapped_command([*re.split(" (?=--)", program), *words] if program else words)
    others = field_lines(item for item in settings if not (named and item.where is SettingPlace.YAML))
    exports = [line.removeprefix("export ") for line in export_lines(settings)]
    exported = wrapped_command(["export", *exports] if exports else [])
    return [*exported, *written, *lines, *others]


def command_of(settings: Iterable[PlanSetting], framework: str, filled: Mapping[str, str]) -> str:
    """The command that settings are appended to; empty where it is not known or the user's launch has it."""
    if any(item.key == OF_DIFFUSION for item in settings):
        return f"sglang serve --model-path {UNNAMED}"
    program = _filled(COMMANDS.get(framework, ""), filled)
    return "" if STAGE in program else program


def _filled(text: str, filled: Mapping[str, str]) -> str:
    def put(match: re.Match[str]) -> str:
        found, ending = filled.get(match[1], match[1]), match[2] or ""
        return found if found.endswith((".yaml", ".yml", ".json")) else found + ending

    return re.sub(r"\b([A-Z]+)\b(\.yaml)?", put, text)


def file_words(settings: Iterable[PlanSetting], framework: str) -> tuple[list[str], list[str]]:
    """The options that tell a command files of settings, and the lines by which a shell writes these."""
    options = table("launches")["programs"].get(framework, {}).get("file", ())
    fields = [item for item in settings if item.where is SettingPlace.YAML]
    if framework not in COMMANDS or not options:
        return [], []
    usual = file_of(framework) or "settings.yaml"
    files: dict[str, list[PlanSetting]] = {}
    for item in fields:
        files.setdefault(item.file or usual, []).append(item)
    written = [line for file, held in files.items() for line in _here_document(file, held)]
    return [f"--{options[0]} {file}" for file in files], written


def _here_document(file: str, fields: Sequence[PlanSetting]) -> list[str]:
    """The lines by which a shell writes settings into a YAML file."""
    import yaml

    content: dict[str, Any] = {}
    for item in fields:
        _put(content, item.key, _typed(item.value))
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return [f"cat > {shell_word(file)} <<'EOF'", *text.splitlines(), "EOF"]


ENGINES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "vllm": OF_VLLM,
        "sglang": frozenset({"sglang"}),
        "mindie": frozenset({"mindie"}),
        "megatron": frozenset({"megatron-lm", "mindspeed", "mindspeed-llm", "mindspeed-mm"}),
    }
)
"""Frameworks whose launch a form of an answer is."""


def launch_text(settings: Sequence[PlanSetting], framework: str, checkpoint: str = "") -> str:
    """Settings as the framework is launched with them: a JSON file where it reads one, else shell lines."""
    fields = [item for item in settings if _is_field(item) and item.file.endswith(".json")]
    if not fields:
        return "".join(f"{line}\n" for line in pasted(settings, framework, checkpoint))
    content: dict[str, Any] = {}
    for item in fields:
        _put(content, item.key, item.value)
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def change_words(settings: Sequence[PlanSetting]) -> list[str]:
    """Settings of a change, each as it is written."""
    removed = [f"without {item.key}" for item in settings if item.removed]
    flags, fields = flag_words(settings), field_lines(settings)
    files = [f"{item.file}: " for item in settings if item.file]
    of_one = next(iter(files), "") if len(set(files)) == 1 else ""  # a file is named once
    fields[1:] = [line.removeprefix(of_one) for line in fields[1:]]
    return [*export_lines(settings), *flags, *object_words(settings), *fields, *removed]


def export_lines(settings: Iterable[PlanSetting]) -> list[str]:
    """Variables as exports."""
    return [
        f"export {item.key}={shell_word(show(item.value))}"
        for item in settings
        if item.where is SettingPlace.ENV
    ]


def flag_words(settings: Iterable[PlanSetting]) -> list[str]:
    """Flags with their values."""
    return [
        item.negation
        if item.negation and show(item.value).lower() == "false"
        else " ".join((item.key, *map(shell_word, value_words(item))))
        for item in settings
        if item.where is SettingPlace.FLAG and _object(item.value) is None and not item.removed
    ]


def value_words(setting: PlanSetting) -> tuple[str, ...]:
    """The words behind a flag: none of a switch, one of most, several where it takes a list of numbers."""
    if setting.value is True or setting.value is None:
        return ()
    if isinstance(setting.value, tuple):
        return tuple(map(show, setting.value))
    text = show(setting.value)
    return tuple(text.split()) if _NUMBERS.fullmatch(text) else (text,)


def object_words(settings: Iterable[PlanSetting]) -> list[str]:
    """One flag for each JSON object, with all of its fields."""
    return [f"{flag} {shell_word(json.dumps(content))}" for flag, content in flag_objects(settings).items()]


def flag_objects(settings: Iterable[PlanSetting]) -> dict[str, dict[str, Any]]:
    """JSON objects by the flag that carries them, each with the fields that are set."""
    objects: dict[str, dict[str, Any]] = {}
    for item in settings:
        if item.where is SettingPlace.FLAG and (content := _object(item.value)) is not None:
            objects[item.key] = {**content, **objects.get(item.key, {})}
        if item.where is not SettingPlace.JSON or _is_field(item):
            continue
        path = item.key.partition(".")[2]
        _put(objects.setdefault(carrying_flag(item), {}), path, item.value)
    return objects


def carrying_flag(item: PlanSetting) -> str:
    """The flag whose object a field is in; of any other setting its own key with dashes."""
    return "--" + item.key.partition(".")[0].lstrip("-").replace("_", "-")


def _put(content: dict[str, Any], path: str, value: object) -> None:
    *outer, last = path.split(".")
    for name in outer:
        inner = content.setdefault(name, [{}] if name in _LISTS else {})
        inner = inner[0] if isinstance(inner, list) else inner
        if not isinstance(inner, dict):  # a value and its fields: the fields win
            inner = content[name] = {}
        content = inner
    content[last] = _parsed(value)


def field_lines(settings: Iterable[PlanSetting]) -> list[str]:
    """Fields of code and of files, each with the file where that is known; those of an object together."""
    fields = [item for item in settings if _is_field(item)]
    if all(item.file.endswith(".json") for item in fields):
        fields.sort(key=lambda item: (item.file, item.key))
    return [
        (f"{item.file}: " if item.file else "")
        + (item.key if item.value is None else f"{item.key}={show(item.value)}")
        for item in fields
    ]


def wrapped_command(words: Iterable[str]) -> Iterator[str]:
    """Words as the lines of one command, continued with a backslash."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 1 <= _WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(word if not lines else f"  {word}")
    yield from [line + " \\" for line in lines[:-1]] + lines[-1:]


def _object(value: object) -> dict[str, Any] | None:
    """The JSON object that is the value of a flag; None where it is none."""
    content = _parsed(value) if isinstance(value, str) and value[:1] == "{" else None
    return content if isinstance(content, dict) else None


def _parsed(value: object) -> object:
    return parse_json(value) if isinstance(value, str) and value[:1] in "[{" else value


def _typed(value: object) -> object:
    """A value as a file has it: the number, switch or list that its text is, else the text."""
    if not isinstance(value, str):
        return value
    return parse_json(value.lower() if value.lower() in {"true", "false"} else value)


def _is_field(item: PlanSetting) -> bool:
    """True if it is a field of code or of a file, not of an object that a flag carries."""
    if item.where is SettingPlace.JSON:
        return bool(item.file) or ("." not in item.key and not item.key.startswith("-"))
    return item.where in {SettingPlace.YAML, SettingPlace.CODE}


def plain_flags(configuration: Mapping[str, Value]) -> tuple[str, ...]:
    """Settings that have no better spelling, as ``name=value``."""
    return tuple(f"{shell_word(name)}={shell_word(show(value))}" for name, value in configuration.items())


def shell_word(text: str) -> str:
    """A text as people paste it into a shell: quoted where the shell would take it for more than text.

    What a script of theirs fills in, ``$PORT`` or ``${HOST:-0.0.0.0}``, stays that.
    """
    return f'"{text}"' if _FILLED.fullmatch(text) else shlex.quote(text)
