import textwrap
from importlib import resources

import pytest

from ingest.knowledge.cross_references import check_knowledge
from ingest.knowledge.files import Noun, read_knowledge
from kg.errors import CaseFormatError
from kg.nouns.knowledge import (
    Bottleneck,
    Confidence,
    FactKind,
    FaultPattern,
    HardwareProfile,
    Level,
    Strategy,
)
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.queries import query_named
from kg.triples.serialisation import from_graph, to_triples

GOOD = """
sources:
  spec: {title: A document, url: "https://example.org/spec", licence: Apache-2.0}
hardware:
  - {id: acme, level: vendor, label: {en: Acme, zh: 顶点}}
  - id: acme-one
    level: family
    broader: acme
    label: {en: Acme One}
    ambiguous: true
  - id: acme-1a
    level: device
    broader: acme-one
    label: {en: Acme 1A}
    aliases: [1A, "17"]
    facts:
      memory_bytes: {value: 68719476736, source: spec, kind: documented, confidence: high, note: nominal}
      peak_bf16_flops: {value: 1e15, source: spec, kind: derived, confidence: low}
      core_design: {value: "cube, vector", source: spec, kind: documented, confidence: high}
  - id: acme-box
    level: server
    broader: acme
    label: {en: Acme Box}
    contains: {device: acme-1a, count: 8}
families:
  - {id: bert, label: {en: BERT}}
models:
  - id: bert-large
    family: bert
    architecture: encoder
    label: {en: BERT-large}
    facts: {layers: {value: 24, source: spec, kind: config, confidence: high}}
bottlenecks:
  - {id: communication, label: {en: Communication}}
  - id: slow-link
    broader: communication
    label: {en: Slow link, zh: 慢链路}
    definition: One link is slow.
    symptoms:
      - {metric: ratio, comparator: below, threshold: 0.95, softness: 0.05, unit: "1", source: spec}
    caused_by: [{cause: dirty-fibre, confidence: medium, source: spec}]
causes:
  - {id: dirty-fibre, label: {en: Dirty fibre}, source: spec}
strategies:
  - id: clean
    label: {en: Clean}
    phases: [training]
    families: [bert, transformer]
    hardware: [acme]
    sets:
      - {parameter: clean, value: true, flag: --clean, software: broom}
      - {parameter: CLEAN_MODE, value: "a:1", environment: true}
    mitigates: [{bottleneck: slow-link, source: spec}]
    requires: [{strategy: wait, source: spec}]
    applies_when: [{when: devices > 1, source: spec, because: there is a fibre}]
    caveats: [{text: needs a cloth, source: spec}]
    conflicts_with: [{strategy: wait, source: spec}]
    since: [{software: broom, version: "8.0", source: spec}]
    accuracy: unchanged
    kind: documented
    sources: [spec]
  - {id: wait, label: {en: Wait}, work: operation, kind: claimed, sources: [spec]}
faults:
  - id: fibre-broken
    codes: ["507014"]
    label: {en: Broken}
    cause: {en: It broke., zh: 断了}
    remedy: {en: Mend it.}
    strategies: [clean]
    source: spec
    confidence: high
"""


def faults_of(text: str) -> list[str]:
    with pytest.raises(CaseFormatError) as error:
        read_knowledge(textwrap.dedent(text), "mine.yaml")
    return [str(fault) for fault in error.value.faults]


def by_id(nouns: list[Noun], identifier: str) -> Noun:
    return next(noun for noun in nouns if noun.id == identifier)


