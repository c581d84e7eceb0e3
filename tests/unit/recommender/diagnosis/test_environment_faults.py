"""Errors of what programs run in, in the words of Python, the shell, the loader and job schedulers."""

from pathlib import Path

import pytest

import data
from ingest.knowledge.files import read_knowledge
from kg.nouns.knowledge import FaultPattern
from recommender.diagnosis.known_faults import read_faults

FILES = ("faults.yaml", "faults-devices.yaml", "faults-engines.yaml", "faults-environment.yaml")
FAULTS = [
    noun
    for name in FILES
    for noun in read_knowledge(data.text(f"knowledge/{name}"), name)
    if isinstance(noun, FaultPattern)
]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("ModuleNotFoundError: No module named 'apex'", "python-module-missing"),
        ("(Worker pid=7) ERROR 07-14 09:13:11 [x.py:8] ModuleNotFoundError: No module named 'apex.normalization'", "python-module-missing"),
        ("ImportError: cannot import name 'top_k' from 'transformers.generation' (/usr/lib/x.py)", "python-releases-apart"),
        ("TypeError: Attention.forward() got an unexpected keyword argument 'layer_idx'", "python-releases-apart"),
        ("start.sh: line 12: 88123 Illegal instruction     (core dumped) llama-server -m m.gguf", "illegal-instruction"),
        ("json.decoder.JSONDecodeError: Extra data: line 3 column 1 (char 90)", "json-broken"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=9.0.", "process-killed"),
    ],
)  # fmt: skip
def test_what_an_environment_lacks_is_named(tmp_path: Path, line: str, fault: str) -> None:
    (log := tmp_path / "run.log").write_text(line + "\n")
    assert [item.fault.id for item in read_faults(log, FAULTS)] == [fault]


@pytest.mark.parametrize(
    "line",
    [
        """WARNING 07-14 09:11:32 [cpu.py:12] Failed to import from vllm._C: ModuleNotFoundError("No module named 'vllm._C'")""",
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB",
        "INFO killed 2 of 3 idle workers at line 5",
        "INFO the command was not found in the cache, compiling it",
    ],
)
def test_what_programs_tell_on_their_way_is_no_fault_of_the_environment(tmp_path: Path, line: str) -> None:
    (log := tmp_path / "run.log").write_text(line + "\n")
    environment = {item.id for item in FAULTS if item.source.title.startswith(("Python", "Linux", "Bash"))}
    assert not environment & {item.fault.id for item in read_faults(log, FAULTS)}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("[WARNING] [stage3.py:1991:step] 3 pytorch allocator cache flushes since last step. this happens when there is high memory pressure", "allocator-retries"),
        ("[rank0]:[titan] WARNING - 164 CUDA memory allocation retries.", "allocator-retries"),
        ("RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons", "ddp-ready-twice"),
        ("[E ProcessGroupNCCL.cpp:630] [Rank 5] Some NCCL operations have failed or timed out. Due to the asynchronous nature", "nccl-watchdog-timeout"),
    ],
)  # fmt: skip
def test_what_trainings_say_of_memory_gradients_and_collectives_is_named(
    tmp_path: Path, line: str, fault: str
) -> None:
    (log := tmp_path / "run.log").write_text(line + "\n")
    assert [item.fault.id for item in read_faults(log, FAULTS)] == [fault]
