"""No file, however damaged, gives a traceback: every registered format, on mutated samples of it."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import re
import tempfile
import zlib
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.content import Content
from ingest.formats import FORMATS, Format, recognise
from ingest.reading import FileReport, read
from ingest.records import Records
from ingest.search_space import SearchSpaceFile
from ingest.sniffing import look
from kg.entities import Case, Source
from kg.errors import Fault, InputError, UnknownEntityError

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = 400_000
"""Bytes of the largest real file that is mutated; mutations of more cost time and find nothing new."""


class EveryName:
    """Every name is its own id."""

    def hardware_or_slug(self, text: str) -> tuple[str, bool]:
        return text, True

    def model(self, text: str) -> Source:
        raise UnknownEntityError(text)


def compact(value: object) -> bytes:
    return json.dumps(value).encode()


def parquet() -> bytes:
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    tables = pytest.importorskip("pyarrow.parquet")
    row = {"framework": "VLLM", "device": "NVIDIA H20", "gemm_dtype": "fp8", "m": 1, "n": 2, "latency": 0.5}
    stream = io.BytesIO()
    tables.write_table(pyarrow.Table.from_pylist([row, row | {"m": 2}]), stream)
    return stream.getvalue()


WINNERS = {"1": {"BLOCK_SIZE_M": 16, "num_warps": 4}, "triton_version": "3.4.0", "64": {"BLOCK_SIZE_M": 32}}
CACHE = b"""{"device_name": "A100", "kernel_name": "k", "problem_size": [8],
"tune_params_keys": ["a", "b"], "tune_params": {"a": [1, 2], "b": [3]}, "cache": {
"1,3": {"a": 1, "b": 3, "time": 2.5, "times": [2.0, 3.0], "nvml_energy": 1.0},
"2,3": {"a": 2, "b": 3, "time": "InvalidConfig"}}
}"""
T4 = {
    "metadata": {"timeunit": "miliseconds"},
    "results": [
        {
            "configuration": {"a": number, "b": 3},
            "times": {"runtimes": [1.0, 2.0]},
            "invalidity": "correct",
            "measurements": [{"name": "time", "value": 1.5, "unit": ""}],
        }
        for number in (1, 2)
    ],
}
T1 = {
    "General": {"BenchmarkName": "k"},
    "ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": "[1, 2]"}]},
    "KernelSpecification": {"ProblemSize": [8], "Arguments": [{"Type": "float", "MemoryType": "Vector"}]},
}
KTT = {
    "Metadata": {"Device": "NVIDIA H20", "TimeUnit": "Microseconds", "KttVersion": "2.1.0"},
    "Results": [
        {
            "Configuration": [{"Name": "a", "Value": size, "ValueType": "UnsignedInt"}],
            "KernelName": "add",
            "Status": "Ok",
            "TotalDuration": 96.25,
            "ComputationResults": [{"ProfilingData": {"Counters": []}}],
        }
        for size in (1, 2)
    ],
}
TVM = {
    "input": ["cuda -model=v100", "conv2d_nchw.cuda", [["TENSOR", [1, 8], "float32"], [1, 1]], {}],
    "config": {"index": 7, "code_hash": None, "entity": [["tile_f", "sp", [6, 1]], ["unroll", "ot", 512]]},
    "result": [[5.7e-05, 5.8e-05], 0, 14.1, 1535423916.7],
    "version": 0.2,
}
GPTUNE = {
    "tuning_problem_name": "MFEM",
    "func_eval": [
        {
            "task_parameter": {"mesh": "tet", "omega": "32"},
            "tuning_parameter": {"order": 2, "eta": 0.25},
            "machine_configuration": {"machine_name": "cori", "intel": {"nodes": 1}},
            "software_configuration": {"gcc": {"version_split": [8, 3, 0]}},
            "evaluation_result": {"r": 86.5, "error": result},
            "evaluation_detail": {"r": {"evaluations": [86.0, 87.0]}},
        }
        for result in ("0.5", None)
    ],
}
CASE = {
    "task": {"kind": "kernel", "op": "gemm", "shape": {"M": 8}, "dtype": "fp16"},
    "hardware": {"name": "A100", "count": 1},
    "config": {"a": 1},
    "outcome": {"metric": "kernel_time", "unit": "ms", "value": 1.5, "status": "ok"},
    "source": {"repo": "a/b"},
}
CSV = b"""gfx,cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio
gfx942,304,16,1280,8192,78,0,111.9,bf16_x,3.0,3000.4,0.0
gfx942,304,32,1280,8192,29,0,inf,bf16_x,86.9,2794.7,0.0
"""
KTT_CSV = b"""Kernel name,Computation duration (us),Global size,block,dram__reads.sum,Registers count
add,77.4,1048576,32,262299,12
add,38.3,1048576,128,262231,12
"""

SAMPLES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "cases": ("rows.jsonl", lambda: (compact(CASE) + b"\n") * 3),
    "fused-moe": ("E=8,N=4,device_name=A100,block_shape=[1,2].json", lambda: compact(WINNERS)),
    "block-gemm": ("N=4,K=8,device_name=A100,dtype=fp8_w8a8.json", lambda: compact(WINNERS)),
    "mamba-state": ("headdim=4,dstate=8,device_name=A100,cache_dtype=float16.json", lambda: compact(WINNERS)),
    "lightllm": ("{B=16,K=[1,2]}_NVIDIA_H20.json", lambda: compact({"1": {"8": {"a": 1}, "16": {"a": 2}}})),
    "kernel-tuner-cache": ("k_A100.json", lambda: CACHE),
    "kernel-tuner-t4": ("k_A100_T4.json", lambda: compact(T4)),
    "kernel-tuner-t1": ("space.json", lambda: compact(T1)),
    "ktt": ("ktt.json", lambda: compact(KTT)),
    "ktt-csv": ("ktt.csv", lambda: KTT_CSV),
    "autotvm": ("cuda_v0.10.log", lambda: b"# comment\n" + (compact(TVM) + b"\n") * 3),
    "aiter": ("bf16_tuned_gemm.csv", lambda: CSV),
    "aiconfigurator": ("gemm_perf.parquet", parquet),
    "aiconfigurator-notes": ("reuse.yaml", lambda: b"reuse:\n- table: gemm\n  from_version: 1.3.0\n"),
    "gptune": ("MFEM.json", lambda: compact(GPTUNE)),
}
OF_FORMAT = attrgetter("name")
FRAGMENTS = [
    *(b"\x00", b"\xff", b"\xe6\x98", b"\xef\xbb\xbf", b"{", b"}", b"[", b"]", b",", b'"', b"'", b"\n", b"\r"),
    *(b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"1e-400", b"-1", b"0", b"9" * 400, b'"\\ud800"'),
    *(b"[]", b"{}", b"[" * 2000, b'{"a":' * 2000, b"&a *a", b"!!python/name:os.system "),
]
ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "gb18030", "utf-7"]


def real_files() -> Path | None:
    default = Path(__file__).parents[3] / "shared"
    folder = Path(os.environ.get("TUNEGRAPH_SHARED", default)) / "data" / "formats"
    return folder if folder.is_dir() else None


def sample_of(known: Format) -> tuple[str, bytes]:
    """Name and content of a sound file of a format: one of ours, or else a small real one."""
    if known.name in SAMPLES:
        name, make = SAMPLES[known.name]
        return name, make()
    folder = real_files()
    for path in sorted(folder.rglob("*")) if folder is not None else []:
        if path.is_file() and path.stat().st_size <= SMALL and recognise(look(path)) is known:
            return path.name, path.read_bytes()
    pytest.skip(f"no sample of format {known.name!r}: SAMPLES has none, and there are no real files")


def recoded(content: bytes, encoding: str) -> bytes:
    try:
        return content.decode().encode(encoding, errors="replace")
    except UnicodeDecodeError:
        return content


@st.composite
def damage(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """One way to spoil bytes."""
    start, length = draw(st.floats(0, 1)), draw(st.sampled_from([0, 1, 2, 8, 64, 1000]))
    piece = draw(st.sampled_from(FRAGMENTS) | st.binary(max_size=4))
    bit = 1 << draw(st.integers(0, 7))
    encoding = draw(st.sampled_from(ENCODINGS))
    how = draw(
        st.sampled_from(["cut", "flip", "flip", "drop", "insert", "replace", "repeat", "recode", "pack"])
    )

    def spoil(content: bytes) -> bytes:
        at = int(start * len(content))
        chunk = content[at : at + length]
        match how:
            case "cut":
                return content[:at]
            case "flip":
                return content[:at] + bytes(byte ^ bit for byte in content[at : at + 1]) + content[at + 1 :]
            case "drop":
                return content[:at] + content[at + length :]
            case "insert":
                return content[:at] + piece + content[at:]
            case "replace":
                return content[:at] + piece + content[at + length :]
            case "repeat":
                return content[:at] + chunk * 3 + content[at + length :]
            case "recode":
                return recoded(content, encoding)
            case _:
                return gzip.compress(content, mtime=0)

    return spoil


def check(known: Format, path: Path) -> None:
    """A file through one reader, if it takes it, and through whatever reads it by itself."""
    head = look(path)
    if known.sniff(head):
        with Content(path) as content:
            for item in known.read(content, Records(EveryName())):
                assert isinstance(item, Case | Fault | SearchSpaceFile)
                if isinstance(item, Fault):
                    assert item.reason
                    assert "\n" not in item.place
                elif isinstance(item, Case):  # what came through the door can be stored
                    assert item.problem.id
                    assert item.configuration.digest
                    assert item.source.id
    if recognise(head) is None:
        with pytest.raises(InputError, match=re.escape(str(path))):
            read([path], EveryName())
        return
    *cases, report = read([path], EveryName())
    assert isinstance(report, FileReport)
    assert (report.path, report.good) == (path, len(cases))
    assert len(report.faults) == min(report.bad, 100)


@pytest.mark.parametrize("known", FORMATS, ids=OF_FORMAT)
@given(damages=st.lists(damage(), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_file_gives_faults_and_never_a_traceback(
    known: Format, damages: list[Callable[[bytes], bytes]]
) -> None:
    name, content = sample_of(known)
    for spoil in damages:
        content = spoil(content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        check(known, path)


@pytest.mark.parametrize("known", [known for known in FORMATS if known.name in SAMPLES], ids=OF_FORMAT)
def test_the_samples_are_sound(known: Format, tmp_path: Path) -> None:
    name, content = sample_of(known)
    path = tmp_path / name
    path.write_bytes(content)
    assert recognise(look(path)) is known
    *_, report = read([path], EveryName())
    assert isinstance(report, FileReport)
    assert (report.bad, report.skipped) == (0, "")
    assert report.good or report.space or report.guesses


@pytest.mark.parametrize("known", FORMATS, ids=OF_FORMAT)
@pytest.mark.parametrize("text", [b"[", b'{"a":', b'{"func_eval":[', b'{"cache":{"1":', b'{"Results":[['])
def test_nesting_without_end_is_refused(known: Format, text: bytes, tmp_path: Path) -> None:
    name, _ = sample_of(known)
    path = tmp_path / name
    path.write_bytes(text * 100_000)
    check(known, path)


@pytest.fixture(scope="module")
def filler() -> bytes:
    """32 MiB of one letter as raw deflate data: they grow a thousand times when unpacked."""
    packer = zlib.compressobj(9, wbits=-15)
    return packer.compress(b"a" * (32 << 20)) + packer.flush()


@pytest.mark.parametrize("known", FORMATS, ids=OF_FORMAT)
def test_a_gzip_bomb_is_refused(
    known: Format, tmp_path: Path, filler: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.content.FREE_EXPANSION", 4 << 20)
    name, content = sample_of(known)
    path = tmp_path / f"{name}.gz"
    head = zlib.compressobj(9, wbits=-15)
    start = head.compress(content[:-2] + b'"') + head.flush(zlib.Z_FULL_FLUSH)
    path.write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + start + filler + bytes(8))
    check(known, path)
    records = Records(EveryName())
    if not known.sniff(look(path)):
        return
    with Content(path) as unpacked:
        items = list(known.read(unpacked, records))
        assert unpacked._unpacked <= 20 << 20
    assert any(isinstance(item, Fault) for item in items) or records.guesses


class Poison:
    """Unpickling it would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("known", FORMATS, ids=OF_FORMAT)
@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
def test_a_pickle_is_never_loaded(known: Format, protocol: int, tmp_path: Path) -> None:
    name, _ = sample_of(known)
    path, mark = tmp_path / name, tmp_path / "loaded"
    path.write_bytes(pickle.dumps(Poison(mark), protocol=protocol))
    check(known, path)
    assert not mark.exists()


def test_a_loop_of_links_is_walked_once(tmp_path: Path) -> None:
    for known in FORMATS:
        if known.name in SAMPLES and known.name != "aiconfigurator":
            name, content = sample_of(known)
            (tmp_path / name).write_bytes(content)
    expected = [item for item in read([tmp_path], EveryName()) if isinstance(item, FileReport)]
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "first").symlink_to(tmp_path / "second")
    (tmp_path / "second").symlink_to(tmp_path / "first")
    found = [item for item in read([tmp_path], EveryName()) if isinstance(item, FileReport)]
    assert sum(item.good for item in found) == sum(item.good for item in expected) > 0
    skipped = {item.path.name: item.skipped for item in found if item.skipped}
    assert set(skipped) == {"self", "first", "second"}
    assert all(skipped.values())
