"""Folders of cases as workspaces, so that a benchmark asks what answers users."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness import Run
from ingest.reading import read
from kg.nouns.entities import Case, Problem
from kg.rows.trials import TrialStore
from kg.triples.hardware_tree import HardwareTree
from recommender.workspace.workspace import Workspace

_BATCH = 20_000


@dataclass
class World:
    """One folder of cases, in a workspace of its own beside the shipped knowledge.

    Attributes:
        folder: Where the workspace is.
        problems: Its problems by key; shipped cases are not among them.
        corpora: Corpus (file) of each problem.
    """

    folder: Path
    problems: dict[int, Problem] = field(default_factory=dict)
    corpora: dict[int, str] = field(default_factory=dict)
    _open: dict[int, Workspace] = field(default_factory=dict)

    @property
    def workspace(self) -> Workspace:
        """The workspace, opened once in each process: what a fork inherits is not used."""
        process = os.getpid()
        if process not in self._open:
            self._open[process] = Workspace.open(self.folder / "workspace", cache=self.folder / "cache")
        return self._open[process]

    @property
    def trials(self) -> TrialStore:
        """The measured trials."""
        return self.workspace.trials

    @property
    def hardware(self) -> HardwareTree:
        """Facts and distances of hardware."""
        return self.workspace.hardware

    @cached_property
    def families(self) -> Mapping[tuple[str, str, str], list[int]]:
        """Keys by corpus, operator and metric."""
        found: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        for key, problem in self.problems.items():
            found[self.corpora[key], problem.workload.operator, problem.objective.metric].append(key)
        return dict(found)


def sampled(name: str, share: float) -> bool:
    """True if a deterministic sample of this share holds ``name``."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) < share * 2**32


def load_both(run: Run, folder: Path, share_of: Callable[[Path], Mapping[str, float]]) -> tuple[World, World]:
    """The known and the asked world of a run: one world twice where they are one folder."""
    salt = "" if run.all else f"{run.seed} "
    known = load(run.known, folder / "known", share_of(run.known), salt)
    if run.is_one_folder:
        return known, known
    return known, load(run.asked, folder / "asked", share_of(run.asked), salt)


@contextmanager
def fresh_workspace() -> Iterator[Workspace]:
    """A new workspace of what ships, gone afterwards."""
    with TemporaryDirectory() as folder:
        place, cache = Path(folder) / "workspace", Path(folder) / "cache"
        Workspace.create(place, cache=cache, text_model=None)
        with Workspace.open(place, cache=cache) as opened:
            yield opened


def load(source: Path, folder: Path, share_of: Mapping[str, float], salt: str = "") -> World:
    """Take a folder of cases into a new workspace under ``folder``.

    Args:
        source: Folder of cases, or one file of them.
        folder: Where the workspace goes.
        share_of: Share of tasks to keep by corpus; "*" for the others; 0 leaves the file out.
        salt: Another one keeps other tasks.
    """
    folder.mkdir(parents=True)
    place, cache = folder / "workspace", folder / "cache"
    Workspace.create(place, cache=cache, text_model=None)
    corpora: dict[str, str] = {}
    problems: dict[str, Problem] = {}
    with Workspace.open(place, cache=cache) as opened, opened.edit(command="benchmark") as editor:
        for path in sorted(source.iterdir()) if source.is_dir() else [source]:
            corpus = path.name.split(".")[0]
            share = share_of.get(corpus, share_of.get("*", 1.0))
            if not share or path.suffix not in {".gz", ".jsonl", ".json"}:
                continue
            for cases in _batches(path, opened, share, salt):
                editor.add_cases(cases)
                for case in cases:
                    if case.problem.id not in problems:
                        problems[case.problem.id] = case.problem
                        corpora[case.problem.id] = corpus
    world = World(folder)
    for name, problem in problems.items():
        key = world.trials.problem_key(name)
        if key is not None:
            world.problems[key], world.corpora[key] = problem, corpora[name]
    return world


def _batches(path: Path, workspace: Workspace, share: float, salt: str) -> Iterator[list[Case]]:
    waiting: list[Case] = []
    kept: dict[str, bool] = {}
    for item in read([path], workspace.names):
        if not isinstance(item, Case):
            continue
        task = item.problem.task_id
        if task not in kept:
            kept[task] = share >= 1 or sampled(salt + task, share)
        if kept[task]:
            waiting.append(item)
        if len(waiting) >= _BATCH:
            yield waiting
            waiting = []
    if waiting:
        yield waiting
