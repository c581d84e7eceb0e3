"""Known faults in logs."""

from pathlib import Path

import pytest

from kg.nouns.knowledge import FaultPattern
from recommender.diagnosis import log_lines, logs
from recommender.diagnosis.log_lines import KEPT_LINES
from recommender.diagnosis.logs import read_log
from recommender.store.shipped_knowledge import knowledge

KNOWN = [noun for noun in knowledge() if isinstance(noun, FaultPattern)]


def faults(tmp_path: Path, text: str) -> dict[str, tuple[int, ...]]:
    log = tmp_path / "train.log"
    log.write_text(text, encoding="utf-8")
    return {item.fault.id: item.lines for item in read_log(log, KNOWN).faults}


def test_a_code_is_found_where_a_word_says_it_is_one(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        "step 1 ok\nerror code 507014\nret=507014\n[ERROR] rtStreamSync failed, error code:507014,\n",
    )
    assert list(found.values()) == [(2, 3, 4)]


def test_numbers_and_words_beside_a_code_are_none(tmp_path: Path) -> None:
    lines = (
        "iteration 100000 loss 2.1", "global_batch 507014 tokens", "1005070140", "Xid 7", "hipErrorNoDeviceFound",
        "NVRM: Xid (PCI:0000:79:00): 154, recovery action", "steps 561003",
    )  # fmt: skip
    assert faults(tmp_path, "\n".join(lines) + "\n") == {}


def test_every_code_that_is_known_is_found(tmp_path: Path) -> None:
    for start in range(0, max(len(fault.codes) for fault in KNOWN), KEPT_LINES):
        codes = [(fault.id, code) for fault in KNOWN for code in fault.codes[start : start + KEPT_LINES]]
        found = faults(tmp_path, "".join(f"ERROR: ACL error code: {code}\n" for _, code in codes))
        assert [item for line, item in enumerate(codes, 1) if line not in found.get(item[0], ())] == []


WRITTEN = {
    "[269.51] NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.": "xid-fallen-off-the-bus",
    "NVRM: Xid (0000:01:00): 48, An uncorrectable double bit error": "cuda-ecc-uncorrectable",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.": "cuda-out-of-memory",
    "CUDA error: an illegal memory access was encountered": "cuda-illegal-address",
    "RuntimeError: CUDA error: device-side assert triggered": "cuda-device-assert",
    "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)": "nccl-watchdog-timeout",
    "ncclUnhandledCudaError: Call to CUDA function failed.": "nccl-cuda-error",
    "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED": "cudnn-failed",
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.": "hip-out-of-memory",
    "Memory access fault by GPU node-1 (Agent handle: 0x37b9900)": "hip-illegal-address",
    "[ERROR] 2024-03-07 (PID:1, Device:0, RankID:-1) ERR01002 OPS invalid type": "pta-invalid-type",
    "EJ0001: Failed to initialize the HCCP process.": "hccp-already-running",
}
"""The fault of each line, as programs write it."""


def test_a_line_as_programs_write_it_names_its_fault(tmp_path: Path) -> None:
    found = faults(tmp_path, "\n".join(["step 1 ok", *WRITTEN]) + "\n")
    assert found == {fault: (line,) for line, fault in enumerate(WRITTEN.values(), 2)}


def test_a_statement_of_a_released_program_is_named_with_its_numbers(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "(EngineCore pid=3) INFO 01-02 03:04:05 [core.py:9] start\n"
        "(EngineCore pid=3) ERROR 01-02 03:04:06 [core.py:9] ValueError: long_prefill_token_threshold (9000) cannot "
        "be greater than the max_model_len (8192).\n"
    )
    reading = read_log(log, KNOWN)
    assert reading.faults == ()
    [seen] = reading.statements
    assert (seen.statement.program, seen.statement.level, seen.statement.where) == (
        "vllm",
        "raise",
        "ValueError",
    )
    assert seen.values == {"long_prefill_token_threshold": "9000", "max_model_len": "8192"}
    assert seen.lines == (2,)
    assert reading.names_error
    assert "vllm" in reading.programs


def test_an_error_that_no_table_has_is_unknown_and_the_last_ones_are_nearest(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("".join(f"OddError: the {word} broke\n" for word in ("first", "cat", "dog", "last")))
    reading = read_log(log, KNOWN)
    assert not reading.names_error
    assert not reading.has_own_lines
    assert [number for number, _ in reading.nearest] == [2, 3, 4]
    assert "known faults" in reading.looked_for


def test_a_line_of_state_is_no_error_though_it_speaks_of_memory(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "INFO 01-02 03:04:05 [gpu_worker.py:9] Sleep mode freed 3.10 GiB memory, 1.20 GiB memory is still in use.\n"
    )
    reading = read_log(log, KNOWN)
    assert not reading.names_error
    assert reading.has_own_lines
    assert [item.values for item in reading.states] == [{"freed_bytes": "3.10 GiB", "used_bytes": "1.20 GiB"}]
    assert reading.unknown == ()


def test_a_fault_gives_the_numbers_of_its_last_line(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    line = "error: ub overflow, requires {} bits while 1572864 bits available!\n"
    log.write_text("BLOCK_SIZE = 4096\n" + line.format(1600000) + line.format(3145728))
    reading = read_log(log, KNOWN)
    [seen] = reading.faults
    assert seen.count == 2
    assert seen.values == {"required": "3145728 bits", "available": "1572864 bits"}
    assert reading.sizes == {"BLOCK_SIZE": 4096}


def test_faults_stand_with_the_last_first(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("CUDA out of memory\nNVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.\n")
    assert [item.fault.id for item in read_log(log, KNOWN).faults] == [
        "xid-fallen-off-the-bus",
        "cuda-out-of-memory",
    ]


def test_a_warning_of_nccl_is_its_word_for_an_error(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("n1:4:43 [3] ibvwrap.cc:77 NCCL WARN Call to ibv_poll_cq() returned -1\n")
    [found] = read_log(log, KNOWN).statements
    assert found.is_grave
    assert "nccl" in found.programs


def test_a_log_of_lines_without_end_keeps_what_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "MOST_SHAPES", 3)
    monkeypatch.setattr(logs, "MOST_KEPT", 4)
    log = tmp_path / "run.log"
    words = [f"NCCL INFO {letter} is there" for letter in "ghijklmnopqrstuvwxyz"]
    warning = "n1:4:43 [3] ibvwrap.cc:77 NCCL WARN Call to ibv_poll_cq() returned -1"
    log.write_text("\n".join([*words[:12], warning, *words[12:]]) + "\n")
    found = read_log(log, KNOWN)
    assert [item.lines for item in found.statements] == [(13,)]
    assert len(found.following) < 12


def test_words_of_a_program_that_the_log_does_not_show_are_not_called_its_statement(tmp_path: Path) -> None:
    error = (
        "ValueError: long_prefill_token_threshold (9000) cannot be greater than the max_model_len (8192).\n"
    )
    log = tmp_path / "run.log"
    told = {}
    for name in ("vllm", "llamafactory", "odd"):
        log.write_text(f"{name} starts\n{error}", encoding="utf-8")
        [told[name]] = read_log(log, KNOWN).statements
    log.write_text("llamafactory starts\n" + error.replace("ValueError", "KeyError"), encoding="utf-8")
    assert read_log(log, KNOWN).statements == ()
    assert {name: item.is_own for name, item in told.items()} == {
        "vllm": True,
        "llamafactory": False,
        "odd": True,
    }
