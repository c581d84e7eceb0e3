"""``tunegraph diagnose``: profiles and logs in, causes out."""

import pickle
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.profiles import traced_runs
from recommender.report.document import ReportDocument

HEADER = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim"


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A rank that spends a third of its step on casts."""
    inside = tmp_path / "run" / "host_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    inside.mkdir(parents=True)
    lines, at = [HEADER], 0.0
    for place in range(300):
        kind = "Cast" if place % 3 == 2 else "MatMulV3"
        core = "AI_VECTOR_CORE" if kind == "Cast" else "AI_CORE"
        lines.append(f"7,{kind}_{place},{kind},{core},1700000000{at:06.1f},100,0.5,24")
        at += 100.5
    (inside / "kernel_details.csv").write_text("\n".join(lines) + "\n")
    (inside / "step_trace_time.csv").write_text(
        "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage\n"
        "7,30000,0,0,0,149.5,30149.5\n"
    )
    return tmp_path / "run"


def test_the_cause_is_told_with_its_rows_and_what_was_not_collected(run: Any, profile: Path) -> None:
    ran = run("diagnose", profile)
    assert ran.code == 0
    assert "[cast-traffic]" in ran.out
    assert re.search(r"kernel_details\.csv:\d+", ran.out)
    assert "Remove" in ran.out or "try" in ran.out
    assert "profile_memory=True" in ran.out


def test_json_is_stable_and_has_the_same(run: Any, profile: Path) -> None:
    [cause] = run("diagnose", profile, "--json").json["causes"]
    assert cause["cause"] == "cast-traffic"
    assert cause["share"] == pytest.approx(0.33, abs=0.02)
    assert cause["gain"] == {"factor": cause["ceiling"], "kind": "ceiling"}
    assert {"remedies", "chain", "confidence", "gain", "ceiling", "perhaps", "evidence"} <= cause.keys()


def test_the_ledger_adds_up_to_the_step_on_the_screen_and_in_json(run: Any, profile: Path) -> None:
    out = run("diagnose", profile).out
    assert "Where the step goes" in out
    assert re.search(r"Cast +converts types +10\.00 +33\.2%", out)
    ledger = run("diagnose", profile, "--json").json["ledger"]
    [rank] = ledger["ranks"]
    assert sum(item["us"] for item in rank["accounts"]) == pytest.approx(rank["step_us"], abs=0.01)
    assert ledger["error"] < 1e-3


def test_growth_without_a_known_cause_is_told_with_what_grew(run: Any, profile: Path, tmp_path: Path) -> None:
    longer = tmp_path / "longer"
    shutil.copytree(profile, longer)
    [table] = longer.rglob("kernel_details.csv")
    table.write_text(
        table.read_text().replace(
            "MatMulV3,AI_CORE,1700000000000000.0,100,", "MatMulV3,AI_CORE,1699999999990000.0,10100,"
        )
    )
    [steps] = longer.rglob("step_trace_time.csv")
    steps.write_text(steps.read_text().replace("7,30000,0,0,0,149.5,30149.5", "7,40000,0,0,0,149.5,40149.5"))
    ran = run("diagnose", longer, "--compare", profile)
    assert "What changed in a step: +10.00 ms (+33%)" in ran.out
    assert "Nothing costs more" not in ran.out
    changes = run("diagnose", longer, "--compare", profile, "--json").json["ledger"]["difference"]
    grown = sum(item["now_us"] - item["before_us"] for item in changes["changes"])
    assert grown == pytest.approx(10_000, abs=0.1)


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [
            value for name, value in attrs if name in {"src", "href"} and value and value[0] != "#"
        ]


def test_the_page_is_whole_and_needs_no_network(run: Any, profile: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("diagnose", profile, "--html", page).code == 0
    parsed = Page()
    parsed.feed(page.read_text())
    assert all(link.startswith("https://") for link in parsed.links)  # sources, which a reader may open
    [part] = ReportDocument.read(page).parts
    heat = part.content["heat"]
    assert {item["name"] for item in heat["operators"]} == {"MatMulV3", "Cast"}
    assert heat["rows"][0][1] >= 2
    assert [item.name for item in tmp_path.iterdir() if item.name.startswith(".page")] == []


def test_a_page_is_not_written_over_a_folder(run: Any, profile: Path, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing" / "page.html"):
        ran = run("diagnose", profile, "--html", place)
        assert ran.code == 2
        assert str(place if place == tmp_path else place.parent) in ran.fault


@pytest.mark.parametrize("option", ["--compare", "--html"])
def test_what_takes_a_profile_is_refused_beside_a_log(run: Any, tmp_path: Path, option: str) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 3\n")
    ran = run("diagnose", log, option, tmp_path / "thing")
    assert ran.code == 2
    assert option in ran.fault


def test_an_empty_log_is_no_log(run: Any, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.touch()
    ran = run("diagnose", log)
    assert ran.code == 2
    assert "is empty" in ran.fault


def test_a_run_of_another_job_is_doubted(run: Any, profile: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(profile, other)
    [table] = other.rglob("kernel_details.csv")
    table.write_text(table.read_text().replace("MatMulV3", "Conv2D").replace(",24\n", ",20\n"))
    ran = run("diagnose", profile, "--compare", other)
    assert ran.code == 0
    assert "is it the same job?" in ran.err
    assert "is it the same job?" not in run("diagnose", profile, "--compare", profile).err


def test_a_log_is_read_for_known_faults(run: Any, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 3\nRuntimeError: error code is 507014\n")
    ran = run("diagnose", log, "--json")
    [fault] = ran.json["faults"]
    assert "507014" in fault["codes"]
    assert fault["lines"] == [2]
    assert "remedy" in run("diagnose", log).out


@pytest.mark.parametrize("made", ["missing", "folder", "table"])
def test_what_is_no_profile_is_refused_with_what_was_looked_for(run: Any, tmp_path: Path, made: str) -> None:
    path = tmp_path / "thing.csv"
    if made == "folder":
        path.mkdir()
    elif made == "table":
        path.write_text("a,b\n1,2\n")
    ran = run("diagnose", path)
    assert ran.code == 2
    assert "thing.csv" in ran.fault
    assert made == "missing" or "kernel_details.csv" in ran.err


def test_the_bottlenecks_of_a_profile_make_the_question(run: Any, profile: Path) -> None:
    ran = run(
        *("recommend", "--model", "llama-2-7b", "--phase", "training", "--hardware", "ascend-910b3"),
        *("--objective", "throughput", "--from-profile", profile, "--json"),
    )
    assert ran.code == 0
    assert "cast-traffic 33%" in ran.err
    assert [item["bottleneck"] for item in ran.json["bottlenecks"]] == ["cast-traffic"]
    assert ran.json["ceiling"] > 1
    assert "--bf16" in {item["key"] for item in ran.json["start"]["settings"]}  # its repair is in the start


def test_matching_cases_stand_beside_the_remedies(run: Any, profile: Path) -> None:
    [cause] = run("diagnose", profile, "--hardware", "ascend-910b3", "--json").json["causes"]
    cases = cause["matching_cases"]
    assert cases
    assert {item["bottleneck"] for item in cases} <= set(cause["chain"])
    assert all(item["factor"] > 0 and item["kind"] in {"published", "measured", "claimed"} for item in cases)
    assert all(item["distance_class"] for item in cases)


def test_limits_of_the_user_hold_for_remedies_and_cases(run: Any, profile: Path) -> None:
    [free] = run("diagnose", profile, "--json").json["causes"]
    [bound] = run("diagnose", profile, "--settings-only", "--keep-accuracy", "--json").json["causes"]
    assert any(not item["settings"] or item["accuracy"] != "unchanged" for item in free["remedies"])
    assert all(item["settings"] and item["accuracy"] == "unchanged" for item in bound["remedies"])


def test_a_memory_snapshot_says_who_holds_the_peak_and_no_times(run: Any, tmp_path: Path) -> None:
    forward = [{"filename": "model.py", "line": 9, "name": "forward"}]
    trace = [{"action": "alloc", "addr": 1, "size": 30 << 20, "frames": forward}]
    segment = {"device": 0, "total_size": 80 << 20, "allocated_size": 55 << 20, "blocks": []}
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [trace]}))
    ran = run("diagnose", path)
    assert ran.code == 0
    assert re.search(r"forward +30\.0 +30\.0 +30\.0", ran.out)
    assert re.search(r"before the recording +25\.0", ran.out)
    assert "Nothing" not in ran.out


def test_the_log_of_a_server_shows_its_load_and_a_lack_of_blocks(run: Any, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "[2026-06-01] Decode batch. #running-req: 8, #token: 9, token usage: 0.99, gen throughput (token/s): 450.0, "
        "#queue-req: 3\n"
    )
    ran = run("diagnose", log)
    assert ran.code == 0
    assert re.search(r"generated tokens/s +450\.0 +450\.0", ran.out)
    assert "[kv-block-shortage] in 100% of the samples" in ran.out
    assert "--schedule-conservativeness higher than" in ran.out


def test_a_text_that_is_no_log_is_not_called_clean(run: Any, tmp_path: Path) -> None:
    log = tmp_path / "notes.txt"
    log.write_text("# Notes\nHow we train on many devices.\nThe end.\nMore.\n")
    ran = run("diagnose", log)
    assert ran.code == 3
    assert "nothing of its 4 lines is understood" in ran.fault
    assert "looked for" in ran.err
    told = run("diagnose", log, "--json")
    assert told.code == 3
    assert told.json["understood"] is False
    assert len(told.json["nearest"]) == 3


def test_a_statement_of_a_released_program_is_named_with_its_releases_and_numbers(
    run: Any, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "(EngineCore pid=3) ERROR 01-02 03:04:06 [core.py:9] ValueError: long_prefill_token_threshold (9000) cannot "
        "be greater than the max_model_len (8192).\n"
    )
    ran = run("diagnose", log)
    assert ran.code == 0
    assert re.search(r"ValueError, known statement of vllm [\d.]+\S* to [\d.]+, line 1", ran.out)
    assert "long_prefill_token_threshold 9000, max_model_len 8192" in " ".join(ran.out.split())


def test_faults_of_devices_stand_beside_a_log(run: Any, tmp_path: Path) -> None:
    log, kernel, counters = (tmp_path / name for name in ("run.log", "dmesg.txt", "hccn.txt"))
    log.write_text("[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)\n")
    kernel.write_text("[1.1] NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n")
    counters.write_text("mac_rx_bad_pkt_num:0\n")
    ran = run("diagnose", log, "--beside", kernel, "--beside", counters, "--json")
    assert ran.code == 0
    seen = ran.json["beside"]
    assert [item["fault"] for item in seen[str(kernel)]] == ["xid-fallen-off-the-bus"]
    assert seen[str(counters)] == []
    assert "no fault of a device" in run("diagnose", log, "--beside", counters).out
    assert run("diagnose", log, "--beside", tmp_path / "none.txt").code == 2


def test_the_memory_of_a_device_makes_the_value(run: Any, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "INFO 01-02 03:04:05 [utils.py:9] non-default args: {'gpu_memory_utilization': 0.85, 'max_model_len': 32768}\n"
        "ERROR 01-02 03:04:06 [core.py:9] ValueError: To serve at least one request with the models's max seq len "
        "(32768), (6.00 GiB KV cache is needed, which is larger than the available KV cache memory (2.72 GiB).\n"
    )
    out = run("diagnose", log, "--hardware", "a100-sxm4-80gb").out
    assert "--max-model-len 14848 in place of 32768" in out
    assert "--gpu-memory-utilization 0.9 in place of 0.85" in out
    assert "--kv-cache-dtype fp8: not enough alone" in out
    assert "--gpu-memory-utilization higher than 0.85" in run("diagnose", log).out


def test_who_else_holds_the_memory_is_named_before_any_setting(run: Any, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.15 GiB "
        "of which 1.19 GiB is free. Process 12345 has 43.12 GiB memory in use. Including non-PyTorch memory, this process "
        "has 34.83 GiB memory in use.\n"
    )
    out = " ".join(run("diagnose", log).out.split())
    assert "process 12345 holds 43.12 GiB of this device" in out
    assert out.index("12345 holds") < out.index("remedy")


@pytest.mark.parametrize(
    ("message", "first"),
    [
        (
            (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
                "23.69 GiB of which 1.20 GiB is free. Of the allocated memory 16.80 GiB is allocated by PyTorch, and "
                "{} GiB is reserved by PyTorch but unallocated."
            ),
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        ),
        (
            (
                "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity; 50.00 GiB "
                "already allocated; 50.00 GiB current active; 120.00 MiB free; 5{} GiB reserved in total by PyTorch)"
            ),
            "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True",
        ),
    ],
)
def test_what_lies_reserved_in_pieces_is_told_from_what_is_used(
    run: Any, tmp_path: Path, message: str, first: str
) -> None:
    log = tmp_path / "run.log"
    log.write_text(message.format("5.10") + "\n")
    assert f"none of their pieces holds 2.00 GiB: write {first}" in " ".join(run("diagnose", log).out.split())
    log.write_text(message.format("1.10") + "\n")
    assert "of their pieces" not in " ".join(run("diagnose", log).out.split())


def test_the_own_process_that_a_container_numbers_otherwise_is_not_to_be_ended(
    run: Any, tmp_path: Path
) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        'INFO >>   Instantaneous batch size per device = 8\n  File "/x/llamafactory/cli.py", line 8, in <module>\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB. GPU 2 has a total capacity of 79.11 GiB of "
        "which 5.31 GiB is free. Process 88213 has 73.79 GiB memory in use. Of the allocated memory 69.02 GiB is allocated by "
        "PyTorch, and 3.10 GiB is reserved by PyTorch but unallocated.\n"
    )
    out = " ".join(run("diagnose", log).out.split())
    assert "88213 holds" not in out
    assert "--per_device_train_batch_size 4 in place of 8 (in the log)" in out  # 9.28 of 5.31 GiB
    log.write_text(log.read_text().replace("69.02 GiB is", "75.02 GiB is"))
    assert "88213 holds" in " ".join(run("diagnose", log).out.split())


def test_an_error_before_all_that_failed_in_turn_comes_first(run: Any, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    timeout = "[rank3]: EI0002: [PID: 4122] Wait Notify Timeout. The wait execution of the Notify register times out.\n"
    others = "".join(f"[rank{name}]: OddError: {name} {name}\n" for name in ("a", "b", "c", "d"))
    log.write_text("[rank0]: OSError: [Errno 5] Input/output error: 'corpus.bin'\n" + timeout + others)
    out = run("diagnose", log).out
    assert out.startswith("first error, which no table has, line 1")
    assert out.index("corpus.bin") < out.index("EI0002")
    log.write_text(timeout + others)
    assert "first error" not in run("diagnose", log).out


def test_a_folder_of_several_vendors_is_no_run(run: Any, profile: Path, tmp_path: Path) -> None:
    shutil.copytree(profile, tmp_path / "mixed" / "rank0")
    world = replace(traced_runs.WORLDS["trains on A100"], steps=1, layers=1)
    traced_runs.write(world, np.random.default_rng(1), tmp_path / "mixed" / "worker1.pt.trace.json")
    ran = run("diagnose", tmp_path / "mixed")
    assert ran.code == 2
    assert re.search(r"several vendors: huawei .* nvidia", ran.err)


def test_a_job_is_set_beside_its_last_runs(run: Any, profile: Path) -> None:
    assert "its first run is kept" in run("diagnose", profile, "--job", "nightly").err
    assert "Nothing costs more than it did before." in run("diagnose", profile, "--job", "nightly").out
    assert run("diagnose", profile, "--job", "nightly", "--compare", profile).code == 2
