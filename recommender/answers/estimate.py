"""Estimates of whole steps by the cost model: what configurations of a problem would cost."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kg.errors import InputError, TuningError
from kg.nouns.entities import Problem
from kg.nouns.gain import NORMAL_90
from kg.nouns.situation import StatedFact
from kg.nouns.values import Value
from kg.terms.dialects import statement
from kg.triples.hardware_tree import HardwareTree
from recommender.answers.decision import beyond_launch, decided_question, shared_load, still_assumed
from recommender.answers.estimate_choice import differences, front_of_estimates, measure, pareto_front
from recommender.cost_model.estimate import LEAST_MOVE, estimate_question, over_releases, sweep
from recommender.cost_model.estimate_pass import PassShape, PricedPass, passes_of
from recommender.cost_model.machine import link_note
from recommender.cost_model.operators.kinds import Operators, load
from recommender.cost_model.priced_step import PricedStep, priced_steps
from recommender.cost_model.question import Question
from recommender.cost_model.settings.engine_defaults import age_note, engine_defaults, host_note
from recommender.cost_model.settings.plans import PHASES, LayoutError, canonical_name, in_own_words, name_of
from recommender.cost_model.workloads.steps import Steps
from recommender.green.power_curve import PowerStep, cap_steps, clock_steps
from recommender.ranking.feasibility.server_fit import ServerFit, server_fit, written_change
from recommender.ranking.feasibility.training_fit import fit_of_question, with_length
from recommender.ranking.measured.exact_runs import MEASURED_SO
from recommender.ranking.measured.measured_run import MeasuredRun
from recommender.ranking.starts.starts import Starts


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Costs of some configurations of one problem.

    Attributes:
        question: What the cost model was asked.
        steps: Each configuration with its price.
        notes: What it rests on.
        assumed: What is assumed where the question is silent.
        pareto: Fields of the steps by which some beat others; empty if nobody asked.
        is_comparison: Whether the steps are two that somebody wants beside each other.
        power_steps: What lower clocks and power caps do to time and energy, where curves of the vendor's
            devices are public and the energy is known.
        passes: A decode step and a prefill of the one configuration, or the one pass that was asked for, with
            their operators; empty if nobody asked.
        unfit: Why the server does not start as it is told, or refuses its longest requests; None if it does.
    """

    question: Question
    steps: tuple[PricedStep, ...]
    notes: tuple[str, ...] = ()
    assumed: tuple[StatedFact, ...] = ()
    pareto: tuple[str, ...] = ()
    is_comparison: bool = False
    power_steps: tuple[PowerStep, ...] = ()
    passes: tuple[PricedPass, ...] = ()
    unfit: ServerFit | None = None

    def launch_line(self, language: str) -> str:
        """A line if the launch fails, or refuses longer requests, with what starts; empty if it runs."""
        if (unfit := self.unfit) is None:
            return ""
        question = self.question
        written = [written_change(one, question.engine, question.version, {}) for one in unfit.reliefs]
        lead = "This launch" if unfit.is_sure else "By the memory model this launch"
        does = "refuses longer requests" if unfit.starts else "does not start"
        cures = f"; what starts: {'; or '.join(written)}" if written and not unfit.starts else ""
        return f"{lead} {does}: {unfit.says[language == 'zh']}{cures}"

    @property
    def front(self) -> list[int]:
        """Places of the steps that no other beats in ``pareto``, best in its first field first."""
        return pareto_front(self.steps, self.pareto) if self.pareto else []

    @property
    def comparison(self) -> list[dict[str, Any]]:
        """The second step beside the first, field by field; empty unless a comparison was asked for."""
        return differences(self.steps) if self.is_comparison else []

    @property
    def roofline(self) -> dict[str, object] | None:
        """Peak and bandwidth of the device, which bound every operator; None where one is not known."""
        device = self.question.machine.device
        peak = device.get("peak_bf16_flops", "peak_fp16_flops")
        if peak is None or device.get("memory_bandwidth_bytes_per_s") is None:
            return None
        return {"device": device.id, "peak_flops": peak, "memory_bandwidth": device.memory_bandwidth}

    def to_json(self) -> dict[str, object]:
        """The estimate as JSON."""
        place = self.question.machine
        server = place.network.id
        return {
            "model": self.question.model.id,
            "hardware": place.device.id,
            "server": server if server != place.device.id else None,
            "count": place.count,
            "phase": self.question.phase,
            "kind": "modelled",
            "assumed": [fact.to_json() for fact in self.assumed],
            "estimates": [step.to_json() for step in self.steps],
            "lower_clocks": [step.to_json() for step in self.power_steps if step.cap_w is None],
            "power_caps": [step.to_json() for step in self.power_steps if step.cap_w is not None],
            "roofline": self.roofline,
            **({"pareto": {"fields": list(self.pareto), "front": self.front}} if self.pareto else {}),
            **({"comparison": self.comparison} if self.is_comparison else {}),
            **({"unfit": self.unfit.to_json()} if self.unfit else {}),
            **({"passes": [one.to_json() for one in self.passes]} if self.passes else {}),
        }

    def __str__(self) -> str:
        from recommender.report.plain_text import section_text

        return section_text("estimate", self.page_content())

    def page_content(self) -> dict[str, Any]:
        """The same with its notes and the points of a front."""
        content = {**self.to_json(), "notes": list(self.notes)}
        return {**content, "front_points": front_of_estimates(content)}


