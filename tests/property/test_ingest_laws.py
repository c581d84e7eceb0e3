import gzip
import json
import math
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.door.records import Records
from ingest.door.writing import to_record
from ingest.knowledge.files import read_knowledge
from ingest.reading import FileReport, read
from kg.errors import CaseFormatError, InputError
from kg.hidden_text import HIDDEN
from kg.nouns.entities import (
    Baseline,
    Case,
    Hardware,
    Kind,
    Limit,
    Measurement,
    Objective,
    Problem,
    Source,
    Status,
    Workload,
    WorkloadKind,
)
from kg.nouns.values import Settings
from kg.terms.metrics import METRICS
from kg.terms.units import Dimension
from tests.property.reader_samples import T4, EveryName

SYMBOLS = {
    Dimension.TIME: "s",
    Dimension.ENERGY: "J",
    Dimension.MASS: "g",
    Dimension.POWER: "W",
    Dimension.BYTES: "B",
    Dimension.RATE: "tokens/s/device",
    Dimension.RATIO: "1",
}


identifiers = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True).filter(lambda name: name != "null")
slugs = st.from_regex(r"[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,5}){0,2}", fullmatch=True)
characters = st.characters(exclude_categories=["Cs", "Cc"]).filter(lambda one: not HIDDEN.match(one))
words = st.text(characters, max_size=9).map(lambda text: f"x {text}")
scalars = st.one_of(
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(-1e12, 1e12, allow_nan=False),
    words,
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=4)
present = st.dictionaries(identifiers, values, max_size=4).map(Settings)
configurations = st.dictionaries(identifiers, st.none() | values, max_size=4).map(Settings)
versions = st.dictionaries(identifiers, words, max_size=2).map(Settings)
positive = st.floats(1e-12, 1e12)
texts = st.just("") | words

workloads = st.builds(
    Workload,
    kind=st.sampled_from(WorkloadKind),
    operator=identifiers,
    model=st.none() | identifiers,
    shape=present,
    precision=st.sampled_from([None, "bfloat16", "attn=bfloat16,kv_cache=fp8"]),
    traits=present,
)
hardware = st.builds(
    Hardware,
    name=slugs,
    reported=words,
    count=st.none() | st.integers(1, 100_000),
    traits=present,
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    metric = METRICS[draw(st.sampled_from(sorted(METRICS)))]
    symbol = SYMBOLS[metric.dimension]
    problem = Problem(
        workload=draw(workloads),
        hardware=draw(hardware),
        objective=Objective(metric=metric.name, better=metric.better, unit=symbol),
        limits=tuple(
            Limit(metric=name, maximum=maximum, unit="s")
            for name, maximum in draw(st.dictionaries(identifiers, positive, max_size=2)).items()
        ),
        bottlenecks=draw(st.dictionaries(slugs, st.none() | st.floats(0, 1), max_size=2).map(Settings)),
        current=draw(st.none() | configurations),
        software=draw(versions),
    )
    status = draw(st.sampled_from(Status))
    if status is Status.OK:
        measurement = Measurement(
            metric=metric.name,
            unit=symbol,
            value=draw(positive),
            stdev=draw(st.none() | positive),
            repeats=draw(st.none() | st.integers(1, 10**6)),
            reported_unit=draw(st.sampled_from(["", "ms"])),
        )
    else:
        measurement = Measurement(metric=metric.name, status=status, reason=draw(texts))
    return Case(
        problem=problem,
        configuration=draw(configurations),
        measurement=measurement,
        kind=draw(st.sampled_from(Kind)),
        source=Source(title=draw(words), url=draw(texts), path=draw(texts), note=draw(texts)),
        baseline=draw(st.none() | st.builds(Baseline, value=positive, configuration=configurations)),
        strategy=draw(st.just("") | slugs),
        bottleneck=draw(st.just("") | slugs),
        software=draw(versions),
    )


PLAUSIBLE = math.log(30)
"""Log gain beyond which a row is a fault (``ingest.door.gain_limits``)."""


@given(case=cases().filter(lambda case: not case.log_gain or abs(case.log_gain) < PLAUSIBLE))
@settings(max_examples=30, deadline=None)
def test_a_case_survives_its_record(case: Case) -> None:
    text = json.dumps(to_record(case), allow_nan=False)
    again = Records(EveryName()).case(json.loads(text))
    assert again == case
    assert again.problem.id == case.problem.id


ROW = {
    "task": {"kind": "kernel", "op": "gemm", "shape": {"M": 8, "fixed": {"a": "3"}}, "dtype": "fp16"},
    "hardware": {"name": "A100", "count": 1},
    "config": {"a": 1, "b": [1, 2], "c": "x"},
    "outcome": {"metric": "kernel_time", "unit": "ms", "value": 1.5, "status": "ok", "std": 0.1, "n": 3},
    "source": {"repo": "a/b", "path": "c.json"},
    "baseline": {"value": 3, "config": {}},
}
TABLE = {"1": {"BLOCK_SIZE_M": 16}, "triton_version": "3.4.0", "64": {"BLOCK_SIZE_M": 32, "num_warps": 4}}
CACHE = (
    '{"device_name": "A100", "kernel_name": "k", "problem_size": [8],\n"tune_params_keys": ["a", "b"],\n'
    '"tune_params": {"a": [1, 2], "b": [3]},\n"cache": {\n'
    '"1,3": {"a": 1, "b": 3, "time": 2.5, "times": [2.0, 3.0], "nvml_energy": 1.0},\n'
    '"2,3": {"a": 2, "b": 3, "time": "InvalidConfig"}}\n}'
)
T1 = {
    "General": {"BenchmarkName": "k"},
    "ConfigurationSpace": {
        "TuningParameters": [{"Name": "a", "Values": "[1, 2]"}, {"Name": "b", "Values": [3]}],
        "Conditions": [{"Expression": "a < b"}],
    },
    "KernelSpecification": {"ProblemSize": [8], "Arguments": [{"Type": "float", "MemoryType": "Vector"}]},
}
SAMPLES = {
    "rows.jsonl": (json.dumps(ROW) + "\n").encode() * 3,
    "E=8,N=4,device_name=A100,dtype=fp8_w8a8,block_shape=[128, 128].json": json.dumps(
        TABLE, indent=1
    ).encode(),
    "k_A100.json": CACHE.encode(),
    "k_A100_T4.json": json.dumps(T4, indent=1).encode(),
    "space.json": json.dumps(T1, indent=1).encode(),
}
FRAGMENTS = [
    *(b"", b"\x00", b"\xff", b"\xe6\x98", b"{", b"}", b"[", b"]", b",", b'"', b"\n", b"[]", b"{}"),
    *(b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"1e-400", b"-1", b"9" * 400, b'"\\ud800"'),
    *(b"[" * 2000, b'{"a":' * 2000),
]


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, bytes]:
    name, content = draw(st.sampled_from(sorted(SAMPLES.items())))
    packed = draw(st.booleans())
    if packed and draw(st.booleans()):
        content = gzip.compress(content, mtime=0)
        packed = False
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + draw(st.sampled_from([0, 1, 8, 1000])))))
        piece = draw(st.sampled_from(FRAGMENTS) | st.binary(max_size=4))
        content = content[:start] + piece + content[end:]
    return name, gzip.compress(content, mtime=0) if packed else content


