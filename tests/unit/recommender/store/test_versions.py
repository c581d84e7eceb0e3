"""Versions: steps are saved, told apart, gone back to; evidence stays; sources that lie are found out."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ingest.knowledge.files import Noun
from kg.errors import InputError, UnknownEntityError, WorkspaceError
from kg.nouns.effects import Effect
from kg.nouns.entities import (
    Baseline,
    Better,
    Case,
    Hardware,
    Kind,
    Measurement,
    Objective,
    Problem,
    Source,
    Status,
    Trust,
    Workload,
    WorkloadKind,
)
from kg.nouns.knowledge import (
    Assignment,
    HardwareProfile,
    Level,
    Model,
    ModelFamily,
    Relation,
    Strategy,
)
from kg.nouns.values import Settings
from kg.triples.serialisation import all_of
from recommender.experiment.concluding import Conclusion
from recommender.files import LearnedFiles
from recommender.store.evolution_step import EvolutionStep
from recommender.store.versions import learned_then
from recommender.workspace.workspace import Workspace
from tests.samples.conclusions import outcome_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MANUAL = Source(title="Manual")
CHIP = HardwareProfile(id="chip", labels={"en": "Chip"}, level=Level.DEVICE, broader="acme")


def strategy(identifier: str, **sets: object) -> Strategy:
    return Strategy(
        id=identifier,
        labels={"en": identifier},
        kind="documented",
        phases=("training",),
        hardware=("acme",),
        sets=tuple(
            Assignment(parameter=name, value=value, software="torch")  # type: ignore[arg-type]
            for name, value in sets.items()
        ),
        sources=(MANUAL,),
    )


NOUNS: tuple[Noun, ...] = (
    HardwareProfile(id="acme", labels={"en": "Acme"}, level=Level.VENDOR),
    CHIP,
    HardwareProfile(id="sister", labels={"en": "Sister"}, level=Level.DEVICE, broader="acme"),
    ModelFamily(id="bert", labels={"en": "BERT"}),
    Model(id="bert-x", labels={"en": "BERT X"}, family="bert", architecture="encoder"),
    *(strategy(name, **{name: True}) for name in ("overlap", "fuse", "pack", "swap", "pin")),
    strategy("bucket-8", bucket=8),
    strategy("bucket-64", bucket=64),
)


def problem(length: int = 128, hardware: str = "chip") -> Problem:
    return Problem(
        workload=Workload(
            kind=WorkloadKind.TRAINING, operator="train", model="bert-x", shape=Settings({"seq_len": length})
        ),
        hardware=Hardware(name=hardware, count=8),
        objective=Objective(metric="throughput", better=Better.HIGHER, unit="1/s"),
    )


def case(name: str, gain: float, source: Source, length: int = 128, hardware: str = "chip") -> Case:
    return Case(
        problem=problem(length, hardware),
        configuration=Settings({name: True}),
        measurement=Measurement(
            metric="throughput", unit="1/s", value=100 * 2.718281828459045**gain, repeats=9
        ),
        kind=Kind.MEASURED,
        source=source,
        baseline=Baseline(value=100.0),
        strategy=name,
    )


def conclusion(number: int, name: str, gain: float, verdict: str) -> Conclusion:
    source = Source(title=f"A/B {number}")
    told = case(name, gain, source, 128 + number)
    outcome = outcome_of(told, f"o{number}", NOW + timedelta(hours=number))
    return Conclusion(case=told, outcome=replace(outcome, verdict=verdict, gain=gain, strategy=name))


@pytest.fixture
def path(empty_path: Path) -> Path:
    """A workspace with strategies that several honest sources have measured."""
    with Workspace.editor(empty_path, cache=empty_path.parent / "cache") as editor:
        editor.add_knowledge(list(NOUNS))
        for number in range(4):
            source = Source(title=f"honest {number}")
            gains = {
                "overlap": 0.10,
                "fuse": 0.08,
                "pack": 0.06,
                "swap": -0.05,
                "bucket-8": 0.03,
                "bucket-64": 0.04,
            }
            cases = [
                case(name, gain + 0.01 * number, source, 128 * (number + 1)) for name, gain in gains.items()
            ]
            editor.add_cases(cases)
    return empty_path


def step(path: Path, name: str = "", most: int = 5, hours: int = 0) -> EvolutionStep:
    with Workspace.editor(path, cache=path.parent / "cache") as editor:
        return editor.evolve(NOW + timedelta(hours=hours), name=name, most=most)


def opened(path: Path) -> Workspace:
    return Workspace.open(path, cache=path.parent / "cache")


def test_a_step_proposes_from_what_gains_and_is_saved_with_its_reasons(path: Path) -> None:
    taken = step(path)
    origins = {item.origin for item in taken.evolved.hypotheses}
    assert origins == {"recombination", "between values"}
    [middle] = [item for item in taken.evolved.hypotheses if item.origin == "between values"]
    assert middle.strategy.configuration == Settings({"bucket": 16})
    for item in taken.evolved.hypotheses:
        assert "swap" not in item.strategy.parents  # it loses
        assert item.value > 0
        assert any(item.strategy.id in line for line in taken.version.changelog)
    with opened(path) as workspace:
        kinds = {item.id: item.kind for item in all_of(workspace.graph, Strategy)}
        assert {kinds[item.strategy.id] for item in taken.evolved.hypotheses} == {"hypothesis"}
        assert workspace.knowledge.validate() == []
        assert [item.name for item in workspace.knowledge.lineage.versions()] == ["v0", "v1"]
        answer = workspace.recommend(problem(), k=20)
        assert not {item.strategy for item in answer} & set(kinds_of(kinds, "hypothesis"))
        changed = workspace.knowledge.lineage.diff("v0", "v1")
        assert {f"strategy/{item.strategy.id}" for item in taken.evolved.hypotheses} <= {
            item.about for item in changed
        }
        assert workspace.knowledge.lineage.diff("v0") == changed
        assert workspace.knowledge.lineage.diff("v1") == workspace.knowledge.lineage.diff("now") == []
    again = step(path, hours=1)
    assert not {item.strategy.id for item in again.evolved.hypotheses} & {
        item.strategy.id for item in taken.evolved.hypotheses
    }


def kinds_of(kinds: dict[str, str], wanted: str) -> list[str]:
    return [name for name, kind in kinds.items() if kind == wanted]


def test_the_same_graph_takes_the_same_step(path: Path) -> None:
    with opened(path) as workspace:
        first, second = (
            workspace.knowledge.lineage.next_step(most=5),
            workspace.knowledge.lineage.next_step(most=5),
        )
    assert first == second


def test_a_hypothesis_is_tested_confirmed_and_refuted(path: Path) -> None:
    taken = step(path)
    good, bad = [item.strategy for item in taken.evolved.hypotheses[:2]]
    with opened(path) as workspace:
        assert not {good.id, bad.id} & {item.strategy for item in workspace.recommend(problem(), k=20)}
    with Workspace.editor(path, cache=path.parent / "cache") as editor:
        editor.add_outcomes([conclusion(1, good.id, 0.2, "better"), conclusion(2, bad.id, -0.1, "worse")])
    judged = step(path, most=0, hours=2)
    assert {item.id: item.kind for item in judged.evolved.strategies} == {
        good.id: "confirmed",
        bad.id: "refuted",
    }
    assert any(line.startswith("refuted") and "A/B 2" in line for line in judged.version.changelog)
    with opened(path) as workspace:
        offered = {item.strategy for item in workspace.recommend(problem(), k=20)}
        assert good.id in offered
        assert bad.id not in offered
    with Workspace.editor(path, cache=path.parent / "cache") as editor:  # later tests may turn it round
        editor.add_outcomes([conclusion(number, bad.id, 0.2, "better") for number in (3, 4)])
    assert {item.id: item.kind for item in step(path, most=0, hours=5).evolved.strategies} == {
        bad.id: "confirmed"
    }


def test_a_source_that_lies_is_distrusted_and_going_back_trusts_it_again(path: Path) -> None:
    liar = Source(title="liar")
    with Workspace.editor(path, cache=path.parent / "cache") as editor:
        editor.add_cases(
            [case(name, -0.9, liar, 128 * n) for n in range(1, 5) for name in ("overlap", "fuse", "pack")]
        )
    with opened(path) as workspace:
        means = {item.strategy: item.mean for item in all_of(workspace.graph, Effect)}
        assert all((means[name] or 0) < 0 for name in ("overlap", "fuse", "pack"))
        poisoned = {item.strategy: item.gain for item in workspace.recommend(problem(), k=20)}
        effects = sorted(all_of(workspace.graph, Effect), key=repr)
    taken = step(path, most=0)
    assert taken.evolved.trusts == {liar.id: Trust.LOW}
    with opened(path) as workspace:
        healed = {item.strategy: item.gain for item in workspace.recommend(problem(), k=20)}
        for name in ("overlap", "fuse", "pack"):
            before, after = poisoned[name], healed[name]
            assert before is not None
            assert after is not None
            assert before.expected > 0  # beside honest ones the liar has one vote, however often it speaks
            assert after.expected > 0
        assert workspace.knowledge.validate() == []
        assert [source.trust for source in all_of(workspace.graph, Source) if source.title == "liar"] == [
            "low"
        ]
    with Workspace.editor(path, cache=path.parent / "cache") as editor:
        saved = editor.revert(NOW + timedelta(hours=9), "v0")
    assert (saved.name, saved.changelog) == ("v2", ("went back to v0",))
    with opened(path) as workspace:
        assert sorted(all_of(workspace.graph, Effect), key=repr) == effects
        assert workspace.trials.trust_of(liar.id) is Trust.MEDIUM
        assert workspace.knowledge.lineage.diff("v0", "now") == []
        assert not workspace.snapshot.learned.components.exists()


def test_new_hardware_is_ranked_from_its_kin(path: Path) -> None:
    step(path, most=0)
    with Workspace.editor(path, cache=path.parent / "cache") as editor:
        editor.add_knowledge([replace(CHIP, id="next-chip", labels={"en": "Next"})])
    changelog = step(path, most=0, hours=1).version.changelog
    assert [line.partition(":")[0] for line in changelog if "is new" in line] == ["next-chip is new"]
    assert any("overlap" in line for line in changelog if "is new" in line)


def test_conflicts_that_tests_found_survive_a_step(path: Path) -> None:
    failed = conclusion(7, "overlap", 0.1, "worse")
    control = Settings({"pin": True})
    outcome = replace(
        failed.outcome, control=control, configuration=Settings({"pin": True, "overlap": True}), pairs=0,
        failures=8, gain=None,
    )  # fmt: skip
    measurement = replace(
        failed.case.measurement, value=None, unit=None, repeats=None, status=Status.FAILED, reason="crash"
    )
    told = Conclusion(
        case=replace(
            failed.case, configuration=outcome.configuration, measurement=measurement, baseline=None
        ),
        outcome=outcome,
    )
    with Workspace.editor(path, cache=path.parent / "cache") as editor:
        editor.add_outcomes([told, conclusion(8, "overlap", 0.1, "better")])
    with opened(path) as workspace:
        [overlap] = [item for item in all_of(workspace.graph, Strategy) if item.id == "overlap"]
        assert overlap.conflicts_with == (Relation(target="pin", source=outcome.source),)
        asked = replace(problem(), current=Settings({"pin": True}))
        assert "overlap" not in {item.strategy for item in workspace.recommend(asked, k=20)}
        assert "overlap" in {item.strategy for item in workspace.recommend(problem(), k=20)}


def test_names_that_are_none_taken_or_unknown_change_nothing(path: Path) -> None:
    step(path, most=0)
    for name in ("v1", "now", "../up", " "):
        with pytest.raises(InputError):
            step(path, name=name)
    with Workspace.editor(path, cache=path.parent / "cache") as editor:
        for name in ("v9", "../v1", ""):
            with pytest.raises(UnknownEntityError):
                editor.revert(NOW, name)
    with opened(path) as workspace:
        assert [item.name for item in workspace.knowledge.lineage.versions()] == ["v0", "v1"]


def test_a_damaged_version_is_told_and_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step(path, most=0)
    with opened(path) as workspace:
        folder, batch = workspace.layout.versions / "v0", workspace.snapshot.batch
    (folder / "knowledge.nt.gz").write_bytes(b"\x1f\x8b broken")
    with (
        Workspace.editor(path, cache=path.parent / "cache") as editor,
        pytest.raises(WorkspaceError, match="damaged"),
    ):
        editor.revert(NOW, "v0")
    (folder / "version.json").write_text(json.dumps({"time": 1}))
    with opened(path) as workspace:
        assert workspace.snapshot.batch == batch
        with pytest.raises(WorkspaceError, match="damaged"):
            workspace.knowledge.lineage.versions()
        monkeypatch.setattr(LearnedFiles, "contents", lambda _: (folder / "none").read_bytes())
        with pytest.raises(WorkspaceError, match="v0 had learned cannot be read"):
            learned_then(workspace.layout, "v0")
