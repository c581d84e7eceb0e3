"""The objects that a kustomization builds, as ``kubectl kustomize`` has them, but for names.

Read are resources, components, patches (merged by name, or of operations with a target), labels and images.
Prefixes of names, generators and replacements are not: no launch depends on them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from posixpath import dirname, join, normpath
from typing import Any

import yaml

Read = Callable[[str], str | None]
"""The text of a file of the checkout by its path; None where it is not there."""

_FILES = ("kustomization.yaml", "kustomization.yml")
_MERGED = {
    "containers": "name", "initContainers": "name", "env": "name", "volumes": "name",
    "volumeMounts": "mountPath", "ports": "containerPort", "resourceClaims": "name",
}  # fmt: skip
"""Lists that a patch merges, by the field that tells their items apart (Kubernetes' patchMergeKey)."""


def build(path: str, read: Read) -> list[dict[str, Any]]:
    """The objects that a kustomization builds, in their order.

    Args:
        path: Of the kustomization.
        read: Reads a file of the checkout.

    Raises:
        KeyError: It names what is not there.
    """
    return _onto([], path, read)


def _onto(objects: list[dict[str, Any]], path: str, read: Read) -> list[dict[str, Any]]:
    """The objects with those of a kustomization, and as it changes them."""
    if (text := read(path)) is None:
        raise KeyError(path)
    content, folder = yaml.safe_load(text) or {}, dirname(path)
    for name in content.get("resources") or ():
        if "://" not in name:
            objects = [*objects, *_resources(normpath(join(folder, name)), read)]
    for name in content.get("components") or ():
        objects = _onto(objects, _file_of(normpath(join(folder, name)), read), read)
    for patch in content.get("patches") or ():
        inline = patch.get("patch")
        stated = inline if inline is not None else read(normpath(join(folder, patch["path"])))
        for change in yaml.safe_load_all(stated or ""):
            objects = _patched(objects, change, patch.get("target"))
    for one in content.get("labels") or ():
        objects = [_merged(item, {"metadata": {"labels": one["pairs"]}}, "") for item in objects]
    for image in content.get("images") or ():
        for item in objects:
            _rename(item, image)
    return objects


def _file_of(folder: str, read: Read) -> str:
    for name in _FILES:
        if read(join(folder, name)) is not None:
            return join(folder, name)
    raise KeyError(folder)


def _resources(path: str, read: Read) -> list[dict[str, Any]]:
    if not path.endswith((".yaml", ".yml")):
        return build(_file_of(path, read), read)
    if (text := read(path)) is None:
        raise KeyError(path)
    return [item for item in yaml.safe_load_all(text) if item]


def _patched(
    objects: list[dict[str, Any]], change: Any, target: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    own = {"kind": change["kind"], "name": change["metadata"]["name"]} if isinstance(change, dict) else {}
    wanted = target or own
    done = []
    for item in objects:
        name, sought = item["metadata"]["name"], wanted.get("name", "")
        is_meant = not sought or re.fullmatch(sought, name) or sought.endswith(f"-{name}")
        if wanted.get("kind", item["kind"]) != item["kind"] or not is_meant:
            done.append(item)
        elif isinstance(change, list):
            done.append(_operated(item, change))
        elif change.get("$patch") != "delete":
            merged = _merged(item, change, "")
            merged["metadata"]["name"] = name
            done.append(merged)
    return done


def _merged(old: Any, new: Any, name: str) -> Any:
    """As a strategic merge has it: objects by key, some lists by item, all else is replaced."""
    if isinstance(old, dict) and isinstance(new, dict):
        whole = dict(old)
        for key, value in new.items():
            if value is None:
                whole.pop(key, None)
            elif key != "$patch":
                whole[key] = _merged(old[key], value, key) if key in old else value
        return whole
    key = _MERGED.get(name, "")
    if not key or not isinstance(old, list) or not all(isinstance(one, dict) for one in [*old, *new]):
        return new
    items = {one.get(key, place): one for place, one in enumerate(old)}
    added = []  # they come first
    for one in new:
        if one.get("$patch") == "delete":
            items.pop(one.get(key), None)
        elif one.get(key) in items:
            items[one[key]] = _merged(items[one[key]], one, "")
        else:
            added.append(one)
    return [*added, *items.values()]


def _operated(item: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    """As operations of a JSON patch (RFC 6902) have it: add, replace and remove."""
    item = deepcopy(item)
    for one in operations:
        *way, last = (part.replace("~1", "/").replace("~0", "~") for part in one["path"].split("/")[1:])
        held: Any = item
        for part in way:
            held = held[int(part)] if isinstance(held, list) else held[part]
        if isinstance(held, list):
            place = len(held) if last == "-" else int(last)
            held[place : place + (one["op"] != "add")] = [one["value"]] if "value" in one else []
        elif one["op"] == "remove":
            held.pop(last)
        else:
            held[last] = one["value"]
    return item


def _rename(node: Any, image: Mapping[str, str]) -> None:
    for held in _objects(node):
        written = held.get("image")
        if isinstance(written, str) and re.split(r"[:@]", written)[0] == image["name"]:
            renamed = image.get("newName", image["name"])
            held["image"] = f"{renamed}:{image['newTag']}" if "newTag" in image else renamed


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _objects(inner)
