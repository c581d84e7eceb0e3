"""The JSON of nouns as it was recorded: programs read it, and older logs hold it."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.formats.meters.table import Knowledge
from kg.errors import InputError
from kg.nouns.effects import Context
from kg.nouns.entities import Better, Status
from kg.nouns.gain import Gain
from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.situation import FactOrigin, StatedFact
from kg.nouns.values import Settings
from kg.triples.knowledge_content import Difference
from recommender.answers.answer import Abstention
from recommender.answers.benefit import Benefit, Expected
from recommender.answers.explanation.summary import ExplanationSummary
from recommender.calibration.design import DesignColumns
from recommender.cost_model.measured.step_place import PricedRun, StepPlace
from recommender.cost_model.question import QuestionFacts
from recommender.diagnosis.next_measurement import NextMeasurement
from recommender.diagnosis.pressures import Move
from recommender.diagnosis.serving import ServingLoad
from recommender.experiment.comparison import ArmComparison, ArmFailures, Guarded, GuardState
from recommender.experiment.design import CONTROL, ExperimentDesign, Guard
from recommender.experiment.impact import Saving
from recommender.experiment.journal import read
from recommender.experiment.metadata import ExperimentMetadata, ExperimentSubject, Runs
from recommender.experiment.samples import Sample
from recommender.experiment.verdict import Interval, Verdict
from recommender.green.power_curve import PowerStep
from recommender.green.statement import CarbonStatement, StatementLine
from recommender.measuring.readings import OutputReading
from recommender.ranking.change import Change, NotHere, SourceInfluence, Support
from recommender.ranking.combination import Combination
from recommender.ranking.deployments.deployment import Deployment
from recommender.ranking.feasibility.feasibility import Refusal
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.start import ExpectedValue, StartConfiguration
from recommender.report.document import ReportDocument, ReportPart
from recommender.search.log.metadata import ProgramStamp, SearchMetadata
from recommender.search.logged_search import WorkerShare
from recommender.store.merging import Conflict, MergeResult
from recommender.store.versions import Version
from recommender.store.writing.writer import Additions

GOLDEN = Path(__file__).parent.parent / "golden" / "json_forms.json"
LOG = GOLDEN.with_name("experiment.jsonl")
GAIN = Gain(expected=0.1234567, low=-0.01, high=0.3)
SETTING = PlanSetting(
    where=SettingPlace.FLAG, key="--block-size", value=(128, "a"), origin=Origin.RECIPE, agreement=0.66666
)
SUPPORT = Support(kind="measured", says="as measured", weight=0.333333, problem="p1")
LAYOUT = ParallelLayout(tp=4, dp=2)
INTERVAL = Interval(mean=0.05, low=-float("inf"), high=0.25, p=0.5, pairs=12)
READING = OutputReading(metric="step_time", better=Better.LOWER, unit="s", path="t")
NOUNS: Mapping[str, Any] = {
    "context": Context(hardware="ascend-910b3", against=Settings({"tp": 2}), facts=Settings({"batch": 8})),
    "gain": GAIN,
    "layout": LAYOUT,
    "fact": StatedFact(name="batch", value=8, origin=FactOrigin.TOLD, words="batch 8", otherwise="4"),
    "difference": Difference(about="x", gone=("a",), come=()),
    "abstention": Abstention(reason="far", regret=0.123456, measure=("one", "two")),
    "benefit": Benefit(
        id="",
        title="t",
        gain=Expected(factor=1.23456, low=1.0, high=2.0, kind="modelled", reason="r"),
        memory=None,
        energy=None,
        carbon_g=(1.0, 0.5, 2.0),
        rests_on=("a",),
    ),
    "summary": ExplanationSummary(why=("a",), next=(), rests=("b", "c"), change=()),
    "next measurement": NextMeasurement(how="h", tells="t", open_us=1.23456, share=0.123456),
    "move": Move(key="--gpu-memory-utilization", to="0.95", condition="memory is free"),
    "serving load": ServingLoad(
        engine="vllm", samples=3, means={"kv": 0.12345678}, peaks={"kv": 1.0}, short_share=0.33333, limit=None
    ),
    "guard": Guarded(
        guard=Guard.parse("peak_memory<=+5%"), state=GuardState.OPEN, worse=0.01, low=-float("inf"), high=0.2
    ),
    "comparison": ArmComparison(
        arm="treatment",
        interval=INTERVAL,
        guards=(),
        failures=ArmFailures(treatment=1, p=0.5, verdict=Verdict.UNDECIDED),
        verdict=Verdict.UNDECIDED,
        reason="too few",
        is_settled=False,
    ),
    "saving": Saving(name="energy", unit="kWh", now=10.0, expected=1.0, low=-float("inf"), high=2.0),
    "power step": PowerStep(clock=0.87654, time=1.05, power=0.7, energy=0.735),
    "statement line": CarbonStatement(
        title="run",
        made_at=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        lines=(
            StatementLine(
                part="npu 0", kind=Knowledge.MEASURED, energy_kwh=1.23456789, carbon_g=None, g_per_kwh=33.333, basis="b"
            ),
        ),
        pue=None,
        notes=(),
    ),
    "combination": Combination(ids=("a", "b"), gain=GAIN, ceiling=0.5, kinds={"a": "b"}),
    "deployment": Deployment(framework="vllm", layout=LAYOUT, concurrency=8.0),
    "refusal": Refusal(configuration=Settings({"tp": 3}), rule="heads", reason="3", source="s", is_certain=False),
    "not here": NotHere(strategy="s", because="b"),
    "support": SUPPORT,
    "influence": SourceInfluence(source="s", gain=GAIN, moved=0.123456789),
    "recommendation": Change(
        id="abc",
        title="t",
        configuration=Settings({"a": 1}),
        flags=("a=1",),
        gain=GAIN,
        against="the default",
        basis="cases",
        ceiling=0.3,
        parts={"x": 0.12345678},
        evidence=(SUPPORT,),
    ),
    "plan change": Change(id="abc", title="t", strategy="s", settings=(SETTING,), gain=GAIN, evidence=(SUPPORT,)).plan_json(),
    "start": StartConfiguration(
        framework="vllm",
        version="0.11.0",
        layout=LAYOUT,
        fits=True,
        settings=(SETTING,),
        expected=(
            ExpectedValue(metric="throughput", unit="tokens/s", value=1234.5678, low=1.0, high=2e5, tier="modelled"),
        ),
        because=("r",),
        id="abc",
        recipes=("one",),
    ),
    "worker": WorkerShare(evaluated=1, requeued=0, dropped=0, evaluations=2, stop_reason="budget"),
    "merge": MergeResult(
        label="l",
        dry_run=False,
        added=Additions(rows=1),
        knowledge=(),
        effects=0,
        conflicts=(Conflict(about="a", ours="o", theirs="t"),),
        conflict_count=1,
    ),
    "version": Version(name="v1", time="t", batch=2, since=1, hardware=frozenset({"a"}), changelog=("c",)),
}  # fmt: skip
READ: Mapping[str, Any] = {
    "design columns": DesignColumns(
        dimensions=("a",), task_words=("b", "c"), parameters=(), parameter_words=("d",)
    ),
    "priced run": PricedRun(
        place=StepPlace(
            engine="vllm", device="d", precision="bf16", lengths=(1.0, 2.0), layout=(4.0, 1.0), load=0.5
        ),
        group="g",
        log_ratio=-0.1,
    ),
    "question facts": QuestionFacts(
        model="qwen3-8b", sizes={"layers": 36}, device="ascend-910b3", device_facts={"tflops": 1.5, "a": "b"}
    ),
    "design": ExperimentDesign(
        metric="step_time",
        better=Better.LOWER,
        unit="s",
        arms={CONTROL: Settings({"a": 1}), "treatment": Settings({"a": [1, 2]})},
        guards=(Guard.parse("peak_memory<=+5%"),),
        budget_s=60,
        inputs=(Settings({"M": 1024}),),
        seed=7,
    ),
    "sample": Sample(
        session=0,
        round=1,
        slot=0,
        arm="treatment",
        runs=(({"step_time": 0.5, "peak_memory": 3}, {"step_time": 1.0}), ()),
        status=Status.FAILED,
        reason="killed",
        cost_s=1.23456789,
        at_s=2.0,
        time="2026-01-02T03:04:05+00:00",
        of=3,
        is_warmup=True,
    ),
    "runs": Runs(command=("python", "x.py"), readings=(READING,), folder=Path("/tmp"), environment={"A": "1"}),
    "runs of a shell": Runs(command="x {a}", readings=(), folder=Path(), options={"treatment": "--fast"}),
    "tried": ExperimentMetadata(
        subject=ExperimentSubject(
            question={"model": "m"},
            single=Change(
                id="r", strategy="s", recipes=("x",), layout=Settings({"tp": 4}), configuration=Settings({"tp": 4})
            ),
        ),
        machine={"cpus": 2},
    ),
    "tried arms": ExperimentMetadata(
        subject=ExperimentSubject(question={}, arms={"number-1": Change(bottleneck="b")})
    ),
    "search": SearchMetadata(
        file={"name": "x", "parameters": {"a": [1]}},
        digest="d",
        seed=3,
        program=ProgramStamp(version="0.1.0", code="c", files={"a": "b"}),
        notes=("n",),
        stop_reason="budget",
    ),
    "report": ReportDocument(
        title="t",
        made="2026",
        program="p",
        parts=(ReportPart(kind="answer", source="s", content={"a": [1, None]}),),
        not_collected=(("x", "y"),),
    ),
}  # fmt: skip


def written(noun: Any) -> Any:
    """The JSON of a noun as a program reads it."""
    return json.loads(json.dumps(noun if isinstance(noun, dict) else noun.to_json()))


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize("name", [*NOUNS, *READ])
def test_a_noun_is_written_as_it_was(name: str, golden: Mapping[str, Any]) -> None:
    plain = written({**NOUNS, **READ}[name])
    assert plain == golden[name]
    assert json.dumps(plain) == json.dumps(golden[name]), "the keys are in another order"


@pytest.mark.parametrize("name", READ)
def test_what_was_written_is_read(name: str, golden: Mapping[str, Any]) -> None:
    noun = type(READ[name]).from_json(golden[name])
    assert json.dumps(written(noun)) == json.dumps(golden[name])
    rounded = {"sample"}
    assert name in rounded or noun == READ[name]


def test_nothing_recorded_is_left_out(golden: Mapping[str, Any]) -> None:
    assert set(golden) == {*NOUNS, *READ}


@pytest.mark.parametrize("name", ["design columns", "priced run", "design", "sample", "runs", "search"])
def test_missing_and_unknown_fields_are_named(name: str, golden: Mapping[str, Any]) -> None:
    first, *rest = golden[name]
    damaged = {"surplus": 1, **{key: golden[name][key] for key in rest}}
    with pytest.raises(InputError, match=r"unknown field 'surplus'") as error:
        type(READ[name]).from_json(damaged)
    if name != "search":  # a log of an earlier release may lack anything
        assert f"field {first!r} is missing" in str(error.value)


def test_the_log_of_an_experiment_is_read_and_written_as_it_was() -> None:
    first, *samples = [json.loads(line) for line in LOG.read_text(encoding="utf-8").splitlines()]
    logged = read(LOG)
    about = {"format": first["format"], "design": logged.design.to_json(), **logged.about.to_json()}
    assert json.dumps(about) == json.dumps(first)
    assert json.dumps([{"sample": item.to_json()} for item in logged.samples]) == json.dumps(samples)
