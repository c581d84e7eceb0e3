"""Search files made from model and machine, kernel or run-time variables, or pruned by known measurements."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.nouns.layout import DEGREES
from kg.triples.model_facts import model_facts
from recommender.cost_model.settings.plans import canonical_name
from recommender.space.made.search_file import SearchFile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kg.nouns.entities import Problem
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree
    from kg.triples.names import Names
    from recommender.cost_model.question import Question
    from recommender.ranking.starts.starts import Starts
    from recommender.retrieval.neighbours import Neighbour
    from recommender.search.evaluations import SourceTable
    from recommender.space.made.layer_groups import LayerGroups

WORKSPACE = "workspace"
"""The word that stands for the tables of the workspace among files of known measurements."""
SEARCHED = frozenset(
    {*DEGREES.values(), "batch", "concurrency", "chunk", "precision", "separation", "prefill_engines",
     "virtual_stages", "micro_batch", "zero_stage", "recompute", "offload", "sequence_parallel"}
)  # fmt: skip
"""Settings that a space of layouts searches."""
MOST_COUNTED = 300_000
"""Configurations up to which what the graph left is counted again; a choice."""
MOST_NEIGHBOURS = 64
"""Known problems among which tables of the same task are looked for; a choice."""


def _held(problem: Problem, decided: Question | None) -> dict[str, object]:
    """Searched settings that the question fixes: its number format, its load, and its current settings."""
    settings = {} if decided is None else decided.settings
    current = {canonical_name(name) for name in problem.current or ()}
    names = (current & SEARCHED) | ({"precision"} if problem.workload.precision else set())
    held = {name: settings[name] for name in names if name in settings}
    load = problem.workload.traits.get("concurrency")
    return {**held, "concurrency": load} if isinstance(load, int | float) else held


def _left_open(decided: Question | None) -> dict[str, object]:
    """Settings of a decision beside layout, load and formats, which are searched."""
    settings = {} if decided is None else decided.settings
    return {name: value for name, value in settings.items() if name not in SEARCHED}


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceMaker:
    """Makes search files with the knowledge of a workspace.

    Attributes:
        graph: Knows strategies and models.
        names: Resolves names.
        hardware: Knows devices and servers.
        trials: Has tables of measurements.
        problem: Reads a question as people put it.
        similar: Finds the known problems nearest to one, so many at most.
        decision: Gives the start of the plan for a question; None where there is none.
    """

    graph: GraphStore
    names: Names
    hardware: HardwareTree
    trials: TrialStore
    problem: Callable[[Mapping[str, object]], tuple[Problem, tuple[str, ...]]]
    similar: Callable[[Problem, int], list[Neighbour]]
    decision: Callable[[Problem], Starts | None]

    def layouts(
        self,
        model: str,
        hardware: str,
        *,
        count: int = 1,
        server: str = "",
        phase: str = "training",
        stated: Mapping[str, object] | None = None,
        fixed: Mapping[str, object] | None = None,
        margin: float | None = None,
        statistics: Path | None = None,
        low: str = "int8",
        budget: float | None = None,
    ) -> SearchFile:
        """Layouts of a model on a machine, on the cost model.

        Args:
            model: Name of the model.
            hardware: Name of a device or server.
            count: Devices.
            server: Name of the server around them; empty if it is not stated.
            phase: ``"training"`` or ``"serving"``.
            stated: What else the question states, by the keys of a question: ``shape``, ``precision``,
                ``traits``, ``current``, ``software`` and ``limits``.
            fixed: Settings that are not searched.
            margin: For a search that measures: share above the memory that is still tried; infinite for any.
            statistics: Statistics by layer: the precision of groups of layers is searched too.
            low: The precision that they may go down to.
            budget: Loss of accuracy that they may spend; None for any.
        """
        from recommender.cost_model.question import Question, QuestionFacts
        from recommender.space.made.layouts import layout_space

        told = dict(stated or {})
        raw: dict[str, object] = {"model": model, "phase": phase, "hardware": hardware, "count": count}
        problem, notes = self.problem({**told, **raw})
        around = self.names.server(server).id if server else ""
        name, place = problem.workload.model or model, problem.hardware.name
        sizes = model_facts(self.graph, problem)
        facts = QuestionFacts.look_up(name, sizes, self.hardware, place, around)
        groups = None if statistics is None else _layer_groups(statistics, low, budget)
        starts = self.decision(problem)
        decided = starts.question if starts is not None else None
        fixed = {**_held(problem, decided), **(fixed or {})}
        settings = {**_left_open(decided), **fixed}
        question = Question(
            model=facts.model_sizes(), machine=facts.machine(count), phase=phase, settings=settings
        )
        found = layout_space(question, margin=margin or 0.0, groups=groups)
        section: dict[str, object] = {"phase": phase, "fixed": settings}
        if around:
            section["server"] = around
        made = SearchFile(
            file={
                "name": f"{name}-{count}x{place}-{phase}",
                "problem": {**raw, "model": name, "hardware": place},
            },
            notes=list(notes),
        )
        if limits := told.get("limits"):
            made.file["limits"] = limits
        if margin is None:
            made.file["cost_model"] = section
        else:
            made.file["modelled_memory"] = {**section, "margin": margin if math.isfinite(margin) else False}
            made.notes.append("add a command and its metrics (docs/search.md)")
        made.take(found)
        if groups is not None:
            made.file.update(groups.sections)
            made.notes.extend(
                f"{name} stays as the rest: the cost model has no such group" for name in groups.unpriced
            )
        made.file.update(objectives=["throughput"], stop={"evaluations": 60, "patience": 10})
        if found.configurations is not None:
            unasked = found.skipped or margin == math.inf
            what = "configurations, memory not checked" if unasked else "configurations fit the memory"
            made.notes.append(f"{found.configurations} {what} (modelled)")
        self._limit_by_graph(made, place, problem)
        if starts is not None:
            made.begin_with(starts.question, starts.assumed, fixed)
        return made

    def kernel(
        self,
        operator: str,
        shape: Mapping[str, object],
        hardware: str,
        *,
        precision: str = "bfloat16",
        form: str = "",
        block: int | None = None,
        spills: bool = True,
    ) -> SearchFile:
        """Configurations of a kernel that can run on a device."""
        from recommender.cost_model.facts.device import Device
        from recommender.cost_model.machine import device_and_server
        from recommender.space.made.kernels import kernel_space

        resolved = self.names.hardware(hardware)
        chip, _ = device_and_server(self.hardware, resolved.id)
        device = Device(chip, dict(self.hardware.facts(chip)))
        found = kernel_space(operator, dict(shape), precision, device, form=form, block=block, spills=spills)
        problem = {"op": operator, "shape": dict(shape), "precision": precision, "hardware": resolved.id}
        made = SearchFile(
            file={"name": f"{operator}-{resolved.id}", "problem": problem},
            notes=[resolved.note] if resolved.note else [],
        )
        made.take(found)
        many = found.configurations
        number = "more than a million" if many is None else f"{many:,}"
        made.notes.append(f"{number} configurations; add a command and its metrics (docs/search.md)")
        self._limit_by_graph(made, resolved.id)
        return made

    @staticmethod
    def declared(file: str) -> SearchFile:
        """A search file as it stands: a path, or the name of a shipped one."""
        from recommender.search.run.task_file import read_task_file

        return SearchFile(file=dict(read_task_file(file).raw))

    def pruned(self, file: str, measurements: Sequence[str] = (), *, share: float = 0.6) -> SearchFile:
        """A search file without the pairs of values that were dear on every other device.

        Args:
            file: A path, or the name of a shipped search file.
            measurements: Files, or :data:`WORKSPACE` for its own tables; those alone if empty.
            share: Share of the space to leave out.
        """
        from recommender.search.engine.pruning import prune
        from recommender.search.run.source_tables import sources_of
        from recommender.search.run.task_file import read_task_file

        read = read_task_file(file)
        raw = read.raw
        paths = [Path(item) for item in measurements if item != WORKSPACE]
        sources = sources_of(paths, self.names, similarity=1.0) if paths else []
        if not measurements or WORKSPACE in measurements:
            sources += self._stored(raw, is_stated=bool(measurements))
        found = prune(
            read.space,
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
        made = SearchFile(file={**raw, "constraints": rules}, excluded=left, notes=notes)
        if (problem := self._problem(raw)) is not None:
            self._limit_by_graph(made, problem.hardware.name, problem)
        return made

    def _limit_by_graph(self, search_file: SearchFile, hardware: str, problem: Problem | None = None) -> None:
        """Leave out what the graph says against a space, and tell the conditions of what stays."""
        from kg.errors import InfeasibleError
        from recommender.answers.space_limits import space_limits
        from recommender.ranking.feasibility.exclusions import Exclusions
        from recommender.space.space_file import read_space

        parameters = search_file.file["parameters"]
        assert isinstance(parameters, dict)  # noqa: S101  it was read, or made
        parameters = search_file.file["parameters"] = dict(parameters)
        told = {
            name: item.get("values") if isinstance(item, dict) else item for name, item in parameters.items()
        }
        listed = {name: values for name, values in told.items() if isinstance(values, list)}
        found = space_limits(
            listed,
            graph=self.graph,
            exclusions=Exclusions(self.graph),
            path=self.hardware.path(hardware),
            problem=problem,
        )
        search_file.notes.extend(found.notes)
        if not found.excluded and not found.constraints:
            return
        for item in found.excluded:
            name, _, text = item.what.partition("=")
            kept = [value for value in listed[name] if str(value) != text]
            parameters[name] = (
                {**parameters[name], "values": kept} if isinstance(parameters[name], dict) else kept
            )
        rules = search_file.file["constraints"]
        assert isinstance(rules, list)  # noqa: S101  just made
        rules += [dict(rule) for rule in found.constraints]
        search_file.excluded.extend(asdict(item) for item in found.excluded)
        left = read_space({"parameters": parameters, "constraints": rules}).size(MOST_COUNTED)
        if left == 0:
            why = "; ".join(item.why for item in found.excluded)
            raise InfeasibleError("the graph leaves no configuration", hint=why)
        if left is not None:
            search_file.notes.append(f"{left:,} configurations by the rules after what the graph says")

    def _problem(self, raw: Mapping[str, object]) -> Problem | None:
        """The problem of a search file; None where it does not say, or what it runs on is not known."""
        from kg.errors import UnknownEntityError
        from recommender.measuring.environment import THIS_MACHINE, capture, this_machine

        stated = raw.get("problem")
        if not isinstance(stated, dict):
            return None
        hardware = str(stated.get("hardware") or THIS_MACHINE)
        if (named := this_machine(hardware, capture({}))) is None:
            return self.problem(stated)[0]
        try:
            return self.problem({**stated, "hardware": named[0]})[0]
        except UnknownEntityError:
            return None

    def _stored(self, raw: Mapping[str, object], *, is_stated: bool) -> list[SourceTable]:
        """Tables of the same task that the workspace has.

        Raises:
            InputError: The file does not say what it is about, or nothing of it is known.
        """
        from recommender.search.run.source_tables import stored_sources

        hint = "give files with --known: measurements of the same kernel on other devices"
        if (problem := self._problem(raw)) is None:
            raise InputError(
                "the file names no problem on known hardware to look for in the workspace", hint=hint
            )
        found = stored_sources(self.similar(problem, MOST_NEIGHBOURS), self.trials)
        if not found:
            where = (
                "the workspace" if is_stated else "the workspace, which is asked where --known says nothing,"
            )
            raise InputError(f"{where} has no table of the same {problem.workload.operator}", hint=hint)
        return found


def _layer_groups(file: Path, low: str, budget: float | None) -> LayerGroups:
    """The groups of layers whose precision may go down, from statistics by layer."""
    from recommender.answers.sensitivity import rank_file
    from recommender.space.made.layer_groups import LayerGroups

    ranked = rank_file(file, low=low, budget=budget)
    return LayerGroups(written=ranked.space, budget=budget, source=file.name)