_NAMED = ("engine", "precision")
_WHOLE = 1000
"""Number from which it is told without decimals."""
_OF_ROOM = frozenset({"memory_share", "max_len", "cache_bytes"})
"""Facts that say what a server has room for."""
ALTERNATIVES: Mapping[str, Mapping[str, Callable[[float], object]]] = MappingProxyType(
    {
        "serving": {
            "batch": lambda at: 2 * at,
            "input_len": lambda at: 2 * at,
            "output_len": lambda at: 2 * at,
            "graph": lambda at: 1 - at,
            "async_scheduling": lambda at: 1 - at,
            "expert_imbalance": lambda at: 1.5 * at,
        },
        "training": {
            "micro_batch": lambda at: 2 * at,
            "fused_ops": lambda at: 1 - at,
            "flash_attention": lambda at: 1 - at,
            "overlap_gradients": lambda at: 1 - at,
            "expert_imbalance": lambda at: 1.5 * at,
        },
    }
)
"""Alternative values of settings that were not stated."""


def rests_on(question: Question, steps: Steps) -> str:
    """The measured steps and runs that an estimate is anchored on, and its error, as text."""
    parts = [f"anchored on {steps.basis}"] if steps.basis else []
    if steps.doubt is not None:
        number = len(question.measured.runs)
        parts.append(f"corrected by {number} measured run{'s' if number > 1 else ''} of this network near by")
    now, before = (NORMAL_90 * spread for spread in (steps.spread_of(0), steps.spread))
    width = [_width(now), *([f"without them {_width(before)}"] if before > now else [])]
    return "; ".join([*parts, *width]) if parts else ""


def measured_so(question: Question, changes: Sequence[Mapping[str, object]]) -> str:
    """The measured values of exactly this one configuration, as text; empty for several configurations."""
    place, found = question.place(question.configuration(changes[0])), list[str]()
    for run in question.measured.runs if len(changes) == 1 else ():
        stated = replace(
            run.place, **{name: getattr(run.place, name) or getattr(place, name) for name in _NAMED}
        )
        if isinstance(run, MeasuredRun) and (stated, run.count) == (place, question.machine.count):
            value, measured = run.trial.measurement.value or 0.0, run.trial.measurement
            number = f"{value:,.0f}" if value >= _WHOLE else f"{value:.4g}"
            found.append(f"{measured.metric} {number} {measured.unit} <{run.source}>")
    return f"{MEASURED_SO}{'; '.join(found)}" if found else ""


def _width(log: float) -> str:
    """The error of an answer as text, from its logarithm."""
    return f"+-{100 * math.expm1(log):.0f} %" if log < 2 else f"off by up to {math.exp(log):.0f} times"


def assumptions(question: Question, change: Mapping[str, object], release: str = "") -> str:
    """What was not stated and moved the answer, and what another does to the throughput.

    Args:
        question: What is asked.
        change: The configuration.
        release: The same of a release that nobody told, as text.
    """
    stated = question.configuration(change)
    known = {name_of(str(name), PHASES[question.phase]) for name in stated}
    defaults = engine_defaults(question.phase, question.engine, question.version)
    moved = []
    for name, other in ALTERNATIVES[question.phase].items():
        at = defaults[name]
        if name in known or not isinstance(at, int | float):
            continue
        instead = other(at)
        try:
            steps = estimate_question(question, [dict(change), {**change, name: instead}])
        except TuningError:
            continue
        gain = math.log(float(steps.throughput[1]) / float(steps.throughput[0]))
        if abs(gain) >= LEAST_MOVE:
            moved.append((abs(gain), f"{name}={at:g} ({instead:g}: {100 * math.expm1(gain):+.0f} %)"))
    texts = [*([release] if release else []), *(text for _, text in sorted(moved, reverse=True))]
    return f"assumed: {', '.join(texts)}" if texts else ""


