"""Programs shown by the lines of a log."""

import pytest

from recommender.diagnosis.log_programs import BASES, CODES, SERVERS, program_marks, server_of
from recommender.diagnosis.statements import programs
from recommender.diagnosis.text_index import TextIndex


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("INFO 01-02 03:04:05 [loggers.py:9] hello", {"vllm"}),
        ('File "/x/vllm_ascend/worker.py", line 3', {"vllm", "vllm-ascend"}),
        ("[2026-01-02 03:04:05 TP0] load", {"sglang"}),
        ('File "/x/torch_npu/utils.py"', {"torch", "torch_npu"}),
        ("deepspeed with transformers", {"deepspeed", "transformers"}),
        ("NCCL INFO RCCL version 2.18.6+hip6.2", {"rccl", "nccl"}),
        ("step 3 loss 2.1", set()),
    ],
)
def test_a_line_shows_its_programs_and_what_they_run_in(line: str, shown: set[str]) -> None:
    text = line.encode()
    marks = {name for name, mark in next(TextIndex(program_marks()).find([text])) if mark.search(text)}
    marks |= {name for name, code in CODES.items() if code.search(text)}
    assert marks | {BASES[name] for name in marks if name in BASES} == shown


def test_the_special_server_stands_before_the_one_it_runs_in() -> None:
    assert server_of(("torch", "vllm", "vllm-ascend")) == "vllm-ascend"
    assert server_of(("torch", "deepspeed")) == ""


def test_each_server_has_statements() -> None:
    assert set(SERVERS) <= set(programs())
