"""Upgrade of a launch to another release: gone, refused, other defaults, and what becomes possible."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.nouns.codec import OR_NULL, JsonNoun, in_json
from kg.nouns.look_up import Standing
from kg.terms.meanings import meaning_of
from kg.terms.purposes import Purpose, plain_key, purpose
from kg.terms.setting_conflicts import broken_conflicts
from kg.terms.setting_registry import registry
from kg.terms.successors import successor_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingest.questions.launches.running import RunningSetting
    from kg.nouns.setting import Setting
    from kg.terms.setting_registry import ReleaseSettings
    from recommender.audit.case import AuditCase


class UpgradeKind(StrEnum):
    """Kinds of change by an upgrade, what breaks first."""

    REMOVED = "removed"
    REFUSED = "refused value"
    CONFLICT = "conflict"
    DEFAULT = "new default"
    SUPERFLUOUS = "the default now"
    POSSIBLE = "new setting"

    @property
    def breaks(self) -> bool:
        """True if the launch must change because of it."""
        return self in {UpgradeKind.REMOVED, UpgradeKind.REFUSED, UpgradeKind.CONFLICT}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeChange(JsonNoun):
    """Change of one setting by an upgrade.

    Attributes:
        kind: What becomes of it.
        key: The setting.
        line: Its line in the script; None where it does not stand there.
        before: Its value, or its default, before; empty where there is none.
        after: Its default after, its successor, or what is refused.
        since: Release that brought the change; empty where that is not known.
        source: Address of its definition.
        strategy: Strategy of the graph that sets it; empty if there is none.
    """

    kind: UpgradeKind
    key: str = field(metadata=in_json("setting"))
    line: int | None = None
    before: str = field(default="", metadata=OR_NULL)
    after: str = field(default="", metadata=OR_NULL)
    since: str = field(default="", metadata=OR_NULL)
    source: str = field(default="", metadata=OR_NULL)
    strategy: str = field(default="", metadata=OR_NULL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """A launch under another release.

    Attributes:
        program: What runs.
        before: Its release.
        after: The release that is asked about.
        changes: What changes, what breaks first.
        notes: Releases that were not read.
    """

    program: str
    before: str
    after: str
    changes: tuple[UpgradeChange, ...]
    notes: tuple[str, ...] = ()

    @property
    def breaks(self) -> bool:
        """True if the launch must change."""
        return any(item.kind.breaks for item in self.changes)

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {
            "program": self.program,
            "before": self.before,
            "after": self.after,
            "breaks": self.breaks,
            "changes": [item.to_json() for item in self.changes],
            "notes": list(self.notes),
        }


def upgrade(case: AuditCase, program: str, version: str, helpful: Mapping[str, str] | None = None) -> Upgrade:
    """Compare a launch with the settings of another release of its program.

    Args:
        case: The launch.
        program: Of the release that is asked about.
        version: That release.
        helpful: Strategies by a setting that they set: its program, a space, its plain name.

    Raises:
        InputError: The launch is of another program, or its release is not told.
    """
    if case.release is None or program != case.program:
        raise InputError(
            f"--to {program}={version}: the script runs {case.program or 'no program that is known'}",
            hint=f"--to {case.program}={version}" if case.release is not None else "",
        )
    if not case.is_told:
        raise InputError(
            f"which release of {program} runs now is not told", hint=f"--software {program}=VERSION tells it"
        )
    old, new = case.release, registry(program).at(version)
    changes = [*_stated(case, new), *_conflicts(case, old, new), *_unstated(case, old, new, helpful or {})]
    order = list(UpgradeKind).index
    return Upgrade(
        program=program,
        before=old.release,
        after=new.release,
        changes=tuple(sorted(changes, key=lambda item: (order(item.kind), item.line or 0))),
        notes=tuple(filter(None, (old.note, new.note))),
    )


def _stated(case: AuditCase, new: ReleaseSettings) -> Iterator[UpgradeChange]:
    """Changes of the settings that the launch states."""
    for setting in case.settings:
        before, after = case.look_up(setting), case.look_up(setting, release=new)
        item = after.setting
        if before.standing is not Standing.TAKEN or item is None:
            continue
        if after.standing is Standing.REMOVED:
            after_it = ", ".join(successor_keys(item))
            yield _change(UpgradeKind.REMOVED, setting, item, after=after_it, since=item.removed or "")
        elif setting.is_known and not item.accepts(setting.value) and before.setting is not None:
            if before.setting.accepts(setting.value):
                choices = ", ".join(map(str, item.choices)) or item.type
                yield _change(UpgradeKind.REFUSED, setting, item, after=choices)
        elif setting.is_known and after.is_default(setting.value) and not before.is_default(setting.value):
            yield _change(UpgradeKind.SUPERFLUOUS, setting, item, since=_since(item, new))


def _conflicts(case: AuditCase, old: ReleaseSettings, new: ReleaseSettings) -> Iterator[UpgradeChange]:
    """Settings that only the new release refuses together."""
    values = {plain_key(item.key): "" for item in case.settings if not item.is_known}
    values |= {name: value for forms in case.forms.values() for name, value in forms.items()}
    known = set(broken_conflicts(old, values))
    for conflict in broken_conflicts(new, values):
        if conflict not in known:
            yield UpgradeChange(kind=UpgradeKind.CONFLICT, key=conflict)


def _unstated(
    case: AuditCase, old: ReleaseSettings, new: ReleaseSettings, helpful: Mapping[str, str]
) -> Iterator[UpgradeChange]:
    """Defaults that change under the launch, and settings for tuning that come in."""
    stated = {name for forms in case.forms.values() for name in forms}
    for layer, earlier in zip(new.layers(), old.layers(), strict=False):
        for item in layer:
            if plain_key(item.key) in stated or purpose(item.key) is not Purpose.TUNING:
                continue
            if not item.in_release(earlier.release):
                name = plain_key(item.key).rpartition(".")[2]
                programs = (layer.registry.software, case.program)
                found = (helpful.get(f"{program} {name}", "") for program in programs)
                yield UpgradeChange(
                    kind=UpgradeKind.POSSIBLE,
                    key=item.key,
                    after=_default(item, layer.release),
                    since=item.since or "",
                    source=item.source,
                    strategy=next(filter(None, found), ""),
                )
                continue
            was, now = _default(item, earlier.release), _default(item, layer.release)
            if was and now and was != now and (item.type == "bool" or meaning_of(item.key) is not None):
                yield UpgradeChange(
                    kind=UpgradeKind.DEFAULT,
                    key=item.key,
                    before=was,
                    after=now,
                    since=_since(item, layer),
                    source=item.source,
                )


def _default(item: Setting, release: str) -> str:
    default = item.as_in(release).default_in(release)
    if default is None or default.computed or default.value is None:
        return ""
    return str(default.value).lower() if isinstance(default.value, bool) else str(default.value)


def _since(item: Setting, release: ReleaseSettings) -> str:
    default = item.default_in(release.release)
    return "" if default is None else default.release


def _change(
    kind: UpgradeKind, setting: RunningSetting, item: Setting, *, after: str = "", since: str = ""
) -> UpgradeChange:
    return UpgradeChange(
        kind=kind,
        key=setting.key,
        line=setting.line,
        before=setting.value,
        after=after,
        since=since,
        source=item.source,
    )