def _refuse_no_drafts(settings: Mapping[str, object]) -> None:
    """Refuse a method of drafts that drafts nothing."""
    told = {canonical_name(name): str(value) for name, value in settings.items()}
    if told.get("draft_method", "other") != "other" and told.get("speculative_tokens") == "0":
        raise InputError(
            f"draft_method={told['draft_method']} drafts tokens, speculative_tokens=0 none",
            hint="leave one out",
        )


def _own(settings: Mapping[str, object], program: str, phase: str) -> dict[str, object]:
    """Settings by the cost model's names and in its words, whichever a program's spelling has."""
    read = [in_own_words(name, [value], program) for name, value in settings.items()]
    named = [(name, canonical_name(name), values[0]) for name, values in read]
    return {own if own in PHASES[phase] else name: value for name, own, value in named}


def estimate_problem(
    problem: Problem,
    sizes: Mapping[str, Value],
    tree: HardwareTree,
    *,
    phase: str,
    server: str = "",
    starts: Starts | None = None,
    settings: Mapping[str, object] | None = None,
    axes: Mapping[str, Sequence[object]] | None = None,
    compare: Sequence[Mapping[str, object]] = (),
    pareto: Sequence[str] = (),
    constants: Path | None = None,
    about: Callable[[Question], Question] | None = None,
    notes: Sequence[str] = (),
    by_operator: bool = False,
    one_pass: Mapping[str, object] | None = None,
) -> Estimate:
    """Estimate configurations of a problem.

    Args:
        problem: Model, hardware, lengths and current settings.
        sizes: Facts of the model.
        tree: Knows hardware.
        phase: ``"training"`` or ``"serving"``.
        server: Id of the server around the devices; empty if it is not stated.
        starts: The decision for the question, which says what is open; None for the engine's defaults.
        settings: Settings of the cost model that win over the problem's.
        axes: Values of settings to combine; every combination that is a layout is a configuration.
        compare: Two sets of settings to lay over the others, in the place of ``axes``.
        pareto: Names of results; the estimate then says which configurations no other beats in them.
        constants: Folder of calibrated constants; the shipped ones if None.
        about: Gives a question what measured runs near by make of its prices, which rest on the shipped
            constants; None for nothing.
        notes: What was assumed when the problem was read.
        by_operator: Whether the operators of its passes are wanted.
        one_pass: The one pass that is wanted: its ``phase``, and what it has else than the configuration of
            ``batch``, ``chunk``, ``context`` and ``images``; None for none.

    Raises:
        InputError: An unknown phase or setting, an impossible layout, or operators of what has no passes, or
            of more than one configuration; the error has the notes.
        MissingFactError: A fact that the estimate needs is unknown; the error has the notes.
    """
    notes = tuple(notes)
    _refuse_no_drafts(settings or {})
    shape = PassShape.of(one_pass) if one_pass else None
    asked = Question.of(problem, sizes, tree, server=server, phase=phase)
    axes = dict(in_own_words(name, values, asked.engine) for name, values in (axes or {}).items())
    settings, *compare = (_own(one, asked.engine, phase) for one in (settings or {}, *compare))
    stated = frozenset(map(canonical_name, [*settings, *axes, *chain(*compare)]))
    question, lengths = with_length(decided_question(asked, starts, stated, server), sizes)
    lengths = tuple(fact for fact in lengths if "seq_len" not in stated)
    # measured runs correct the shipped constants alone; a decision brings those near its own settings
    if about is not None and constants is None and (question is asked or stated):
        changed = replace(question, settings={**question.settings, **settings})
        question = replace(question, measured=about(changed).measured)
    if not question.model.layers and "operations_source" in sizes:
        notes = (*notes, f"{question.model.id}: its operations are those of {sizes['operations_source']}")
    current: Mapping[str, Value] = problem.current or {}
    program = question.engine
    read = statement(current, program)
    # not ignored, though no price has them: they bound the memory, which is judged further below
    heard = {name for name, fact in read.fact_of.items() if fact in _OF_ROOM and question.phase == "serving"}
    question = replace(question, ignored=tuple(name for name in question.ignored if name not in heard))
    if question.ignored:
        notes = (*notes, f"the cost model has no setting for {', '.join(question.ignored)}")
    try:
        changes = [{**settings, **one} for one in compare] or sweep(settings, axes)
        changes = [shared_load(one, starts) for one in changes]
        operators = load(constants) if constants else None
        steps, kept = _possible(question, changes, operators, drop=not compare and len(changes) > 1)
        steps, release = (steps, "") if asked.version else over_releases(question, kept, operators, steps)
    except TuningError as error:
        for note in notes:
            error.add_note(note)
        raise
    if len(kept) < len(changes):
        notes = (
            *notes,
            f"left out: {len(changes) - len(kept)} of {len(changes)} combinations are no layouts",
        )
    host = host_note(question.engine, {**question.settings, **kept[0]})
    said = (
        ()
        if shape
        else (
            beyond_launch(problem, asked, question),
            measured_so(question, kept),
            rests_on(question, steps),
            link_note(question.machine),
            age_note(asked.engine, asked.version),
            host,
            assumptions(question, kept[0], release),
        )
    )
    notes = (*notes, *(text for text in said if text))
    priced = tuple(priced_steps(steps, [question.configuration(item) for item in kept]))
    unfit, most = None, sizes.get("max_positions")
    # a question without a launch has nothing that an engine could refuse to start
    if problem.situation.has_script or heard:
        lengths_told = (problem.workload.shape.get(name, 0) for name in ("input_len", "output_len"))
        unfit = server_fit(
            replace(question, settings={**asked.settings, **settings}), current, program,
            tokens=sum(float(str(tokens)) for tokens in lengths_told),
            most=int(most) if isinstance(most, int | float) else 0,
        )  # fmt: skip
    if (share := read.facts.get("memory_share")) and question.phase == "serving":
        share = min(float(str(share)), 1.0)
        priced = tuple(
            replace(one, capacity_bytes=None if one.capacity_bytes is None else share * one.capacity_bytes)
            for one in priced
        )
    fields = tuple(measure(name, priced) for name in pareto)
    if question.phase == "training" and len(kept) == 1 and priced[0].fits is False:
        fit = fit_of_question(replace(question, settings=question.configuration(kept[0])))
        notes = (*notes, *([fit.words] if fit else []))
    if fields and all(step.fits is False for step in priced):
        notes = (*notes, "no configuration fits the memory: none is marked")
    return Estimate(
        question=question,
        steps=priced,
        notes=tuple(notes),
        pareto=fields,
        is_comparison=bool(compare),
        unfit=unfit,
        assumed=(*still_assumed(starts, stated), *lengths),
        passes=_passes(question, kept, operators, shape) if by_operator or shape else (),
        power_steps=() if steps.energy_j is None else _power_steps(question, priced, tree),
    )