@given(sample=mutated())
@settings(max_examples=120, deadline=None)
def test_mutated_files_give_faults_and_never_a_traceback(sample: tuple[str, bytes]) -> None:
    name, content = sample
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            items = list(read([path], EveryName()))
        except InputError:
            return  # no longer a file of its format; what the error says is tested by example
        *found, report = items
        assert isinstance(report, FileReport)
        assert all(isinstance(case, Case) for case in found)
        assert report.good == len(found)
        assert len(report.faults) == min(report.bad, 100)
        assert all(fault.reason for fault in report.faults)
        for case in found:
            if isinstance(case, Case):  # what came through the door can be stored
                assert case.problem.id
                assert case.configuration.digest
                assert case.source.id
                assert case.software.digest


KNOWLEDGE = """\
sources:
  s: {title: A document, url: "https://example.org"}
hardware:
  - {id: acme, level: vendor, label: {en: Acme, zh: 顶点}}
  - id: acme-1a
    level: device
    broader: acme
    label: {en: Acme 1A}
    facts: {memory_bytes: {value: 1e9, source: s, kind: documented, confidence: high}}
strategies:
  - id: clean
    label: {en: Clean}
    sets: [{parameter: a, value: true}]
    mitigates: [{bottleneck: x, source: s}]
    kind: claimed
    sources: [s]
"""
BITS = [
    *("", "&a ", "*a", "!!python/name:os.system ", "!!binary x", "!!set {a}", "<<: ", "---\n", "%YAML 9"),
    *("{", "}", "[", "]", "- ", "? ", ": ", "\n", "\t", "'", "|", "=", "\x00", "\ud800", "\ufeff"),
    *("0x", "1_0", "1:30", "2001-01-01", ".nan", ".inf", "~", "yes", "[" * 500, "9" * 5000),
]


@given(
    cuts=st.lists(
        st.tuples(st.integers(0, len(KNOWLEDGE)), st.integers(0, 20), st.sampled_from(BITS)),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=120, deadline=None)
def test_mutated_knowledge_gives_faults_and_never_a_traceback(cuts: list[tuple[int, int, str]]) -> None:
    text = KNOWLEDGE
    for start, length, piece in cuts:
        text = text[:start] + piece + text[start + length :]
    try:
        nouns = read_knowledge(text, "mine.yaml")
    except CaseFormatError:
        return  # what its faults say is tested by example
    assert nouns
