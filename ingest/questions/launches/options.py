"""Options of a command: names to values, and values that are unknown."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ingest.door.values import parse_value
from ingest.questions.launches.script import UNKNOWN, readable
from kg.nouns.values import Value, as_integer
from kg.terms.meanings import has_own_fields, meaning_of

_ARGUMENTS = re.compile(r"\0\$\{?\w*(ARGS?|OPTS?|OPTIONS|PARAMS|ARGUMENTS)(\[[@*]\])?\}?\0", re.IGNORECASE)
"""A variable that is not set in the script, and by its name holds options."""

_OPTION = re.compile(r"--?[A-Za-z]")
_NEGATIVE = re.compile(r"-?\d")
_OVERRIDE = re.compile(r"\+{0,2}[A-Za-z_][\w.-]*=")
"""A setting of Hydra, OmegaConf or MaxText: a path and its value in one word."""
TRUTHS = frozenset({"true", "false"})
"""Words of a truth, which no switch takes."""
_TRUTH = TRUTHS | frozenset({"0", "1", "yes", "no", "on", "off"})
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")


@dataclass(slots=True)
class LaunchOptions:
    """Options of a command, by their names without dashes in front and with ``_`` for ``-``.

    Attributes:
        values: What each is set to; a flag is true. Several numbers are one text, several words a list.
        unknown: Options whose value could not be filled in, and the text in its place.
        others: Words that belong to no option.
        unseen: Variables that hold options and are not set in the script.
        places: How each is written where its name does not show it: ``-fa``, ``--max_model_len``, or of a
            field of a JSON object its path, as ``additional_config.a.b``.
    """

    values: dict[str, Value] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)

    def positive(self, *names: str) -> int | None:
        """The first of ``names`` that is a positive whole number."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        return None

    def unreadable(self, unimportant: Collection[str]) -> list[str]:
        """Notes on options that could not be read; options that do not matter are left out."""
        notes = [
            f"could not be read: {name if '.' in name else '--' + name.replace('_', '-')} is {what}"
            for name, what in self.unknown.items()
            if name not in unimportant
        ]
        return notes + [f"could not be read: {name} is not set in the script" for name in self.unseen]

    def text(self, *names: str) -> str | None:
        """The first of ``names`` that is set, as text."""
        for name in names:
            if name in self.values and not isinstance(self.values[name], bool):
                return str(self.values[name])
        return None


def parse_options(
    words: Sequence[str],
    full_name: Callable[[str], str] | None = None,
    is_switch: Callable[[str], bool] = lambda _: False,
    *,
    overrides: bool = False,
) -> LaunchOptions:
    """The options among the words of a command.

    Args:
        words: Without the command itself.
        full_name: Gives the name of an option as it is written, such as ``tensor_parallel_size`` of ``-tp``.
        is_switch: Whether an option takes no value, so that a word behind it is one of its own.
        overrides: Words such as ``trainer.nnodes=2`` are settings too.
    """
    found = LaunchOptions()
    name = ""
    parts: dict[str, list[str]] = {}
    for word in words:
        if _OPTION.match(word) and not _NEGATIVE.match(word):
            written, equals, value = word.partition("=")
            plain = written.lstrip("-").replace("-", "_")
            name = plain if full_name is None else full_name(written)
            parts[name] = [value] if equals else []
            if (
                written not in {f"--{name.replace('_', '-')}", f"--no-{name.replace('_', '-')}"}
                and (overrides or name.lower() == plain.lower())  # a trainer may be the user's own program
            ):
                found.places[name] = written
        elif _ARGUMENTS.fullmatch(word):
            found.unseen.append(readable(word))
        elif overrides and (match := _OVERRIDE.match(word)):
            name = ""
            parts[match[0].strip("+=")] = [word[match.end() :]]
        elif name and not (is_switch(name) and word.lower() not in _TRUTH):
            parts[name].append(word)
        else:
            name = ""
            found.others.append(word)
    for option, words_of in parts.items():
        texts = words_of
        if len(texts) > 1 and _NEGATIVE.match(texts[0]) and not _NEGATIVE.match(texts[1]):
            found.others += texts[1:]  # a number, and then what the command is about
            texts = texts[:1]
        _put(found, option, texts)
    return found