def _passes(
    question: Question,
    kept: Sequence[Mapping[str, object]],
    operators: Operators | None,
    shape: PassShape | None,
) -> tuple[PricedPass, ...]:
    """The passes of the one configuration.

    Raises:
        InputError: There are several.
    """
    if len(kept) > 1:
        option = "--pass" if shape else "--operators"
        raise InputError(
            f"{option}: of one configuration, not of {len(kept)}", hint="leave --sweep and --compare out"
        )
    return passes_of(question, question.configuration(kept[0]), operators, shape)


def _power_steps(
    question: Question, priced: Sequence[PricedStep], tree: HardwareTree
) -> tuple[PowerStep, ...]:
    """Lower clocks, and caps for the one configuration that there is."""
    device = question.machine.device.id
    path, nominal = tree.path(device), tree.facts(device).get("tdp_w")
    caps = cap_steps(path, priced[0].power_w, nominal) if len(priced) == 1 else ()
    return (*clock_steps(path), *caps)


def _possible(
    question: Question, changes: list[dict[str, object]], operators: Operators | None, *, drop: bool
) -> tuple[Steps, list[dict[str, object]]]:
    """Costs of the changes; those of a sweep that are no layout are left out, unless all are."""
    while True:
        try:
            return estimate_question(question, changes, operators), changes
        except LayoutError as error:
            kept = [one for one, holds in zip(changes, error.holds, strict=True) if holds]
            if not (drop and kept):
                raise
            changes = kept
