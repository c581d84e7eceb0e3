"""Secrets in commands and environments, masked before anything is written: known by the name before them."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

MASK = "[secret]"

_SECRET = re.compile(
    r"(?:password|passwd|passphrase|secret|credentials?|apikey)s?$|(?:^|[_.-])(?:secret|pwd)(?:$|[_.-])"
    r"|(?:^|[_.-])(?:token|key|auth|bearer|authorization)$|(?-i:(?<=[a-z])(?:Token|Key)$)",
    re.IGNORECASE,
)
"""Names of secrets: HF_TOKEN, --api-key, PGPASSWORD; not max_tokens or key_cache."""

_GIVEN = re.compile(
    r"(?P<name>--?[A-Za-z][\w.-]{0,99}|[A-Za-z_][\w.-]{0,99})(?P<sign>\s*[:=]\s*|\s+)"
    r"(?P<value>(?:(?:Bearer|Basic)\s+)?(?:\"[^\"]*\"|'[^']*'|[^\s\"';&|]+))"
)
_IN_URL = re.compile(r"(?P<head>[A-Za-z][\w+.-]{0,30}://[^\s/:@]*):(?P<value>[^\s/@]+)@")
_NO_SECRET = re.compile(
    r"[\"']?(?:-?\d+(?:\.\d+)?|true|false|none|null|\$\{?\w+\}?|\{[\w.-]+\}|-.*)?[\"']?", re.IGNORECASE
)
"""Numbers, switches, references to variables and placeholders keep no secret."""


def is_secret(name: str) -> bool:
    """True if a variable or an option of this name holds a secret."""
    return _SECRET.search(name.lstrip("-")) is not None


def masked(text: str) -> str:
    """A command with its secrets masked: ``HF_TOKEN=[secret] ./bench.sh --api-key=[secret]``."""

    def cover(match: re.Match[str]) -> str:
        name, sign, value = match["name"], match["sign"], match["value"]
        is_option_word = sign.isspace() and not name.startswith("-")
        if not is_secret(name) or is_option_word or _NO_SECRET.fullmatch(value):
            return match[0]
        return f"{name}{sign}{MASK}"

    parts: list[str] = []
    at = 0
    while match := _GIVEN.search(text, at):
        made = cover(match)
        end = match.end() if made != match[0] else match.end("name")
        parts.append(text[at : match.start()] + (made if made != match[0] else match["name"]))
        at = end
    return _IN_URL.sub(lambda match: f"{match['head']}:{MASK}@", "".join(parts) + text[at:])


def masked_words(words: Sequence[str]) -> list[str]:
    """The same of a command that is a list: a secret may be the word after its option."""
    made: list[str] = []
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        follows = before.startswith("-") and "=" not in before and is_secret(before)
        made.append(MASK if follows and not _NO_SECRET.fullmatch(word) else masked(word))
    return made


def masked_environment(environment: Mapping[str, T]) -> dict[str, T | str]:
    """Variables with the values of secrets masked."""
    return {name: _covered(name, value) for name, value in environment.items()}


def _covered(name: str, value: T) -> T | str:
    if is_secret(name) and not _NO_SECRET.fullmatch(str(value)):
        return MASK
    return masked(value) if isinstance(value, str) else value


def has_mask(*texts: object) -> bool:
    """True if any text holds a masked secret."""
    return any(MASK in str(text) for text in texts)
