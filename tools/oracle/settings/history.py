"""Merges the settings of a program's releases into the content of ``data/settings/NAME.json``.

A *state* is the settings of one release by place and key. The content holds each setting once, with the
releases that have it and the defaults as they changed. What else may change (type, choices, refusals) is
that of the newest release that has it, and ``before`` holds what it was until an earlier one. ``refused``
holds what a release names only to refuse it or to warn that it does nothing, with what it names instead.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from kg.nouns.release import release_key
from tools.oracle.settings.plans import Plan
from tools.oracle.settings.source import Mined

Identity: TypeAlias = "tuple[str, str]"
State: TypeAlias = "dict[Identity, dict[str, Any]]"
_SPANS = ("since", "removed", "absent", "default", "resolved", "before")
_FORM = (
    "in", "aliases", "off", "type", "choices", "low", "high", "unit", "open", "conflicts",
    "nargs", "of", "words", "scaled", "required", "folds", "forbids",
)  # fmt: skip

_ENTRY = {"in": "carrier", "off": "negation"} | {
    name: name for name in ("aliases", *_FORM[3:], "replaced_by", "gone", "resolved")
}
"""Parts of an entry with the attribute of a mined setting that each is."""
_SILENT = (("type", "any"), ("of", "any"))


def state_of(settings: Iterable[Mined]) -> State:
    """The settings of a release as entries of the registry; those it only names to refuse them are marked."""
    return {(item.place, item.key): _entry(item) for item in settings}


def add_releases(
    content: Mapping[str, Any] | None, plan: Plan, found: Mapping[str, tuple[str, State, Mapping[str, str]]]
) -> dict[str, Any]:
    """The content of a program's file with some releases more, or again.

    Args:
        content: What the file holds; None if there is none.
        plan: The program.
        found: Tag or commit, settings and releases of the programs beneath, by release.
    """
    refs = dict(content["releases"]) if content else {}
    states = {name: state_in(content, name) for name in refs} if content else {}
    paired: dict[str, dict[str, str]] = {name: {} for name in plan.beneath}
    for name, releases in (content or {}).get("beneath", {}).items():
        paired.get(name, {}).update(releases)
    refused = [item for item in (content or {}).get("refused", ()) if item[0] not in found]
    for release, (ref, state, beneath) in found.items():
        refs[release], states[release] = ref, state
        for name, version in beneath.items():
            paired[name][release] = version
        refused += [[release, *identity, entry["replaced_by"]] for identity, entry in state.items()
                    if "gone" in entry and "replaced_by" in entry]  # fmt: skip
    order = sorted(refs, key=release_key)
    heads = {name: getattr(plan, name) for name in ("dotted", "dashed", "positional", "file", "aside")}
    return {
        "software": plan.software,
        "source": plan.source,
        "abbreviates": plan.abbreviates,
        **{name: value for name, value in heads.items() if value},
        "releases": [[name, refs[name]] for name in order],
        "beneath": paired,
        "refused": sorted(refused),
        "settings": _folded(order, _under_newest_names(order, states)),
    }


def state_in(content: Mapping[str, Any], release: str) -> State:
    """The settings of one release, from the content of a file."""
    state: State = {}
    for entry in content["settings"]:
        plain = {name: value for name, value in entry.items() if name not in _SPANS}
        identity = (entry["place"], entry["key"])
        for end, form in reversed(entry.get("before", ())):
            if release_key(release) < release_key(end):
                plain = {name: value for name, value in plain.items() if name not in _FORM} | form
        if _present(entry, release):
            for name in ("default", "resolved"):
                changes = entry.get(name, ())
                earlier = [item[1:] for item in changes if release_key(item[0]) <= release_key(release)]
                if earlier and (earlier[-1] or name == "default"):
                    plain[name] = earlier[-1]
            state[identity] = plain
    for name, place, key, successor in content.get("refused", ()):
        if name == release:
            state[place, key] = {"key": key, "place": place, "gone": True, "replaced_by": successor}
    return state


def to_text(content: Mapping[str, Any]) -> str:
    """A file of the registry: JSON with one setting a line, so that a change of one shows as one line."""
    head = {name: value for name, value in content.items() if name != "settings"}
    lines = [json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in content["settings"]]
    start = "".join(
        f"{json.dumps(name)}:{json.dumps(value, ensure_ascii=False)},\n" for name, value in head.items()
    )
    return "{" + start + '"settings":[\n' + ",\n".join(lines) + "\n]}\n"


def _present(entry: Mapping[str, Any], release: str) -> bool:
    key = release_key(release)
    if release in entry.get("absent", ()) or ("since" in entry and key < release_key(entry["since"])):
        return False
    return "removed" not in entry or key < release_key(entry["removed"])


def _entry(item: Mined) -> dict[str, Any]:
    entry: dict[str, Any] = {"key": item.key, "place": item.place}
    for name, attribute in _ENTRY.items():
        value = getattr(item, attribute)
        if value not in (None, "", ()) and value is not False and (name, value) not in _SILENT:
            entry[name] = (
                [list(part) if isinstance(part, tuple) else part for part in value]
                if isinstance(value, tuple)
                else value
            )
    if item.stated and _is_plain(item.default):
        entry["default"] = [item.default]
    elif item.place != "env" or item.type != "any":
        entry["default"] = []
    entry["at"] = f"{item.path}#L{item.line}" if item.line and ":" not in item.path else item.path
    return entry


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(_is_plain(item) for item in value)
    return (
        value is None
        or isinstance(value, bool | int)
        or (isinstance(value, str) and not value.startswith("/"))  # a path or a route: of the site, not tuned
        or (isinstance(value, float) and abs(value) < 1e300)
    )


def _under_newest_names(order: list[str], states: Mapping[str, State]) -> dict[str, State]:
    """States with the newest key of each setting, where an older release had that as another spelling."""
    newest: dict[Identity, str] = {}
    renamed: dict[str, State] = {}
    for name in reversed(order):
        state: State = {}
        for (place, key), entry in states[name].items():
            spellings = [key, *entry.get("aliases", ())]
            canonical = next((newest[place, item] for item in spellings if (place, item) in newest), key)
            if canonical == key or canonical not in spellings or (place, canonical) in states[name]:
                state[place, key] = entry
                continue
            others = [item for item in spellings if item != canonical]
            state[place, canonical] = {**entry, "key": canonical, "aliases": others}
        renamed[name] = state
        for (place, key), entry in state.items():
            for item in (key, *(item for item in entry.get("aliases", ()) if item.startswith("--"))):
                newest.setdefault((place, item), key)
    return renamed


def _folded(order: list[str], states: Mapping[str, State]) -> list[dict[str, Any]]:
    identities = sorted({identity for state in states.values() for identity in state})
    entries = [_spanned(order, identity, states) for identity in identities]
    return [entry for entry in entries if entry is not None]


def _spanned(order: list[str], identity: Identity, states: Mapping[str, State]) -> dict[str, Any] | None:
    having = [name for name in order if "gone" not in states[name].get(identity, {"gone": True})]
    if not having:
        return None
    first, last = order.index(having[0]), order.index(having[-1])
    newest = states[having[-1]][identity]
    entry = {name: value for name, value in newest.items() if name not in {"default", "resolved"}}
    if first:
        entry["since"] = order[first]
    if last + 1 < len(order):
        entry["removed"] = order[last + 1]
        after = states[order[last + 1]]
        successor = after.get(identity, {}).get("replaced_by") or entry.pop("replaced_by", "")
        if any(key == successor and "gone" not in item for (_, key), item in after.items()):
            entry["replaced_by"] = successor
    absent = [name for name in order[first:last] if name not in having]
    if absent:
        entry["absent"] = absent
    forms = [
        {part: states[name][identity][part] for part in _FORM if part in states[name][identity]}
        for name in having
    ]
    before = [
        [later, form]
        for form, after, later in zip(forms, forms[1:], having[1:], strict=False)
        if form != after
    ]
    if before:
        entry["before"] = before
    for part in ("default", "resolved"):
        changes: list[list[Any]] = []
        for name in having:
            value = states[name][identity].get(part, [] if changes and part == "resolved" else None)
            if value is not None and (not changes or changes[-1][1:] != value):
                changes.append([name, *value])
        if any(len(change) > 1 for change in changes):
            entry[part] = changes
    return entry