def test_a_file_becomes_nouns_with_their_sources() -> None:
    nouns = read_knowledge(GOOD, "good.yaml")
    assert len(nouns) == 12
    device = by_id(nouns, "acme-1a")
    assert isinstance(device, HardwareProfile)
    assert (device.level, device.broader, device.aliases) == (Level.DEVICE, "acme-one", ("1A", "17"))
    memory, peak, design = device.facts
    assert (memory.value, memory.kind, memory.confidence) == (
        68719476736,
        FactKind.DOCUMENTED,
        Confidence.HIGH,
    )
    assert memory.source.url == "https://example.org/spec"
    assert (peak.value, design.value) == (10**15, "cube, vector")
    box = by_id(nouns, "acme-box")
    assert isinstance(box, HardwareProfile)
    assert (box.device, box.device_count) == ("acme-1a", 8)
    link = by_id(nouns, "slow-link")
    assert isinstance(link, Bottleneck)
    assert link.labels == {"en": "Slow link", "zh": "慢链路"}
    assert (link.symptoms[0].threshold, link.caused_by[0].cause) == (0.95, "dirty-fibre")
    clean = by_id(nouns, "clean")
    assert isinstance(clean, Strategy)
    assert dict(clean.configuration) == {"clean": True, "CLEAN_MODE": "a:1"}
    assert [item.environment for item in clean.sets] == [False, True]
    assert (clean.requires[0].target, clean.conflicts_with[0].target) == ("wait", "wait")
    assert (clean.applies_when[0].condition, clean.caveats[0].text) == ("devices > 1", "needs a cloth")
    assert clean.since[0].version == "8.0"
    broken = by_id(nouns, "fibre-broken")
    assert isinstance(broken, FaultPattern)
    assert (broken.codes, broken.cause["zh"]) == (("507014",), "断了")
    assert check_knowledge(nouns) == []


def test_all_faults_come_at_once_with_their_lines() -> None:
    assert faults_of("""\
        sources:
          s: {title: A}
        hardware:
          - id: Bad_Id
            level: planet
            label: {en: No}
            colour: red
            facts:
              memory_bytes: {value: many, source: s, kind: documented, confidence: high}
              clock_hz: {value: 0, source: t, kind: rumour, confidence: high}
          - {level: device, broader: x, label: {en: Y}}
        """) == [
        "line 4: hardware Bad_Id: an id has lower-case letters, digits, hyphens and dots",
        "line 5: hardware Bad_Id: level 'planet' is none of vendor, architecture, family, device, server",
        "line 4: hardware Bad_Id: broader is missing: only a vendor has nothing above it",
        "line 6: hardware Bad_Id.label: en is a truth value; quote it to make it text",
        "line 9: hardware Bad_Id.facts.memory_bytes: value is no number",
        "line 10: hardware Bad_Id.facts.clock_hz: source 't' is not in the sources of this file",
        f"line 10: hardware Bad_Id.facts.clock_hz: kind 'rumour' is none of {', '.join(FactKind)}",
        "line 10: hardware Bad_Id.facts.clock_hz: clock_hz: 0 is not a positive number",
        "line 7: hardware Bad_Id: unknown field colour",
        "line 11: file.hardware: id is missing",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("- 1\n", "line 1: file: expected fields, found a list"),
        ("a: [1\n", "no YAML"),
        ("a: &x 1\nb: *x\n", "line 1: anchors and aliases are not used here"),
        ("[" * 30 + "]" * 30, "nested more than 20 deep"),
        ("hardware: []\nhardware: []\n", "line 2: file: hardware is there twice"),
        ("hardwear: []\n", "line 1: file: unknown field hardwear"),
        ("sources: {}\n", "none of hardware, models"),
        ("hardware: 3\n", "file: hardware is a number, not a list"),
        ("hardware: [{id: !!python/name:os.getpid x}]\n", "not text"),
        ("a: \ud800\n", "no YAML"),
        ("a: \x00\n", "no YAML"),
        ("causes: [{id: x, label: {fr: X}, source: s}]\n", "language 'fr' is neither en nor zh"),
        ("strategies: [{id: x, label: {en: X}, kind: claimed, phases: [nap]}]\n", "phase 'nap' is none of"),
        ("faults: [{id: x, label: {en: X}, source: s, confidence: low}]\n", "neither codes nor patterns"),
        ("strategies: [{id: x, requires: [{source: s}]}]\n", "strategy is missing"),
        ("strategies: [{id: x, applies_when: [{when: expert > 0, source: s}]}]\n", "did you mean experts"),
        ("bottlenecks: [{id: x, symptoms: [{comparator: near}]}]\n", "neither above nor below"),
    ],
)
def test_what_is_no_knowledge_is_refused_with_its_reason(text: str, reason: str) -> None:
    assert reason in " | ".join(faults_of(text))


