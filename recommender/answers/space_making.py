"""What ``tunegraph search space`` makes: a search file, what was left out of it, and what to know of it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.nouns.entities import Problem
    from recommender.search.evaluations import SourceTable
    from recommender.space.made.generated import GeneratedSpace
    from recommender.space.made.layer_groups import LayerGroups
    from recommender.workspace import Workspace

WORKSPACE = "workspace"
"""What ``--known`` says for the tables of the workspace."""
MOST_COUNTED = 300_000
"""Configurations up to which what the graph left is counted again; a choice."""
MOST_NEIGHBOURS = 64
"""Known problems among which tables of the same task are looked for; a choice."""


@dataclass(kw_only=True)
class Made:
    """A search file that was made.

    Attributes:
        file: Its content.
        left: What was left out, why, and who says so.
        notes: What to know of it.
    """

    file: dict[str, object]
    left: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, found: GeneratedSpace) -> None:
        """Take in a generated space."""
        self.file["parameters"] = dict(found.parameters)
        self.file["constraints"] = [dict(rule) for rule in found.constraints]
        self.left += [asdict(item) for item in found.left]
        self.notes += [f"rule skipped: {text}" for text in found.skipped]
        self.notes += found.notes


def layouts(
    workspace: Workspace,
    model: str,
    hardware: str,
    *,
    count: int,
    server: str,
    phase: str,
    fixed: dict[str, object],
    margin: float | None,
    groups: LayerGroups | None = None,
) -> Made:
    """Layouts of a model on a machine, on the cost model; for a measured search with a margin of memory."""
    from recommender.cost_model.estimate import machine
    from recommender.cost_model.facts.model import model_of
    from recommender.space.made.layouts import layout_space

    raw: dict[str, object] = {"model": model, "phase": phase, "hardware": hardware, "count": count}
    problem, notes = workspace.problem(raw)
    facts = workspace.hardware.facts(problem.hardware.name)
    held = workspace.names.hardware(server) if server else None
    sizes_of = workspace.model_facts(problem)
    name = problem.workload.model or model
    where = machine(
        problem.hardware.name,
        facts,
        count=count,
        server=held.id if held else "",
        server_facts=workspace.hardware.facts(held.id) if held else None,
    )
    sizes = model_of(name, str(sizes_of.get("architecture", "")), sizes_of)
    found = layout_space(sizes, where, phase=phase, fixed=fixed, margin=margin or 0.0, groups=groups)
    section: dict[str, object] = {"phase": phase, "fixed": fixed}
    if held:
        section["server"] = held.id
    made = Made(
        file={
            "name": f"{name}-{count}x{problem.hardware.name}-{phase}",
            "problem": {**raw, "model": name, "hardware": problem.hardware.name},
        },
        notes=list(notes),
    )
    if margin is None:
        made.file["cost_model"] = section
    else:
        made.file["modelled_memory"] = {**section, "margin": margin if math.isfinite(margin) else False}
        made.notes.append("add a command and its metrics (docs/search.md)")
    made.take(found)
    if groups is not None:
        made.file |= groups.sections
        made.notes += [
            f"{name} stays as the rest: the cost model has no such group" for name in groups.unpriced
        ]
    made.file |= {"objectives": ["throughput"], "stop": {"evaluations": 60, "patience": 10}}
    if found.configurations is not None:
        unasked = found.skipped or margin == math.inf
        what = "configurations, memory not checked" if unasked else "configurations fit the memory"
        made.notes.append(f"{found.configurations} {what} (modelled)")
    limit_by_graph(workspace, made, problem.hardware.name, problem)
    return made


def layer_groups(file: Path, low: str, budget: float | None) -> LayerGroups:
    """The groups that may go down, from statistics by layer."""
    from ingest.layers.layer_statistics import read_layers
    from recommender.answers.sensitivity import rank, space
    from recommender.cost_model.facts.device import precision
    from recommender.space.made.layer_groups import LayerGroups

    ranking = rank(read_layers(file), grouping="kind", budget=budget)
    written = space(ranking, low=precision(low), source=file.name, budget=budget)
    return LayerGroups(written=written, budget=budget, source=file.name)


def kernel(
    workspace: Workspace,
    operator: str,
    shape: dict[str, object],
    precision: str,
    hardware: str,
    *,
    form: str,
    block: int | None,
    spills: bool,
) -> Made:
    """Configurations of a kernel that can run."""
    from recommender.cost_model.facts.device import Device
    from recommender.space.made.kernels import kernel_space

    resolved = workspace.names.hardware(hardware)
    device = Device(resolved.id, dict(workspace.hardware.facts(resolved.id)))
    found = kernel_space(operator, shape, precision, device, form=form, block=block, spills=spills)
    made = Made(
        file={
            "name": f"{operator}-{resolved.id}",
            "problem": {"op": operator, "shape": shape, "precision": precision, "hardware": resolved.id},
        },
        notes=[resolved.note] if resolved.note else [],
    )
    made.take(found)
    many = found.configurations
    told = "more than a million" if many is None else f"{many:,}"
    made.notes.append(f"{told} configurations; add a command and its metrics (docs/search.md)")
    limit_by_graph(workspace, made, resolved.id)
    return made


def runtime(
    workspace: Workspace,
    kinds: Sequence[str],
    hardware: str,
    *,
    count: int,
    server: str,
    cores: int | None,
    file: str | None,
) -> Made:
    """Run-time variables and data loading; laid into a search file with a command where one is given."""
    from recommender.space.made.runtime import KINDS, RuntimePlace, runtime_space

    resolved = workspace.names.hardware(hardware)
    facts = dict(workspace.hardware.facts(resolved.id))
    if server:
        facts |= workspace.hardware.facts(workspace.names.hardware(server).id)
    node = facts.get("device_count", facts.get("devices_per_node"))
    place = RuntimePlace(
        hardware=resolved.id,
        path=workspace.hardware.path(resolved.id),
        devices=count,
        devices_of_a_node=min(int(node), count) if isinstance(node, int | float) else None,
        cores=cores,
    )
    found = runtime_space(place, KINDS if "all" in kinds else kinds)
    made = Made(
        file={"name": f"runtime-{count}x{resolved.id}"}, notes=[resolved.note] if resolved.note else []
    )
    made.take(found.space)
    made.file |= {"environment": dict(found.environment), "default": dict(found.default)}
    limit_by_graph(workspace, made, resolved.id)
    if found.arguments:
        made.notes.append(f"put into the command: {', '.join(f'{{{name}}}' for name in found.arguments)}")
    if file is not None:
        made.file = _laid_into(file, made.file)
    else:
        made.notes.append("add a command and its metrics (docs/search.md)")
    return made


def _laid_into(file: str, more: dict[str, object]) -> dict[str, object]:
    """A search file with parameters, constraints, environment and default of another.

    Raises:
        InputError: Both have a parameter, or the file has no command.
    """
    from recommender.search.run.task_file import read_task_file

    raw, _ = read_task_file(file)
    if not raw.get("command"):
        raise InputError(
            f"{file} has no command that variables could change", hint="add one, or leave it out"
        )
    parts: dict[str, dict[str, object]] = {}
    for key in ("parameters", "environment", "default"):
        told, given = raw.get(key) or {}, more[key]
        if not isinstance(told, dict) or not isinstance(given, dict):
            raise InputError(f"{file}: {key}: expected names and values")
        if twice := sorted({*told} & {*given}):
            raise InputError(f"{file} has {key} {', '.join(twice)} already")
        parts[key] = {**told, **given}
    if not raw.get("default"):
        del parts["default"]  # the rest of a default is not known
    rules, added = raw.get("constraints") or [], more["constraints"]
    if not isinstance(rules, list) or not isinstance(added, list):
        raise InputError(f"{file}: constraints: expected a list")
    return {**raw, **parts, "constraints": [*rules, *added]}


def limit_by_graph(workspace: Workspace, made: Made, hardware: str, problem: Problem | None = None) -> None:
    """Leave out what the graph says against a space, and tell the conditions of what stays."""
    from kg.errors import InfeasibleError
    from recommender.ranking.feasibility.exclusions import Exclusions
    from recommender.space.made.space_limits import space_limits
    from recommender.space.space_file import read_space

    parameters = made.file["parameters"]
    assert isinstance(parameters, dict)  # noqa: S101  it was read, or made
    parameters = made.file["parameters"] = dict(parameters)
    told = {name: item.get("values") if isinstance(item, dict) else item for name, item in parameters.items()}
    listed = {name: values for name, values in told.items() if isinstance(values, list)}
    found = space_limits(
        listed,
        graph=workspace.graph,
        exclusions=Exclusions(workspace.graph),
        path=workspace.hardware.path(hardware),
        problem=problem,
    )
    made.notes += found.notes
    if not found.left and not found.constraints:
        return
    for item in found.left:
        name, _, text = item.what.partition("=")
        kept = [value for value in listed[name] if str(value) != text]
        parameters[name] = (
            {**parameters[name], "values": kept} if isinstance(parameters[name], dict) else kept
        )
    rules = made.file["constraints"]
    assert isinstance(rules, list)  # noqa: S101  just made
    rules += [dict(rule) for rule in found.constraints]
    made.left += [asdict(item) for item in found.left]
    left = read_space({"parameters": parameters, "constraints": rules}).size(MOST_COUNTED)
    if left == 0:
        why = "; ".join(item.why for item in found.left)
        raise InfeasibleError("the graph leaves no configuration", hint=why)
    if left is not None:
        made.notes.append(f"{left:,} configurations by the rules after what the graph says")


def pruned(workspace: Workspace, file: str, known: Sequence[str], share: float) -> Made:
    """A search file without the pairs of values that were dear on every other device."""
    from recommender.search.engine.pruning import prune
    from recommender.search.run.source_tables import sources_of
    from recommender.search.run.task_file import read_task_file
    from recommender.space.space_file import read_space

    raw, _ = read_task_file(file)
    paths = [Path(item) for item in known if item != WORKSPACE]
    sources = sources_of(paths, workspace.names, similarity=1.0) if paths else []
    if not known or WORKSPACE in known:
        sources += _stored(workspace, raw, asked=bool(known))
    found = prune(
        read_space({key: raw[key] for key in ("parameters", "constraints") if key in raw}),
        sources,
        share=share,
    )
    left = [
        {
            "what": f"{pair.names[0]}={pair.values[0]} with {pair.names[1]}={pair.values[1]}",
            "why": f"{math.exp(pair.price):.2f}x the best at least"
            if math.isfinite(pair.price)
            else "failed",
            "source": ", ".join(found.sources),
        }
        for pair in found.pairs
    ]
    rules = [
        {"expression": item.expression, "reason": item.reason, "source": item.source}
        for item in found.space.constraints
    ]
    notes = [
        f"known: {', '.join(found.sources)}",
        f"{found.before} configurations, {found.after} left ({found.removed:.0%} gone)",
    ]
    made = Made(file={**raw, "constraints": rules}, left=left, notes=notes)
    if (problem := _problem(workspace, raw)) is not None:
        limit_by_graph(workspace, made, problem.hardware.name, problem)
    return made


def _problem(workspace: Workspace, raw: dict[str, object]) -> Problem | None:
    """What a search file is about; None where it does not say, or what it runs on is not known."""
    from kg.errors import UnknownEntityError
    from recommender.measuring.environment import capture
    from recommender.search.run.preparation import THIS_MACHINE, this_machine

    told = raw.get("problem")
    if not isinstance(told, dict):
        return None
    asked = str(told.get("hardware") or THIS_MACHINE)
    if (named := this_machine(asked, capture({}))) is None:
        return workspace.problem(told)[0]
    try:
        return workspace.problem({**told, "hardware": named[0]})[0]
    except UnknownEntityError:
        return None


def _stored(workspace: Workspace, raw: dict[str, object], *, asked: bool) -> list[SourceTable]:
    """Tables of the same task that the workspace has.

    Raises:
        InputError: The file does not say what it is about, or nothing of it is known.
    """
    from recommender.search.run.source_tables import stored_sources

    hint = "give files with --known: measurements of the same kernel on other devices"
    if (problem := _problem(workspace, raw)) is None:
        raise InputError(
            "the file names no problem on known hardware to look for in the workspace", hint=hint
        )
    found = stored_sources(workspace.similar(problem, MOST_NEIGHBOURS), workspace.trials)
    if not found:
        where = "the workspace" if asked else "the workspace, which is asked where --known says nothing,"
        raise InputError(f"{where} has no table of the same {problem.workload.operator}", hint=hint)
    return found
