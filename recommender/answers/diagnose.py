"""Diagnosis with the knowledge of a graph: causes, and the strategies against them with what they brought."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ingest.profiles.checks import SNAPSHOT
from ingest.profiles.facts.run import Profile
from kg.errors import InputError, MissingFactError, UnknownEntityError, WorkspaceError
from kg.nouns.effects import Effect
from kg.nouns.framework import Framework
from kg.nouns.knowledge import Bottleneck, Cause, Model, Strategy
from kg.nouns.outcomes import Outcome
from kg.rows.gains import RowGain
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.names import Names
from kg.triples.serialisation import all_of, from_graph
from recommender.answers.remedies import ProfiledRun, Remedy, hardware_names, remedies_for, vendor_of
from recommender.applicability.scope import kinds_of
from recommender.diagnosis.analysis import evidence_by_rank
from recommender.diagnosis.baseline import JobBaseline, keep_run
from recommender.diagnosis.causes.network import CauseNetwork
from recommender.diagnosis.diagnosis import Diagnosis, diagnose
from recommender.diagnosis.rank.program_signs import is_forward_only, trains
from recommender.diagnosis.thresholds import SIGNIFICANT_SHARE, Thresholds
from recommender.retrieval.past_cases import PastCase, Present, past_cases

_FORWARD = frozenset({"inference", "prefill", "decode"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The changes that a remedy may make.

    Attributes:
        accuracy: Change what a model computes, or leave open whether it does.
        code: Ask for more than a setting: a change of the program, a kernel, another layout.
    """

    accuracy: bool = True
    code: bool = True

    def lets(self, strategy: Strategy) -> bool:
        """Return whether a strategy keeps within this."""
        return (self.accuracy or strategy.accuracy == "unchanged") and (self.code or bool(strategy.sets))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisAnswer:
    """A diagnosis with remedies.

    Attributes:
        diagnosis: What was found.
        remedies: For each finding what to do, best known first.
        cases: For each finding past cases against a node of its chain, those most like this run first.
        profile: The run.
        before: The earlier run that stood beside it; None without.
    """

    diagnosis: Diagnosis
    remedies: tuple[tuple[Remedy, ...], ...]
    cases: tuple[tuple[PastCase, ...], ...]
    profile: Profile
    before: Profile | None = None

    @property
    def is_comparison(self) -> bool:
        """True if an earlier run was given to compare with."""
        return self.before is not None

    def page_content(self) -> dict[str, object]:
        """The same with the heat map of operators."""
        from recommender.diagnosis.heat_map import heat_map

        return {**self.to_json(), "heat": heat_map(self.profile)}

    def __str__(self) -> str:
        from recommender.report.plain_text import section_text

        return section_text("diagnosis", self.page_content())

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        content = self.diagnosis.to_json()
        causes = content["causes"]
        assert isinstance(causes, list)  # noqa: S101  made a line above
        for cause, remedies, cases in zip(causes, self.remedies, self.cases, strict=True):
            cause["remedies"] = [item.to_json() for item in remedies]
            cause["matching_cases"] = [item.to_json() for item in cases]
        return content


def diagnose_profile(
    graph: GraphStore,
    profile: Profile,
    *,
    before: Profile | None = None,
    usual: JobBaseline | None = None,
    least: float = SIGNIFICANT_SHARE,
    allowed: Allowed | None = None,
    gains: Iterable[RowGain] = (),
    present: Present | None = None,
) -> DiagnosisAnswer:
    """Causes and remedies.

    Args:
        graph: The knowledge.
        profile: The run.
        before: An earlier run of the same job: then what became worse is explained.
        usual: What its last runs lost, where no earlier one stands beside it.
        least: Share of the step from which a cause is significant.
        allowed: What remedies may do; anything if None.
        gains: Of past cases.
        present: What runs and where, for matching cases; without it none are matched.

    Raises:
        InputError: It is of devices of several vendors.
        MissingFactError: Nothing of a device was recorded.
        WorkspaceError: The graph has no thresholds to judge by.
    """
    _require_device(profile)
    _require_one_vendor(profile)
    patterns = list(all_of(graph, Bottleneck))
    if not any(pattern.symptoms for pattern in patterns):
        raise WorkspaceError(
            "the workspace has no bottlenecks with thresholds", hint="use one with the shipped knowledge"
        )
    strategies = list(all_of(graph, Strategy))
    training = any(map(trains, profile.ranks))
    network = CauseNetwork.of([*patterns, *all_of(graph, Cause)], _outcomes(graph, strategies))
    run = ProfiledRun.of(
        profile,
        hardware_names(
            profile, "" if present is None else present.hardware, strategies, HardwareTree(graph).path
        ),
        all_of(graph, Framework),
        broader=network.broader,
        is_training=training,
        model=kinds_of(
            from_graph(graph, Model, present.model) if present is not None and present.model else None
        ),
    )
    phases = {"training"} if training else _FORWARD if is_forward_only(profile) else frozenset[str]()
    if phases:
        strategies = [s for s in strategies if not s.phases or {*phases, "kernel"} & set(s.phases)]
    limits = allowed or Allowed()
    strategies = [item for item in strategies if limits.lets(item)]
    found = diagnose(
        profile,
        network,
        Thresholds.of(patterns),
        least=least,
        before=before,
        usual=usual,
        device={} if present is None else present.tree.facts(present.hardware),
    )
    effects, vendor = list(all_of(graph, Effect)), vendor_of(profile)
    return DiagnosisAnswer(
        diagnosis=found,
        remedies=tuple(remedies_for(item, strategies, effects, run) for item in found.findings),
        cases=_cases(
            found,
            [item for item in strategies if not run.is_foreign(item)],
            [gain for gain in gains if _is_of_vendor(gain, vendor, present)],
            present,
        ),
        profile=profile,
        before=before,
    )


