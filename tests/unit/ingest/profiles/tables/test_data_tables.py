"""Folders of MindSpore's profiler, made by hand from the columns that it documents and writes."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from ingest.profiles.folders import read_profile

PIPELINE: dict[str, list[Any]] = {
    "pipeline_ops": ["DeviceQueue(id=0)", "EpochCtrl(id=1)", "Batch(id=2)", "Map(id=3)", "ImageFolder(id=4)"],
    "op_names": ["DeviceQueue", "EpochCtrl", "Batch", "Map", "ImageFolder"],
    "op_ids": [0, 1, 2, 3, 4],
    "num_workers": [1, 1, 4, 8, 8],
    "queue_average_size": [-1, -1, 0.5, 6.0, 15.5],
    "queue_utilization_pct": [-1, -1, 3.1, 37.5, 96.9],
    "queue_empty_freq_pct": [-1, -1, 82.0, 5.0, 0.0],
    "children_ids": [[1], [2], [3], [4], []],
    "parent_id": [-1, 0, 1, 2, 3],
    "avg_cpu_pct": [0.1, 0.0, 40.0, 700.0, 20.0],
    "per_pipeline_time": [41.0],
    "per_push_queue_time": [2.5],
    "per_batch_time": [43.5],
    "avg_cpu_pct_per_worker": [0.1, 0.0, 10.0, 87.5, 2.5],
    "bottleneck_warning": ["Map(id=3)"],
    "bottleneck_suggestion": ["Map(id=3) has high CPU utilization per worker of 87.5%"],
}


@pytest.fixture
def home(tmp_path: Path, rows: Any) -> Path:
    inside = tmp_path / "rank-3_20250101_ascend_ms" / "ASCEND_PROFILER_OUTPUT"
    inside.mkdir(parents=True)
    made = rows("MatMul", "Add")
    with (inside / "kernel_details.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["Step ID" if name == "Step Id" else name for name in made[0]])
        writer.writeheader()
        writer.writerows({"Step ID" if k == "Step Id" else k: v for k, v in row.items()} for row in made)
    (inside / "step_trace_time.csv").write_text(
        "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive),Preparing\n7,30,0,0,0,10,40,0,0,5\n"
    )
    (inside.parent / "profiler_info_3.json").write_text(
        json.dumps({"ms_version": "2.7.0", "cann_version": "8.2"})
    )
    return inside


def test_a_folder_is_read_as_one_of_mindspore(home: Path) -> None:
    [rank] = read_profile(home.parent.parent).ranks
    assert (rank.rank, rank.layout) == (3, "MindSpore profiler")
    assert rank.software == {"mindspore": "2.7.0", "cann": "8.2"}
    assert rank.kernels is not None
    assert rank.kernels.text("step", 0) == "7"
    assert (rank.steps[0].free_us, rank.steps[0].preparing_us) == (10.0, 5.0)
    assert "queues and workers of the data pipeline" in {item.what for item in rank.missing}


@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_data_pipeline_is_the_same_from_both_forms(home: Path, form: str) -> None:
    path = home / f"minddata_pipeline_summary_3.{form}"
    if form == "json":
        path.write_text(json.dumps(PIPELINE))
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([key, *cells] for key, cells in PIPELINE.items())
    [rank] = read_profile(home.parent.parent).ranks
    found = rank.details.pipeline
    assert found is not None
    assert [stage.name for stage in found.stages] == [
        "DeviceQueue",
        "EpochCtrl",
        "Batch",
        "Map",
        "ImageFolder",
    ]
    assert found.warning == "Map(id=3)"
    assert all(item.what != "queues and workers of the data pipeline" for item in rank.missing)


@pytest.mark.parametrize(
    "content",
    [{"pipeline_ops": [], "queue_average_size": []}, {"pipeline_ops": ["A"], "op_ids": [0, 1], "queue_": 1}],
)
def test_a_pipeline_that_is_cut_is_told(home: Path, content: dict[str, Any]) -> None:
    (home / "minddata_pipeline_summary_3.json").write_text(json.dumps(content))
    [rank] = read_profile(home.parent.parent).ranks
    assert rank.details.pipeline is None
    assert any("data pipeline" in note for note in rank.notes)


def test_the_raw_table_stands_in_for_the_summary(home: Path) -> None:
    (home / "minddata_pipeline_raw_3.csv").write_text(
        "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
        "output_queue_usage_rate,sample_interval,parent_id,children_id\n"
        '1,Batch,4,"[1, 2]",1.5,8,0.1875,10,0,"[2]"\n2,Map,8,[],,,,10,1,\n'
    )
    [rank] = read_profile(home.parent.parent).ranks
    assert rank.details.pipeline is not None
    assert [(stage.number, stage.name) for stage in rank.details.pipeline.stages] == [
        (1, "Batch"),
        (2, "Map"),
    ]


def test_operations_of_a_data_set_are_no_time_of_the_step(home: Path) -> None:
    (home / "dataset.csv").write_text(
        "Operation,Stage,Occurrences,Avg. time (us),Custom Info\nPipeline,AfterPipeline,3,200.5,{}\nBatch,,2,,\n"
    )
    [rank] = read_profile(home.parent.parent).ranks
    [call] = [call for call in rank.calls if call.level == "dataset"]
    assert (call.name, call.total_us, call.count) == ("Pipeline AfterPipeline", 601.5, 3)
    assert not [call for call in rank.calls if call.level == "loader"]
