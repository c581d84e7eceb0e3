"""Profiles as they break: whatever the bytes are, there is a profile or one clear refusal, and nothing else."""

import codecs
import csv
import json
import os
import random
import shutil
import tarfile
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.profiles.folders import is_log, read_profile
from kg.errors import InputError
from tests.samples.profile_databases import kernels_of

ROOT = Path(__file__).resolve().parents[4]


def survives(path: Path) -> int:
    """Number of ranks that are read; a refusal counts as none. Any other end, a warning too, is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return len(read_profile(path).ranks)
        except InputError as fault:
            refusal = str(fault)
    assert "\n" not in refusal
    return 0


def samples() -> list[Path]:
    home = Path(os.environ.get("TUNEGRAPH_SHARED", ROOT.parent / "shared")) / "data" / "profiles"
    if not home.is_dir():
        pytest.skip("no folder of real profiles: set TUNEGRAPH_SHARED")
    return sorted(item for item in home.iterdir() if item.is_dir())


def test_real_files_cut_at_every_twentieth(tmp_path: Path) -> None:
    kept: dict[str, Path] = {}
    for home in samples():
        for path in home.rglob("*"):
            if path.is_file() and path.suffix in {".csv", ".json", ".db"}:
                kept.setdefault(path.name, path)
    read = 0
    for name, path in kept.items():
        content = path.read_bytes()[:400_000]
        for part in range(0, 20, 3 if len(content) > 100_000 else 1):
            cut = tmp_path / name
            cut.write_bytes(content[: len(content) * part // 20])
            read += survives(cut)
    assert read > 20


def test_real_folders_with_files_broken_at_random(tmp_path: Path) -> None:
    luck = random.Random(7)
    homes = [
        home for home in samples() if sum(f.stat().st_size for f in home.rglob("*") if f.is_file()) < 2e6
    ]
    for turn in range(12):
        home = tmp_path / str(turn)
        shutil.copytree(luck.choice(homes), home)
        files = [path for path in home.rglob("*") if path.is_file()]
        for path in luck.sample(files, min(3, len(files))):
            content = bytearray(path.read_bytes())
            for _ in range(luck.choice([1, 20, 200])):
                if content:
                    content[luck.randrange(len(content))] = luck.randrange(256)
            path.write_bytes(bytes(content[: luck.choice([len(content), luck.randrange(len(content) + 1)])]))
        survives(home)


CELLS = st.sampled_from(
    ["", "N/A", "NaN", "inf", "-inf", "1e400", "-5", "0", "1700000000000000.123\t", "1700000000000000123", "9e15",
     "99999999999999999999", "1_0", "\u0661", "5%", '"', "a,b", "\x00", "名字", "x" * 300]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_cells_in_any_table(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    header = data.draw(st.sampled_from(HEADERS))
    table = data.draw(
        st.lists(st.lists(CELLS, min_size=len(header) - 1, max_size=len(header) + 1), max_size=4)
    )
    path = tmp_path_factory.mktemp("any") / data.draw(
        st.sampled_from(["op_summary_1.csv", "hbm.csv", "x.csv"])
    )
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(table)
    survives(path)


HEADERS = [
    line.split(",")
    for line in (
        "Name,Type,Start Time(us),Duration(us),Wait Time(us),Block Dim,Step Id,Device_id,aic_mac_ratio",
        "Op Name,Task Type,Task Start Time(us),Task Duration(us),vec_ratio,total_cycles,Device_id",
        "kernel_name,kernel_type,task_time(us),task_start(us),task_stop(us)",
        "OP Type,Core Type,Count,Total Time(us)",
        "OP Type,Count,Total Time(us),Ratio(%)",
        "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Free,Stage,Bubble,Preparing",
        "Iteration ID,Iteration End(us),Iteration Time(us),Data Aug Bound(us),Reduce Start(us),Reduce Duration(us)",
        "Level,API Name,Time(us),Count,Max(us)",
        "Process ID,Thread ID,Name,Time(us),Count,Max(us)",
        "Name,Host Self Duration(us),Host Total Duration(us)",
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB)",
        "Component,Timestamp(us),Total Reserved(KB)",
        "event,memory(KB),timestamp(us)",
        "Stream Id,Hit Rate,Victim Rate,Op Name",
        "Fusion Op,Original Ops,Memory Total(KB)",
        "Node,Compute_time(us),Total_time(us)",
        "Node Name,Start Time(us),End Time(us),Queue Size",
        "Operation,Stage,Occurrences,Avg. time (us)",
        "op_id,op_type,num_workers,output_queue_usage_rate,children_id",
        "pipeline_ops,A(id=0)",
        "Metric,Read(MB/s),Write(MB/s)",
        "Mode,Max,Min,Average",
        "Core ID,mac_ratio,vec_ratio",
        "Op Name,Task Duration(us),Current Freq,Rated Freq,Block Dim",
        "instr,pipe,call_count,cycles,running_time(us)",
    )
]

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-(10**25), 10**25) | st.sampled_from(["N/A", "", "1e999", "0"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(
        ["Communication Time Info", "Elapse Time(ms)", "Wait Time(ms)", "Communication Bandwidth Info", "SDMA", "0-1",
         "Size Distribution", "Transit Size(MB)", "Transport Type", "collective", "step1", "Total Op Info", "0"]),
        inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(JSON, st.sampled_from(["collective", "p2p"]))
def test_any_content_of_a_communication_file(
    tmp_path_factory: pytest.TempPathFactory, inner: object, kind: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    good = {"Communication Time Info": {"Elapse Time(ms)": 1, "Wait Time(ms)": 0.5}}
    whole = {"step1": {kind: {"hcom_send__1@2": good, "x": inner}, "y": inner}}
    (folder / "communication.json").write_text(json.dumps(whole))
    assert survives(folder) == 1


EVENTS = st.fixed_dictionaries(
    {"ph": st.sampled_from(["X", "i", "C", "M", "s", 1]), "name": st.sampled_from(
        ["gemm", "ncclDevKernel_AllReduce", "[memory]", "AI Core Freq", "ProfilerStep#1", "hcom_x", None])},
    optional={
        "ts": st.floats() | st.integers(-(10**20), 10**20) | st.sampled_from(["1.7e15", "x", None]),
        "dur": st.floats() | st.integers(-(10**20), 10**20) | st.sampled_from(["1", "x", None]),
        "cat": st.sampled_from(["kernel", "cpu_op", "gpu_memcpy", "user_annotation", 3, [], "Runtime"]),
        "args": st.none() | st.dictionaries(st.sampled_from(
            ["grid", "Task Type", "Task Id", "Collective name", "Group size", "Process Group Ranks", "Device Type",
             "Total Reserved", "Total Allocated", "MHz", "level", "In msg nelems", "dtype", "Seq", "device"]),
            st.floats() | st.integers(-5, 5) | st.sampled_from(["[0, 1]", "Float", "[0, ..., 9]", [1, "x"], [2, 3]]),
            max_size=5),
    },
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.lists(EVENTS, max_size=6), st.sampled_from([0, 1_700_000_000_000_000_000, -1, 1e30, "x"]))
def test_any_events_in_a_trace(
    tmp_path_factory: pytest.TempPathFactory, events: list[object], base: object
) -> None:
    folder = tmp_path_factory.mktemp("any")
    for rank in (0, 1):
        good = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 2, "args": {"device": 0}}
        whole = {"schemaVersion": 1, "baseTimeNanoseconds": base, "distributedInfo": {"rank": rank},
                 "traceEvents": [good, *events]}  # fmt: skip
        (folder / f"{rank}.json").write_text(json.dumps(whole))
    assert survives(folder) >= 2


@pytest.mark.parametrize("encoding", ["utf-8-sig", "gb18030", "utf-16"])
def test_names_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    text = "Name,Type,Start Time(us),Duration(us)\r\n矩阵乘,MatMul,1700000000000000.5,3\r\n"
    (tmp_path / "kernel_details.csv").write_bytes(text.encode(encoding))
    kernels = kernels_of(tmp_path)
    assert kernels.text("name", 0) == "矩阵乘"
    assert kernels.start_ns[0] == 1_700_000_000_000_000_500


def test_a_cell_of_a_million_characters_and_columns_that_come_twice(tmp_path: Path) -> None:
    text = f'Name,Name,Duration(us),Duration(us),Input Shapes\na,b,3,4,"{"1," * 500_000}"\n'
    (tmp_path / "kernel_details.csv").write_bytes(codecs.BOM_UTF8 + text.encode())
    kernels = kernels_of(tmp_path)
    assert (kernels.text("name", 0), kernels.duration_us[0]) == ("a", 3.0)


@pytest.mark.parametrize("lasted", ["-3", "nan", "inf", "1e300", "", "N/A"])
def test_times_that_cannot_be_are_told_and_left_out(tmp_path: Path, lasted: str) -> None:
    (tmp_path / "kernel_details.csv").write_text(
        f"Name,Type,Start Time(us),Duration(us)\na,A,1700000000000000,{lasted}\nb,B,1700000000000009,2\n"
    )
    [rank] = read_profile(tmp_path).ranks
    assert rank.kernels is not None
    assert rank.kernels.duration_us.tolist() == [2.0]
    assert any("1 rows have no time that can be" in note for note in rank.notes)


def test_starts_in_nanoseconds_under_a_header_of_microseconds_are_no_starts(tmp_path: Path) -> None:
    (tmp_path / "kernel_details.csv").write_text(
        "Name,Start Time(us),Duration(us)\na,1700000000000000123,2\n"
    )
    [rank] = read_profile(tmp_path).ranks
    assert "start times of kernels" in {item.what for item in rank.missing}


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_an_archive_is_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    inside = tmp_path / "kernel_details.csv"
    inside.write_text("Name,Duration(us)\na,1\n")
    packed = tmp_path / f"profile.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(packed, "w") as made:
            made.write(inside)
    else:
        with tarfile.open(packed, "w:gz" if kind == "tar.gz" else "w") as made_tar:
            made_tar.add(inside)
    assert not is_log(packed)
    with pytest.raises(InputError, match="archive"):
        read_profile(packed)


def test_what_cannot_be_opened_is_refused_in_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "none", tmp_path / "pipe", Path("/" + "x" * 300), tmp_path / ("y" * 5000)):
        assert not is_log(path)
        with pytest.raises(InputError):
            read_profile(path)


@pytest.mark.parametrize("content", ["", "{", "\x00" * 50, "[[[[", '{"traceEvents": [', "a,b\n1,2\n"])
def test_a_folder_of_which_nothing_can_be_read_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    for name in ("trace_view.json", "kernel_details.csv"):
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=r"not a profile|could be read"):
        read_profile(tmp_path)
    assert survives(tmp_path) == 0