def keep_in_job(graph: GraphStore, answer: DiagnosisAnswer, folder: Path, job: str) -> None:
    """Add a diagnosed run to those that the next run of a job is set beside."""
    found = answer.diagnosis
    evidence = evidence_by_rank(list(found.views), Thresholds.of(all_of(graph, Bottleneck)))
    keep_run(folder, job, found.views, found.ledger, evidence)


def _require_one_vendor(profile: Profile) -> None:
    """Refuse recordings of several vendors' devices: they are of several jobs."""
    vendors: dict[str, str] = {}
    for rank in profile.ranks:
        if rank.kernels is not None and (vendor := vendor_of(replace(profile, ranks=(rank,)))):
            vendors.setdefault(vendor, rank.folder if rank.folder != "." else rank.kernels.file)
    if len(vendors) > 1:
        named = ", ".join(f"{vendor} ({place})" for vendor, place in sorted(vendors.items()))
        raise InputError(
            f"{profile.path} holds profiles of several vendors: {named}", hint="name the one to diagnose"
        )


def _require_device(profile: Profile) -> None:
    """Refuse a profile of the host alone: that nothing costs time there says nothing of the device."""
    if any(
        (rank.kernels is not None and rank.kernels.duration_us.any())
        or any(step.step_us > 0 for step in rank.steps)
        or rank.collectives
        or rank.links
        or rank.layout == SNAPSHOT
        for rank in profile.ranks
    ):
        return
    broken = next(
        (note for rank in profile.ranks for note in (*profile.notes, *rank.notes) if "read up to" in note), ""
    )
    raise MissingFactError(
        f"{profile.path}: no activity of a device was recorded" + (f" ({broken})" if broken else ""),
        hint="profile with activities=[CPU, NPU] (CUDA on GPUs); other devices are not read",
    )


def profile_at(place: Path | Profile) -> Profile:
    """A profile, read where its path is given.

    Raises:
        InputError: The path is none.
    """
    from ingest.profiles.folders import read_profile

    return read_profile(place) if isinstance(place, Path) else place


def present_of(
    graph: GraphStore, names: Names, tree: HardwareTree, profile: Profile, hardware: str, model: str
) -> Present:
    """The model and hardware of a run, as stated, else as far as the profile tells; for matching cases.

    Raises:
        UnknownEntityError: No such hardware or model is known.
    """

    def family_of(name: str) -> str:
        try:
            return from_graph(graph, Model, name).family
        except UnknownEntityError:
            return ""

    if hardware:
        place = names.hardware(hardware).id
    else:
        place = _reported_hardware(names, next((rank.device for rank in profile.ranks if rank.device), ""))
    return Present(
        tree=tree, hardware=place, model=names.model(model).id if model else "", family_of=family_of
    )


def _reported_hardware(names: Names, device: str) -> str:
    """The hardware that a profile names; empty if unknown.

    Of a board that is not known by itself the part before its number: ``NVIDIA A100-PG509-200`` is an A100.
    """
    text = device
    while text:
        place, is_known = names.hardware_or_slug(text)
        if is_known:
            return place
        text = text.rpartition("-")[0]
    return ""


def _is_of_vendor(gain: RowGain, vendor: str, present: Present | None) -> bool:
    """Return whether a case was seen on hardware of the run's vendor; yes where either is unknown."""
    path = () if present is None or not gain.hardware else present.tree.path(gain.hardware)
    return not vendor or not path or path[-1] == vendor


def _cases(
    found: Diagnosis, strategies: Sequence[Strategy], gains: Iterable[RowGain], present: Present | None
) -> tuple[tuple[PastCase, ...], ...]:
    """Against the cause first, then against what it brings on; of strategies that may be used."""
    usable = {item.id for item in strategies}
    known = [gain for gain in gains if gain.strategy in usable] if found.findings else []
    if present is None:
        return tuple(() for _ in found.findings)
    return tuple(
        tuple(past_cases(known, tuple(reversed(item.cause.chain)), present)) for item in found.findings
    )


def _outcomes(graph: GraphStore, strategies: Iterable[Strategy]) -> dict[tuple[str, str], tuple[int, int]]:
    """Count, by edge from a cause to a bottleneck, how often a strategy against the one helped the other.

    An A/B test that named its strategy and its bottleneck says so: better counts for the edge, equivalent and
    worse against it.
    """
    targets = {s.id: {relation.target for relation in s.mitigates if relation.target} for s in strategies}
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for outcome in all_of(graph, Outcome):
        if not outcome.bottleneck or outcome.verdict == "undecided":
            continue
        for cause in targets.get(outcome.strategy, ()):
            helped, not_helped = found.get((cause, outcome.bottleneck), (0, 0))
            is_better = outcome.verdict == "better"
            found[cause, outcome.bottleneck] = (helped + is_better, not_helped + (not is_better))
    return found
