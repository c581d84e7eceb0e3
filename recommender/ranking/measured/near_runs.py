"""The finder of measured runs near a question: of its network, the same device and like lengths first."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from kg.nouns.entities import Better, Limit, Objective, Problem, Trust
from kg.rows.trial_rows import ProblemRow, Trial
from kg.rows.trials import TrialStore
from kg.terms.circumstances import sizes_of_shape
from kg.triples.finders import ModelFinder, families_of_models
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from recommender.cost_model.anchors import MeasuredStep, shipped_anchors
from recommender.cost_model.estimate import class_spread, step_key
from recommender.cost_model.facts.device import Device
from recommender.cost_model.measured.correction import RunCorrection, SiteLevel
from recommender.cost_model.measured.step_place import lengths_of
from recommender.cost_model.question import Question
from recommender.ranking.measured.exact_runs import AskedWork, ExactRun, exact_runs, within
from recommender.ranking.measured.measured_run import MeasuredRun
from recommender.ranking.measured.runs import RunReader
from recommender.ranking.model_traits import ModelTraits, is_same_network

MOST_PROBLEMS = 16
"""Known problems whose runs are priced: each costs some milliseconds."""
OF_WHOLE_STEPS = frozenset({"throughput", "decode_throughput", "step_time", "tpot"})
"""Metrics of measured runs that say how long whole steps take; the time to a first token has queues in it."""


class NearRuns:
    """Finds measured runs near questions in one state of a workspace.

    Args:
        trials: Has the cases.
        graph: Has their problems and the models.
        tree: Knows hardware.
        own: Steps of whoever asks that move answers about other models.
    """

    def __init__(
        self, trials: TrialStore, graph: GraphStore, tree: HardwareTree, own: Sequence[MeasuredStep] = ()
    ) -> None:
        self._moved = shipped_anchors().with_own(own) if own else shipped_anchors()
        self._own = own
        self._reader = RunReader(trials, graph, tree)
        self._trials = trials
        self._graph = graph
        self._tree = tree
        self._models = ModelFinder(graph)
        self._networks: dict[str, Collection[str]] = {}

    def about(self, question: Question) -> Question:
        """The question with what measured runs near by make of its prices."""
        return self.corrected(question, self.near(question))

    def corrected(self, question: Question, runs: tuple[MeasuredRun, ...]) -> Question:
        """The question with what runs of its network make of its prices, and own runs of other models."""
        return replace(question, measured=RunCorrection(runs=runs, level=self._level(question)))

    def _level(self, question: Question) -> SiteLevel | None:
        """The correction of other models' prices by own runs with this engine or device; None without any."""
        if not self._moved.site:
            return None
        model, machine, phase = question.model, question.machine, question.phase
        key = step_key(model, machine, phase, engine=question.engine)
        network = self._network(model.id)
        of_others = (
            step for step in self._own if step.key.phase == key.phase and step.key.model not in network
        )
        if not any(step.key.device == key.device or step.key.engine == key.engine for step in of_others):
            return None
        others = tuple(
            step for step in self._moved.steps if not (step.key.site and step.key.model in network)
        )
        moved = self._moved if len(others) == len(self._moved.steps) else replace(self._moved, steps=others)
        usual, spread = shipped_anchors().correction(key), class_spread(model, machine, phase, key.engine)
        known = moved.correction(key, spread)
        if known is None:
            return None
        before = (usual.log_factor, usual.spread) if usual else (0.0, spread)
        return SiteLevel(
            log_factor=known.log_factor - before[0],
            spread=min(known.spread, before[1]),
            basis=known.basis,
            usual=before[1],
        )

    def near(self, question: Question) -> tuple[MeasuredRun, ...]:
        """The runs of the same network, of ``MOST_PROBLEMS`` problems at most."""
        lengths = lengths_of(question.phase, question.settings)

        def apart(row: ProblemRow) -> tuple[float, str]:
            problem = self._reader.problem(row)
            shape = problem.workload.shape if problem else {}
            doublings = zip(lengths_of(question.phase, shape), lengths, strict=True)
            return sum(abs(one - other) for one, other in doublings), row.id

        on_device: dict[str, list[ProblemRow]] = {}
        for name in sorted(self._network(question.model.id)):
            for row in self._known[name]:
                on_device.setdefault(row.hardware, []).append(row)
        if question.machine.device.arrayed:  # what is off on cores says nothing of matrix arrays
            kept = {id_ for id_ in on_device if Device(id_, self._tree.facts(id_)).arrayed}
            on_device = {id_: rows for id_, rows in on_device.items() if id_ in kept}
        at_distance: dict[int, list[ProblemRow]] = {}
        for hardware, rows in on_device.items():
            distance = int(self._tree.distance(question.machine.device.id, hardware))
            at_distance.setdefault(distance, []).extend(rows)
        nearest: list[ProblemRow] = []
        for distance in sorted(at_distance):
            nearest += sorted(at_distance[distance], key=apart)  # reads their problems
            if len(nearest) >= MOST_PROBLEMS:
                break
        return tuple(self._reader.runs(nearest[:MOST_PROBLEMS], question.phase))

    def exactly(self, work: AskedWork, objective: Objective, limits: Sequence[Limit] = ()) -> list[ExactRun]:
        """The configurations measured on exactly a question and within its limits, best first."""
        found = exact_runs(self._known.get(work.model, ()), self._reader, work, objective)
        if not found or not limits:
            return found
        limited = {}
        for metric in {limit.metric for limit in limits}:
            rows = self._trials.summary(self._trials.keys_of_models({metric}))
            of_model = (row for row in rows if row.model == work.model)
            bounded = Objective(metric=metric, better=Better.LOWER)
            limited[metric] = exact_runs(of_model, self._reader, work, bounded)
        return within(found, limits, limited)

    def lengths(self, problem: Problem) -> Mapping[str, float]:
        """The lengths that most own runs of the model on the device had; empty where there are none."""
        counted = Counter[tuple[tuple[str, float], ...]]()
        for known, trials in self._own_runs(problem):
            shape = sizes_of_shape(known.workload.shape)
            sizes = [
                (name, shape[name]) for name in ("input_len", "output_len", "seq_len") if shape.get(name)
            ]
            if sizes:
                counted[tuple(sizes)] += len(trials)
        return dict(counted.most_common(1)[0][0]) if counted else {}

    def program(self, problem: Problem) -> str:
        """The program of most own runs of the model on the device; empty where there are none."""
        ran = ((known, trial) for known, trials in self._own_runs(problem) for trial in trials)
        counted = Counter(self._reader.engine(known, trial) for known, trial in ran)
        return counted.most_common(1)[0][0] if counted else ""

    def _own_runs(self, problem: Problem) -> Iterator[tuple[Problem, list[Trial]]]:
        """Known problems of the model on the device, with the cases whose source has no published address."""
        for row in self._known.get(problem.workload.model or "", ()):
            known = self._reader.problem(row) if row.hardware == problem.hardware.name else None
            if known is None or known.workload.kind is not problem.workload.kind or row.trust is Trust.LOW:
                continue
            trials = self._reader.trials(row)
            if own := [one for one in trials if "://" not in self._reader.source(one.source_id)]:
                yield known, own

    def own_steps(self) -> list[MeasuredStep]:
        """The runs of whoever asks beside their physics: those whose source has no published address."""
        return self._reader.own_steps(row for rows in self._known.values() for row in rows)

    @cached_property
    def _known(self) -> dict[str, list[ProblemRow]]:
        """Problems of whole steps by the id of their model."""
        found: dict[str, list[ProblemRow]] = {}
        for row in self._trials.summary(self._trials.keys_of_models(OF_WHOLE_STEPS)):
            if row.model:
                found.setdefault(row.model, []).append(row)
        return found

    @cached_property
    def _families(self) -> dict[str, str]:
        return families_of_models(self._graph)

    def _network(self, name: str) -> Collection[str]:
        """The models with cases that differ from a model in what they learned alone, itself among them."""
        if name not in self._networks:
            asked, family = ModelTraits.of(self._models.find(name), name), self._families.get(name)
            self._networks[name] = {
                other
                for other in self._known
                if other == name
                or (
                    family is not None
                    and self._families.get(other) == family
                    and is_same_network(asked, ModelTraits.of(self._models.find(other), other))
                )
            }
        return self._networks[name]