def test_a_yaml_bomb_does_not_go_off() -> None:
    bomb = "a: &a [x,x]\n" + "".join(f"{n}: &b{n} [*a,*a,*a]\n" for n in range(1000))
    assert faults_of(bomb) == ["line 1: anchors and aliases are not used here"]


def test_references_to_nothing_doubles_and_circles_are_found() -> None:
    nouns = read_knowledge(GOOD, "good.yaml")
    less = [noun for noun in nouns if noun.id not in {"bert", "wait", "dirty-fibre"}]
    assert [str(fault) for fault in check_knowledge(less)] == [
        "models bert-large: 'bert' is not in families",
        "bottlenecks slow-link: 'dirty-fibre' is not in bottlenecks or causes",
        "strategies clean: 'bert' is not in families",
        "strategies clean: 'wait' is not in strategies",
        "strategies clean: 'wait' is not in strategies",
    ]
    known = {"families": {"bert"}, "strategies": {"wait"}, "causes": {"dirty-fibre"}}
    assert check_knowledge(less, known) == []
    assert [str(fault) for fault in check_knowledge([*nouns, nouns[0]])] == ["hardware acme: there 2 times"]
    back = "caused_by: [{cause: slow-link, confidence: low, source: spec}]"
    text = GOOD.replace("label: {en: Communication}", f"label: {{en: C}}, {back}")
    circle = read_knowledge(text.replace("cause: dirty-fibre", "cause: communication"), "circle.yaml")
    assert any("a circle: " in str(fault) for fault in check_knowledge(circle))


def test_the_shipped_knowledge_passes() -> None:
    nouns: list[Noun] = []
    for folder in ("hardware", "knowledge", "models"):
        for item in sorted(resources.files("data").joinpath(folder).iterdir(), key=lambda item: item.name):
            if item.name.endswith(".yaml"):
                nouns.extend(read_knowledge(item.read_text(encoding="utf-8"), item.name))
    assert len(nouns) > 1000
    assert check_knowledge(nouns) == []


DISPUTED = """
sources:
  spec: {title: Spec, url: "https://example.org/spec"}
  forum: {title: Forum, url: "https://example.org/forum"}
hardware:
  - {id: acme, level: vendor, label: {en: Acme}}
  - id: acme-1
    level: device
    broader: acme
    label: {en: Acme 1}
    facts:
      memory_bytes:
        - {value: 32000000000, source: forum, kind: secondary, confidence: low}
        - {value: 34359738368, source: spec, kind: documented, confidence: high}
"""


def test_two_sources_that_disagree_are_both_kept_and_the_more_trusted_holds() -> None:
    nouns = read_knowledge(DISPUTED, "disputed.yaml")
    device = by_id(nouns, "acme-1")
    assert isinstance(device, HardwareProfile)
    stated = {(fact.value, fact.source.title) for fact in device.facts}
    assert stated == {(32000000000, "Forum"), (34359738368, "Spec")}
    store = GraphStore()
    store.extend([triple for noun in nouns for triple in to_triples(noun)])
    assert set(from_graph(store, HardwareProfile, "acme-1").facts) == set(device.facts)
    assert HardwareTree(store).facts("acme-1")["memory_bytes"] == 34359738368
    ((_, fact, *values),) = [
        [str(term) for term in row] for row in query_named("disagreements").run(store, {})
    ]
    assert "memory_bytes" in fact
    assert any("Forum" in text for text in values)
    assert any("Spec" in text for text in values)


def test_a_condition_with_an_unknown_word_names_line_word_and_nearest() -> None:
    text = """
    sources:
      s: {title: S, url: "https://example.org"}
    strategies:
      - id: x
        label: {en: X}
        work: code
        applies_when:
          - {when: "expert > 0 and devices > 1", source: s}
        kind: documented
        sources: [s]
    """
    (fault,) = faults_of(text)
    assert fault.startswith("line 9: ")
    assert "no fact is called 'expert'" in fault
    assert "experts" in fault


def test_a_release_that_drops_a_strategy_before_the_one_that_brings_it_is_a_fault() -> None:
    text = GOOD.replace(
        "accuracy: unchanged",
        'removed: [{software: broom, version: "7.0", source: spec}]\n    accuracy: unchanged',
    )
    (fault,) = faults_of(text)
    assert "broom: removed in 7.0, before it came in 8.0" in fault
