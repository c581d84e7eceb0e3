"""One of each noun that the graph holds, with all that it may say."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Hardware, Kind, Limit, Source
from kg.nouns.framework import Framework
from kg.nouns.grid import GreenSchedule, GridRegion
from kg.nouns.knowledge import (
    Assignment,
    Bottleneck,
    Cause,
    CauseEdge,
    Confidence,
    Fact,
    FactKind,
    FaultPattern,
    HardwareProfile,
    Level,
    Model,
    ModelFamily,
    Relation,
    Strategy,
    Symptom,
    VersionBound,
)
from kg.nouns.outcomes import Outcome
from kg.nouns.provenance import Batch
from kg.nouns.recipe import Authority, Recipe, RecipeSetting, Role
from kg.nouns.scope import Caveat, ScopeClause
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from tests.samples.problems import make_problem

BOOK = Source(
    title="A book",
    url="https://example.org/book",
    path="page 1",
    commit="abc",
    licence="MIT",
    note="read twice",
)


def fact(name: str, value: object) -> Fact:
    return Fact(
        name=name,
        value=value,  # type: ignore[arg-type]  # one of several types
        source=BOOK,
        kind=FactKind.DOCUMENTED,
        confidence=Confidence.HIGH,
        note="nominal",
    )


def concept(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "labels": {"en": name.title(), "zh": "名"},
        "aliases": (f"{name} 2",),
        "definition": "What it is.",
    }


PROBLEM = make_problem(
    "pretrain",
    Hardware(name="device", reported="Device", count=8, traits=Settings({"link": "HCCS"})),
    kind="training",
    model="bert-large",
    precision="float16",
    shape={"seq_len": 128, "tiles": [1, 2]},
    traits={"routing": "balanced"},
    metric="throughput",
    unit="samples/s",
    limits=(Limit(metric="peak_memory", maximum=32e9, unit="B"), Limit(metric="loss", maximum=1, unit="1")),
    bottlenecks={"slow-link": 0.25, "bubble": None},
    current={"tp": 8},
    software={"cann": "8.0"},
)
EDGE = CauseEdge(cause="cable", confidence=Confidence.LOW, source=BOOK)
KNOWN = (
    HardwareProfile(**concept("vendor"), level=Level.VENDOR, facts=(fact("link_count", 7),)),
    HardwareProfile(
        **concept("family"), level=Level.FAMILY, broader="vendor", ambiguous=True, assumed="device"
    ),
    HardwareProfile(
        **concept("device"),
        level=Level.DEVICE,
        broader="family",
        facts=(
            fact("memory_bytes", 64),
            fact("clock_hz", 1.5e9),
            fact("memory_type", "HBM"),
            fact("dies", (1, 2)),
        ),
    ),
    HardwareProfile(
        **concept("server"), level=Level.SERVER, broader="vendor", device="device", device_count=8
    ),
    ModelFamily(**concept("bert")),
    Model(
        **concept("bert-large"),
        family="bert",
        architecture="encoder",
        facts=(fact("parameters", 340_000_000),),
    ),
    Bottleneck(**concept("communication")),
    Bottleneck(
        **concept("slow-link"),
        broader="communication",
        symptoms=(
            Symptom(metric="ratio", comparator="below", threshold=0.95, softness=0.05, unit="1", source=BOOK),
        ),
        caused_by=(EDGE,),
    ),
    Cause(**concept("cable"), source=BOOK, caused_by=(replace(EDGE, cause="plug"),)),
    Cause(**concept("plug"), source=BOOK, caused_by=(replace(EDGE, cause="socket"),)),
    Cause(**concept("socket"), source=BOOK),
    Strategy(
        **concept("overlap"),
        kind="documented",
        phases=("training",),
        families=("transformer",),
        hardware=("vendor",),
        sets=(
            Assignment(parameter="overlap", value=True, flag="--overlap", software="cann"),
            Assignment(parameter="LEVEL", value=None, environment=True, software="cann"),
        ),
        mitigates=(Relation(target="slow-link", source=BOOK),),
        requires=(Relation(target="bf16", source=BOOK),),
        conflicts_with=(Relation(target="fp16", source=BOOK),),
        applies_when=(ScopeClause(condition="devices > 1", source=BOOK, reason="there is a link"),),
        caveats=(Caveat(text="no gain on one device", source=BOOK),),
        contraindicated_by=(Relation(target="communication", source=BOOK),),
        since=(VersionBound(software="cann", version="8.0", source=BOOK),),
        removed=(VersionBound(software="cann", version="9.0", source=BOOK),),
        accuracy="unchanged",
        sources=(BOOK,),
    ),
    Strategy(**concept("bf16"), kind="claimed", hardware=("vendor",), work="code", sources=(BOOK,)),
    Strategy(
        **concept("fp16"),
        kind="claimed",
        hardware=("vendor",),
        work="code",
        conflicts_with=(Relation(target="overlap", source=BOOK),),
        sources=(BOOK,),
    ),
    Framework(**concept("vllm"), phases=("decode",), hardware=("vendor",), stack=("cann",), sources=(BOOK,)),
    FaultPattern(
        **concept("timeout"),
        codes=("507014",),
        patterns=("EZ9999",),
        cause={"en": "slow", "zh": "慢"},
        remedy={"en": "wait"},
        strategies=("overlap",),
        source=BOOK,
        confidence=Confidence.MEDIUM,
    ),
    GridRegion(**concept("fr")),
    GreenSchedule(region="fr", start_hour=0, end_hour=9, carbon_intensity_g_per_kwh=21.5, source=BOOK),
    GreenSchedule(region="fr", start_hour=6, end_hour=24, carbon_intensity_g_per_kwh=11.0, source=BOOK),
    Recipe(
        id="guide-decode",
        role=Role.DECODE,
        model="model",
        reported_model="Model-W8A8",
        family="family",
        hardware="device",
        reported_hardware="Device",
        devices=4,
        instances=2,
        framework="vllm-ascend",
        version="1.0",
        context=Settings({"input_len": 2048}),
        precision="w8a8",
        layout=Settings({"tp": 2}),
        settings=(RecipeSetting(where=SettingPlace.FLAG, key="--tensor-parallel-size", value="2"),),
        title="a guide",
        source=BOOK,
        authority=Authority.VENDOR_TUTORIAL,
    ),
)
MEASURED = (
    PROBLEM,
    Batch(number=1, time=datetime(2026, 1, 1, tzinfo=UTC), files=("a",), counts=Settings({"problems": 1})),
    Effect(
        context=Context(bottleneck="slow-link", hardware="device", family="bert"),
        strategy="overlap",
        metric="step_time",
        kind=Kind.MEASURED,
    ).add([0.1, -0.1], now=datetime(2026, 1, 1, tzinfo=UTC)),
    Outcome(
        id="abc",
        problem=PROBLEM.id,
        metric="step_time",
        configuration=Settings({"overlap": True}),
        control=Settings({"overlap": False}),
        verdict="better",
        scheme="randomised",
        pairs=12,
        alpha=0.01,
        margin=0.01,
        time=datetime(2026, 1, 1, tzinfo=UTC),
        source=BOOK,
        gain=0.1,
        low=0.05,
        high=0.15,
        p=0.001,
        strategy="overlap",
        bottleneck="slow-link",
        recommendation="4dcea6b43b7a",
    ),
)
