"""The recommendations of an answer as the treatments of one experiment with a shared control.

A command gets a setting where it says ``{name}``. ``{options}`` stands for the command-line flags of the arm,
and variables are exported whether or not the command names them. What a command has no way to set is left
out, and told.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.nouns.values import Settings
from recommender.measuring.command import placeholders, show
from recommender.measuring.shell_text import OPTIONS, PLAIN

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from recommender.ranking.change import Change

START = "start"
"""Name of the arm that tries a start configuration."""
MOST = 3
"""Further recommendations that are verified; the gain from the first to the third is the largest there is."""

_EXPORT = "export "


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """An experiment's arms, and how the command gets them.

    Attributes:
        arms: Configuration of each treatment.
        tried: The recommendation behind each treatment.
        options: Command-line flags of each treatment.
        environment: Variables, with the placeholder of their setting.
        left_out: Recommendations that the command cannot try, and why.
    """

    arms: Mapping[str, Settings]
    tried: Mapping[str, Change]
    options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def verification(
    candidates: Sequence[Change],
    control: Settings,
    command: str,
    given: Mapping[str, object],
    allowed: Collection[str] = (),
    start: Change | None = None,
) -> Verification:
    """The first recommendations that a command can try, as arms.

    Args:
        candidates: Best first.
        control: What is set now.
        command: The command, a text for the shell.
        given: Values of its other placeholders, such as the sizes of the problem.
        allowed: Values that are run although a shell could take them for more than a value.
        start: The start configuration; None where there is none.

    Raises:
        InputError: None can be tried.
    """
    named = placeholders(command)
    arms: dict[str, Settings] = {}
    tried: dict[str, Change] = {}
    options: dict[str, str] = {}
    environment: dict[str, str] = {}
    left_out: list[str] = []
    wanted = {f"number-{place}": item for place, item in enumerate(candidates[:MOST], 1)}
    for name, item in ({START: start, **wanted} if start is not None else wanted).items():
        label = name.replace("-", " ")
        exported = {flag.removeprefix(_EXPORT).partition("=")[0] for flag in item.flags if _is_export(flag)}
        flags = [word for flag in item.flags if flag.startswith("-") for word in shlex.split(flag)]
        changes = {name: value for name, value in item.configuration.items() if control.get(name) != value}
        removed = {setting.name for setting in item.settings if setting.removed}  # no option takes them away
        carried = named | exported | (set(changes) - removed if OPTIONS in named and flags else set())
        missing = [name for name in changes if name not in carried]
        unset = [
            name
            for name in named - {OPTIONS} - set(given) - {"scratch", "kernels"}
            if name not in control and name not in item.configuration
        ]
        brought = [] if item.strategy else map(show, changes.values())  # strategies are reviewed knowledge
        doubtful = [text for text in brought if not is_plain(text, allowed)]
        if doubtful:
            left_out.append(
                f"{label} is not run: the value {doubtful[0]!r} is from a case and not plain; "
                f"to run it: --allow-value {shlex.quote(doubtful[0])}"
            )
        elif missing:
            left_out.append(f"{label} cannot be tried: the command has no {{{missing[0]}}}")
        elif unset:
            left_out.append(f"{label} cannot be tried: nothing sets {{{unset[0]}}}")
        elif not changes:
            left_out.append(f"{label} is what is set now")
        else:
            arms[name], tried[name] = Settings({**control, **item.configuration}), item
            options[name] = shlex.join(flags)
            environment |= {variable: f"{{{variable}}}" for variable in exported}
    if not arms:
        raise InputError(
            f"nothing of the answer can be verified: {'; '.join(left_out) or 'it is empty'}",
            hint="put {name} of a setting, or {options} for flags, into the command",
        )
    return Verification(
        arms=arms, tried=tried, options=options, environment=environment, left_out=tuple(left_out)
    )


def check_values(settings: Settings, allowed: Collection[str]) -> None:
    """Refuse settings of a recommendation that a shell could take for more than values.

    Raises:
        InputError: There is one that the user does not allow.
    """
    for name, value in settings.items():
        text = show(value)
        if not is_plain(text, allowed):
            raise InputError(
                f"{name}={text!r} is the value of a case and not plain",
                hint=f"to run it: --allow-value {shlex.quote(text)}",
            )


def is_plain(text: str, allowed: Collection[str] = ()) -> bool:
    """Whether a value that a case brought may be run: plain words between spaces, or the user allows it."""
    return text in allowed or all(PLAIN.fullmatch(word) for word in text.split(" "))


def _is_export(flag: str) -> bool:
    return flag.startswith(_EXPORT)
