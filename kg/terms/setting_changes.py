"""Differences between two releases in the settings of a program, from the registry alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kg.nouns.codec import JsonNoun
from kg.nouns.setting import Setting, SettingPlace
from kg.terms.setting_registry import ReleaseSettings, registry
from kg.terms.successors import successor_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """Change of one setting between two releases.

    Attributes:
        what: ``added``, ``removed``, ``renamed``, ``default`` or ``takes``.
        key: The setting, as the first release writes it; of one that is added, as the second does.
        place: Where it is written.
        since: The release that was read in which it changed.
        before: The default, the old key, or what it took and takes no more; empty where there was none.
        after: The default, the new key, or what it takes only now.
        source: Address of the line that says it.
    """

    what: str
    key: str
    place: str
    since: str
    before: str = ""
    after: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChanges(JsonNoun):
    """The settings that differ between two releases of a program.

    Attributes:
        software: The program.
        releases: From which release to which, as they were named.
        read: The releases that were read for them.
        beneath: Programs that it runs on with their releases, where those differ too.
        changes: Every difference, by kind and key.
    """

    software: str
    releases: tuple[str, str]
    read: tuple[str, str]
    beneath: tuple[tuple[str, str, str], ...]
    changes: tuple[SettingChange, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes beside the differences."""
        settings = registry(self.software)
        unread = (settings.at(release).note for release in self.releases)
        return (
            *(note for note in unread if note),
            *(
                f"it runs on {name}, which goes from {old} to {new}: tunegraph kb diff "
                f"--software {name}={old} --software {name}={new}"
                for name, old, new in self.beneath
            ),
        )


def setting_changes(software: str, first: str, second: str) -> SettingChanges:
    """Compare a program's settings in two releases, the second newer or older.

    Args:
        software: The program.
        first: The release that is left.
        second: The one that takes its place.

    Raises:
        UnknownEntityError: The program is unknown, or a name is none of a release.
    """
    settings = registry(software)
    before, after = (settings.at(name) for name in (first, second))
    forward = settings.releases.index(before.release) <= settings.releases.index(after.release)
    changes = _changes(before, after) if forward else map(_backward, _changes(after, before))
    beneath = tuple(
        (old.registry.software, old.release, new.release)
        for old, new in zip(before.beneath, after.beneath, strict=True)
        if old.release != new.release
    )
    found = sorted(changes, key=lambda item: (_ORDER.index(item.what), item.place, item.key))
    return SettingChanges(
        software=settings.software,
        releases=(before.named_release, after.named_release),
        read=(before.release, after.release),
        beneath=beneath,
        changes=tuple(found),
    )


_ORDER = ("removed", "renamed", "added", "default", "takes")
_BACK = {"removed": "added", "added": "removed"}


def _backward(change: SettingChange) -> SettingChange:
    """The same change for who goes back to the older release."""
    return replace(
        change,
        what=_BACK.get(change.what, change.what),
        key=change.after if change.what == "renamed" else change.key,
        before=change.after,
        after=change.before,
    )


def _changes(before: ReleaseSettings, after: ReleaseSettings) -> list[SettingChange]:
    old, new = ({(item.place, item.key): item for item in release} for release in (before, after))
    found: list[SettingChange] = []
    renamed: set[tuple[SettingPlace, str]] = set()
    for identity in old.keys() - new.keys():
        item = old[identity]
        successor = _successor(item, old, new)
        if successor is not None and (successor.place, successor.key) not in old:
            renamed.add((successor.place, successor.key))
        found.append(
            SettingChange(
                what="renamed" if successor else "removed",
                key=item.key,
                place=item.place,
                since=item.removed or "",
                before=item.key if successor else item.default_text(before.release),
                after=successor.key if successor else "",
                source=item.source,
            )
        )
    for identity in new.keys() - old.keys() - renamed:
        item = new[identity]
        found.append(
            SettingChange(
                what="added",
                key=item.key,
                place=item.place,
                since=item.since or after.release,
                after=item.default_text(after.release),
                source=item.source,
            )
        )
    for identity in old.keys() & new.keys():
        found += _differences(old[identity], new[identity], before.release, after)
    return found


def _successor(
    item: Setting,
    old: Mapping[tuple[SettingPlace, str], Setting],
    new: Mapping[tuple[SettingPlace, str], Setting],
) -> Setting | None:
    """The setting that took the place of one that is gone; None where nothing is known of that."""
    named = [setting for key in successor_keys(item) for (_, other), setting in new.items() if key == other]
    if named:
        return named[0]
    spellings = {item.key, *item.aliases}
    heirs = (new[identity] for identity in new.keys() - old.keys() if identity[0] is item.place)
    return next((heir for heir in heirs if spellings & set(heir.aliases)), None)


def _differences(old: Setting, new: Setting, before: str, after: ReleaseSettings) -> list[SettingChange]:
    was, now = old.takes, new.takes
    if old.choices and new.choices:
        gone, come = ([str(item) for item in one if item not in other]
                      for one, other in ((old.choices, new.choices), (new.choices, old.choices)))  # fmt: skip
        was, now = ", ".join(gone), ", ".join(come)
    sides = [("takes", was, now, _changed_in(after, new, before))]
    if not (_is_open(old, before) or _is_open(new, after.release)):
        since = _since(new, before, after.release)
        sides.append(("default", old.default_text(before), new.default_text(after.release), since))
    return [
        SettingChange(
            what=what, key=old.key, place=old.place, since=since, before=was, after=now, source=new.source
        )
        for what, was, now, since in sides
        if was != now
    ]


def _is_open(setting: Setting, release: str) -> bool:
    """True if a program replaces a missing default, and the condition for that is unknown."""
    default = setting.default_in(release)
    is_unset = default is not None and not default.computed and default.value is None
    return is_unset and any(not (case.is_told or case.is_usual) for case in setting.resolved_in(release))


def _since(setting: Setting, before: str, release: str) -> str:
    """The release after one from which a setting has the default that it has in another."""
    order = registry(setting.software).releases
    now = setting.default_text(release)
    between = order[order.index(before) + 1 : order.index(release) + 1] or (release,)
    others = [name for name in between if setting.default_text(name) != now]
    return between[between.index(others[-1]) + 1] if others else between[0]


def _changed_in(after: ReleaseSettings, setting: Setting, before: str) -> str:
    """The first release after one from which a setting takes what it takes now."""
    whole = next(
        (item for item in after.registry.settings if (item.place, item.key) == (setting.place, setting.key)),
        setting,
    )
    order = after.registry.releases
    ends = [
        end for end, _ in whole.before if order.index(before) < order.index(end) <= order.index(after.release)
    ]
    return ends[-1] if ends else after.release
