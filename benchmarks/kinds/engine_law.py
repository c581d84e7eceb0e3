"""A start parses under its release, by the parser and validation of the engine itself (law 4)."""

import re
import shlex
from collections.abc import Iterator, Sequence

from benchmarks.kinds.launches import SIZES
from benchmarks.kinds.replies import Reply
from benchmarks.kinds.situations import TRAINERS
from kg.errors import UnknownEntityError
from kg.terms.setting_registry import softwares
from recommender.ranking.paste import COMMANDS, OVERRIDING
from tools.oracle.facts import facts
from tools.oracle.judge import judge

_FILLED = {"SERVER_RANK": "0"}
"""Values that a user fills in, as a parser accepts them."""
_UNNAMED = tuple(f"{flag} is unset" for flag in SIZES.values())
"""Complaints where the model's own sizes are not among the flags: those stay the user's."""


_HERE_DOCUMENT = re.compile(r"^cat > \S+ <<'EOF'\n.*?^EOF$", re.MULTILINE | re.DOTALL)
"""A file that a start writes before its command."""
_NEEDED = re.compile(r"needs (--[\w-]+), which the script has to set")
"""Note of an answer about a flag that a trainer's own script must hold beside the start."""
_FIELD = re.compile(r"^(\S+: )?[a-z][\w.\[\]-]*=.*$", re.MULTILINE)
"""A field of a file that a command is not told."""


def is_taken_by_the_engine(reply: Reply) -> str | None:
    """The start parses under its release, but for what the launch sets itself (law 4)."""
    program, release = str(reply.start.get("framework")), str(reply.start.get("version"))
    if not reply.is_answered or not release or program not in softwares():
        return None
    try:
        if not facts(program, release).flags:
            return None  # no command line: its settings stand in a file
    except UnknownEntityError:
        return f"{program} {release} is no release that was read"
    argv, environment = pasted(reply.start.get("paste") or ())
    argv = [*_fields_as_flags(program, argv)]
    sizes = reply.situation.listed.facts if reply.situation.listed and program in TRAINERS else {}
    argv += [word for name, flag in SIZES.items() if name in sizes for word in (flag, str(sizes[name]))]
    own = [item.key for item in reply.situation.settings]  # what the user's launch sets is the user's
    own += [key.replace("_", "-") for key in own if key.startswith("-")]
    # as are flags of the user's own script in the command that starts it
    own += [word.replace("_", "-") for word in COMMANDS.get(program, "").split() if word.startswith("--")]
    own += _NEEDED.findall("\n".join(map(str, reply.content.get("notes") or ())))
    faults = judge(program, release, [_FILLED.get(word, word) for word in argv], environment)
    faults = tuple(fault for fault in faults if not (program in TRAINERS and fault.endswith(_UNNAMED)))
    if program in OVERRIDING:  # its file states what is required
        faults = tuple(fault for fault in faults if "arguments are required" not in fault)
    return "; ".join(fault for fault in faults if not any(key in fault for key in own))


def _fields_as_flags(program: str, words: Sequence[str]) -> Iterator[str]:
    """The words of a command that lays fields over those of its file, as flags; others as they are."""
    command, file = OVERRIDING.get(program, ("", ""))
    named = {*command.split(), *file.split()}
    for word in words:
        name, sign, value = word.partition("=")
        if command and sign and not word.startswith("-"):
            yield from (f"--{name}", value)
        elif word not in named:
            yield word


def pasted(lines: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The words of the command that is pasted, and the variables that it exports."""
    text = _HERE_DOCUMENT.sub("", "\n".join(line for line in lines if not line.lstrip().startswith("#")))
    text = _FIELD.sub("", text).replace("\\\n", " ")
    words: list[str] = []
    environment: dict[str, str] = {}
    for line in text.splitlines():
        try:
            parts = shlex.split(line)
        except ValueError:  # a field of a file, said in words
            continue
        if parts[:1] == ["export"]:
            environment.update(part.partition("=")[::2] for part in parts[1:])
        else:
            words += parts
    return words, environment
