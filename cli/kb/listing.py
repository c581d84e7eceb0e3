"""``tunegraph kb list``: what the knowledge holds of one kind, a line each."""

from collections.abc import Mapping
from typing import Annotated

import typer

from cli import output
from cli.completion import LISTS
from cli.context import open_workspace
from cli.options import JsonOption
from cli.output import say
from cli.text.language import Name, language
from kg.errors import InputError
from kg.nouns.recipe import Recipe
from kg.nouns.setting import Setting
from kg.terms.meanings import phrase_of
from kg.terms.parts import part_of
from kg.terms.purposes import Purpose, plain_key, purpose
from kg.terms.setting_registry import registry, softwares

_OF_NAMES = ("--like",)
_TAKEN = {
    "hardware": ("--vendor", "--like"),
    "servers": ("--vendor", "--like"),
    "settings": ("--software",),
    "recipes": ("--model", "--hardware", "--role", "--framework", "--family", "--like", "ID"),
}
"""Options by list; the others take those of :data:`_OF_NAMES`."""


def list_(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(help=f"What to list: {', '.join(LISTS)}.")],
    identifier: Annotated[str, typer.Argument(help="Show this recipe in full.")] = "",
    model: Annotated[str, typer.Option("--model", help="Only of this model.")] = "",
    hardware: Annotated[str, typer.Option("--hardware", help="Only for this device or server.")] = "",
    role: Annotated[str, typer.Option("--role", help="Only serve, prefill, decode, train or finetune.")] = "",
    framework: Annotated[str, typer.Option("--framework", help="Only of this framework.")] = "",
    family: Annotated[str, typer.Option("--family", help="Only of this family of recipes.")] = "",
    vendor: Annotated[str, typer.Option("--vendor", help="Only hardware and servers of this vendor.")] = "",
    like: Annotated[str, typer.Option("--like", help="Only names that hold this text.")] = "",
    software: Annotated[
        str, typer.Option("--software", help="Settings of this program, as vllm-ascend=0.18.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """List models, hardware, strategies, settings, recipes ...

    Example: tunegraph kb list hardware --vendor huawei
    """
    from cli import output

    if kind not in LISTS:
        raise InputError(f"no list of {kind!r}", hint=f"one of: {', '.join(LISTS)}")
    given = {
        "--model": model, "--hardware": hardware, "--role": role, "--framework": framework,
        "--family": family, "--vendor": vendor, "--like": like, "--software": software, "ID": identifier,
    }  # fmt: skip
    if strays := [name for name, value in given.items() if value and name not in _TAKEN.get(kind, _OF_NAMES)]:
        taken = ", ".join(_TAKEN.get(kind, _OF_NAMES))
        raise InputError(f"{strays[0]} is not for kb list {kind}", hint=f"it takes {taken}")
    if kind == "settings":
        with open_workspace(context) as workspace:
            show_settings(software, workspace.knowledge.labels_of_settings(), as_json=as_json)
        return
    if kind != "recipes":
        with open_workspace(context) as workspace:
            names = workspace.knowledge.name_list(kind, vendor=vendor, like=like)
        if as_json:
            output.as_json({kind: [dict(zip(names.columns, row, strict=True)) for row in names.rows]})
        else:
            shown = [
                at for at, name in enumerate(names.columns) if name != "Chinese name" or language() == "en"
            ]
            rows = ((Name(row[0]), *(row[at] for at in shown[1:])) for row in names.rows)
            output.table([names.columns[at] for at in shown], rows)
            output.note(f"{len(names.rows)} {kind}")
        return
    with open_workspace(context) as workspace:
        found = workspace.knowledge.recipes(
            model=model,
            hardware=hardware,
            role=role,
            framework=framework,
            family=family,
            identifier=identifier,
            like=like,
        )
    if as_json:
        from ingest.formats.recipes.recipe_records import to_record

        output.as_json({"recipes": [to_record(item) for item in found]})
    elif identifier:
        _show(found[0])
    else:
        output.table(
            ("id", "role", "hardware", "devices", "layout", "by"),
            ((r.id, r.role, r.hardware, r.devices, r.layout, r.authority) for r in found),
        )
        output.note(f"{len(found)} recipes; one in full: tunegraph kb list recipes ID")


def _show(recipe: Recipe) -> None:
    say(f"{recipe.id}: {recipe.reported_model}, {recipe.role} with {recipe.framework} {recipe.version}")
    place = f"{recipe.devices} x {recipe.hardware or 'unknown'} ({recipe.reported_hardware})"
    nodes = f", {recipe.nodes} nodes" if recipe.nodes > 1 else ""
    say(f"  on {place}{nodes}" + (f", {recipe.instances} instances" if recipe.instances > 1 else ""))
    for name, text in (("layout", recipe.layout), ("for", recipe.context), ("precision", recipe.precision)):
        if text:
            say(f"  {name}: {text}")
    for item in recipe.settings:
        say(f"  {item.where.value:5}{item.key} = {item.value}")
    say(f"  {recipe.authority}: {recipe.source.url}")


LONGEST = 40
"""Characters of a default that a table shows."""


_WHOSE = {
    Purpose.LAYOUT: "divides the work over devices",
    Purpose.MODEL: "says what the network is",
    Purpose.TRAINING: "says what is learned, and how",
    Purpose.SITE: "belongs to the site: names, paths, logs, waiting times",
}
"""Descriptions of settings that are not for tuning."""


def show_settings(software: str, labels: Mapping[str, str], *, as_json: bool) -> None:
    """Print the settings of ``software`` (``name=release``), or without one the programs there are.

    Args:
        software: The program, with a release or without.
        labels: Names of strategies by the plain names of what they set.
        as_json: Print JSON.

    Raises:
        UnknownEntityError: No settings of that program ship, or the release is none.
    """
    if not software:
        _programs(as_json=as_json)
        return
    name, _, release = software.partition("=")
    found = registry(name).at(release)
    if found.note:
        output.note(found.note)
    means = {item: describe_setting(item, labels) for item in found}
    if as_json:
        settings = [to_json(item, found.release, text) for item, text in means.items()]
        output.as_json({"software": found.registry.software, "release": found.release, "settings": settings})
        return
    output.table(
        ("place", "setting", "means", "takes", "default", "since"),
        (
            (one.place, one.key, text, one.takes, in_short(one.default_text(found.release)), one.since or "")
            for one, text in means.items()
        ),
    )


def describe_setting(setting: Setting, labels: Mapping[str, str]) -> str:
    """A setting in words: what it says, what strategy switches it on, or whose it is; else empty.

    Args:
        setting: The setting.
        labels: Names of strategies by the plain names of what they set.
    """
    said = phrase_of(setting.key, setting.software) or labels.get(plain_key(setting.key))
    return said or _WHOSE.get(purpose(setting.key), "")


def to_json(setting: Setting, release: str, means: str) -> dict[str, object]:
    """A setting as one release has it, with what it means; what is not known is left out."""
    default = setting.default_in(release)
    part = part_of(setting.key, None, setting.software)
    fields: dict[str, object] = {
        "key": setting.key,
        "place": setting.place.value,
        "means": means,
        "in": setting.carrier,
        "aliases": list(setting.aliases),
        "off": setting.negation,
        "type": setting.type,
        "choices": list(setting.choices),
        "low": setting.low,
        "high": setting.high,
        "unit": setting.unit,
        "since": setting.since,
        "removed": setting.removed,
        "replaced_by": setting.replaced_by,
        "open": setting.open,
        "part": "" if part is None else part.name,
        "refused_with": list(setting.conflicts),
        "source": setting.source,
    }
    kept = {name: value for name, value in fields.items() if value not in ("", None, [], False)}
    if default is not None:
        kept |= {"default_is_computed": True} if default.computed else {"default": default.value}
    if resolved := setting.resolved_in(release):
        kept["resolves_to"] = [str(case) for case in resolved]
    return kept


def in_short(text: str) -> str:
    """A default as a table shows it."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _programs(*, as_json: bool) -> None:
    rows = [(name, registry(name)) for name in softwares()]
    if as_json:
        output.as_json({"software": {name: list(item.releases) for name, item in rows}})
        return
    output.table(
        ("software", "settings", "releases"),
        ((name, len(item.settings), ", ".join(item.releases)) for name, item in rows),
    )
