"""Known faults in logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg.nouns.knowledge import FaultPattern
from recommender.diagnosis.logs import read_log
from recommender.store.shipped_knowledge import knowledge

KNOWN = [noun for noun in knowledge() if isinstance(noun, FaultPattern)]


def faults(tmp_path: Path, text: str) -> dict[str, tuple[int, ...]]:
    log = tmp_path / "train.log"
    log.write_text(text, encoding="utf-8")
    return {item.fault.id: item.lines for item in read_log(log, KNOWN)}


@pytest.mark.parametrize(
    "written", ["error code 507014", "ret=507014", "[ERROR] rtStreamSync failed, error code:507014,"]
)
def test_a_code_is_found_where_a_word_says_it_is_one(tmp_path: Path, written: str) -> None:
    found = faults(tmp_path, f"step 1 ok\n{written}\n")
    assert list(found.values()) == [(2,)]


@pytest.mark.parametrize("text", ["iteration 100000 loss 2.1", "global_batch 507014 tokens", "1005070140"])
def test_a_bare_number_is_no_code(tmp_path: Path, text: str) -> None:
    assert faults(tmp_path, text + "\n") == {}


def test_every_code_that_is_known_is_found(tmp_path: Path) -> None:
    for fault in KNOWN:
        for code in fault.codes:
            assert fault.id in faults(tmp_path, f"ERROR: ACL error code: {code}\n"), code


def test_bytes_that_are_no_text_are_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(b"\xff\xfe\nret=507014\n")
    assert [item.lines for item in read_log(log, KNOWN)] == [(2,)]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("[269.51] NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.", "xid-fallen-off-the-bus"),
        ("NVRM: Xid (0000:01:00): 48, An uncorrectable double bit error", "cuda-ecc-uncorrectable"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "cuda-out-of-memory"),
        ("CUDA error: an illegal memory access was encountered", "cuda-illegal-address"),
        ("RuntimeError: CUDA error: device-side assert triggered", "cuda-device-assert"),
        (
            "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)",
            "nccl-watchdog-timeout",
        ),
        ("ncclUnhandledCudaError: Call to CUDA function failed.", "nccl-cuda-error"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "cudnn-failed"),
        ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.", "hip-out-of-memory"),
        ("Memory access fault by GPU node-1 (Agent handle: 0x37b9900)", "hip-illegal-address"),
        ("[ERROR] 2024-03-07 (PID:1, Device:0, RankID:-1) ERR01002 OPS invalid type", "pta-invalid-type"),
        ("EJ0001: Failed to initialize the HCCP process.", "hccp-already-running"),
    ],
)
def test_a_line_as_programs_write_it_names_its_fault(tmp_path: Path, line: str, fault: str) -> None:
    assert faults(tmp_path, f"step 1 ok\n{line}\n") == {fault: (2,)}


@pytest.mark.parametrize(
    "line",
    ["NVRM: Xid (PCI:0000:79:00): 154, recovery action", "Xid 7", "hipErrorNoDeviceFound", "steps 561003"],
)
def test_numbers_and_words_beside_a_code_are_none(tmp_path: Path, line: str) -> None:
    assert faults(tmp_path, line + "\n") == {}