def add_file(found: LaunchOptions, content: Mapping[str, object]) -> None:
    """Add the keys of a configuration file as options; what the command itself says wins."""
    for key, value in content.items():
        name = str(key).replace("-", "_")
        if name in found.values or name in found.unknown:
            continue
        if isinstance(value, dict):
            _put_object(found, name, value, wins=False)
        elif isinstance(value, list):
            found.values[name] = " ".join(map(str, value)) if _are_numbers(value) else tuple(map(str, value))
        elif isinstance(value, str | int | float | bool):
            found.values[name] = value


def _are_numbers(items: Sequence[object]) -> bool:
    return all(_NEGATIVE.match(str(item)) for item in items)


def _put(found: LaunchOptions, option: str, texts: list[str]) -> None:
    text = " ".join(texts)
    if UNKNOWN in text:
        found.unknown[option] = readable(text)
    elif not texts:
        negated = option.startswith("no_")
        found.values[option.removeprefix("no_")] = not negated
        if negated:
            found.places[option.removeprefix("no_")] = f"--{option.replace('_', '-')}"
    elif text.lstrip().startswith("{"):
        try:
            content = json.loads(text, parse_int=as_integer)
        except (ValueError, RecursionError):
            found.unknown[option] = "no JSON"
            return
        _put_object(found, option, content)
    elif len(texts) > 1 and not _are_numbers(texts):
        found.values[option] = tuple(texts)
    else:
        found.values[option] = _value(text)


def _put_object(
    found: LaunchOptions, option: str, content: Mapping[str, object], *, wins: bool = True
) -> None:
    """A JSON object as a value: its fields by the names that documents speak of, each with its path.

    An object whose fields are settings of their own, such as ``compilation_config``, gives them by their last
    names; of any other the whole path is the name, since a ``tp_size`` of a peer says nothing of this engine.
    An object that does not win leaves what is already said as it is.
    """
    prefix = "speculative_" if option == "speculative_config" else ""
    for name, value, path in _leaves(content, option):
        plain = name.replace("-", "_")
        key = plain if not prefix or "speculative" in plain else prefix + plain
        if not has_own_fields(option) or key in found.values or _says_another(key, path):
            key = path
        if not wins and (key in found.values or key in found.unknown):
            continue
        found.values[key] = value
        if "." in path:
            found.places[key] = path


def _says_another(name: str, path: str) -> bool:
    """True if a field means something else than its last name: ``dtype`` of a cache is not the model's."""
    whole, last = meaning_of(path), meaning_of(name)
    return whole is not None and last is not None and whole.fact != last.fact


def _leaves(content: Mapping[str, object], carrier: str, depth: int = 0) -> Iterator[tuple[str, Value, str]]:
    """Innermost names with their values and where they stand.

    An object that dotted paths cannot hold (keys with dots, nothing, texts that look like JSON) is one value.
    """
    if depth > _DEEPEST or not content or not all(map(_is_plain, content, content.values())):
        yield carrier.rpartition(".")[2], json.dumps(content), carrier
        return
    for name, item in content.items():
        path = f"{carrier}.{name}"
        is_list = name in _LISTS and isinstance(item, list) and item and isinstance(item[0], dict)
        value = item[0] if is_list else item  # type: ignore[index]  # a list with something in it
        if isinstance(value, dict):
            for inner, leaf, place in _leaves(value, path, depth + 1):
                yield (str(name) if inner in {"enabled", "enable"} else inner), leaf, place
        elif isinstance(value, str | int | float):
            yield str(name), value, path
        else:
            yield str(name), json.dumps(value), path


_DEEPEST = 4
_LISTS = frozenset({"ModelConfig"})
"""Fields of MindIE's config.json that hold a list of objects, of which one is served."""


def _is_plain(name: str, value: object) -> bool:
    if value is None or (isinstance(value, str) and value[:1] in {"[", "{"}):
        return False
    return _PLAIN_KEY.fullmatch(str(name)) is not None


def _value(text: str) -> Value:
    try:
        value = parse_value(text)
    except ValueError:
        return text
    return value if isinstance(value, str | int | float | bool) else text
