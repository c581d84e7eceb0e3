"""Law 14: a question with any number in it is answered or refused by name within five CPU seconds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from benchmarks.kinds.command_line import BUDGET_S, CommandLine
from cli.app import app
from tests.quiet_machine import run_in_budget

NUMBERS = ("999983", "1000000000000000000", "9" * 400)
"""More than anything is: prime, and with many divisors."""
MORE = ("3", "1e6", "1000000000")
NOTHING = ("0", "-1")
NO_NUMBERS = ("nan", "-inf", "Infinity", "1e400")
SERVING = "--model qwen3-32b --phase serving --hardware 910b3"
EXPERTS = "--model deepseek-v3 --phase serving --hardware atlas-800i-a3"
TRAINING = "--model llama-2-7b --phase training --hardware 910b3"
QUESTIONS = [
    f"recommend {SERVING} --count=@",
    f"recommend {EXPERTS} --count=@",
    f"recommend {SERVING} --count 4 --shape input_len=@,output_len=128",
    f"recommend {SERVING} --count 4 --shape input_len=128,output_len=@",
    f"recommend {TRAINING} --count 8 --shape seq_len=@",
    f"recommend {SERVING} --count 4 --trait concurrency=@",
    f"recommend {SERVING} --count 4 --trait shared_prefix_share=@",
    f"recommend {SERVING} --count 4 --limit tpot<=@ms",
    f"recommend {SERVING} --count 4 --limit peak_memory<=@GB",
    f"recommend {TRAINING} --count 8 --bottleneck allreduce-wait=@",
    f"recommend {SERVING} --count 4 --current tensor_parallel_size=@",
    f"recommend {SERVING} --count 4 --current max_model_len=@",
    f"recommend {SERVING} --count 4 --current gpu_memory_utilization=@",
    f"recommend {TRAINING} --count 8 --current micro_batch_size=@",
    f"recommend {TRAINING} --count 8 --current pipeline_model_parallel_size=@",
    "recommend --op gemm --hardware 910b3 --shape M=@,N=4096,K=4096",
    f"recommend {SERVING} --count 4 -k=@",
    f"recommend {SERVING} --count 4 --by 2027-01-01 --lasts @h",
    f"recommend {SERVING} --count 4 --by 2027-01-01 --weigh @:1",
    f"estimate {TRAINING} --count=@ --set seq_len=4096",
    f"estimate {SERVING} --count 8 --set tensor_parallel=@",
    f"estimate {SERVING} --count 8 --set batch=@",
    f"estimate {SERVING} --count 8 --set request_rate=@",
    f"estimate {TRAINING} --count 8 --set seq_len=4096 --set global_batch=@",
    f"estimate {SERVING} --count 8 --compare batch=1 batch=@",
    f"predict {SERVING} --count 8 --intensity=@",
    f"similar {SERVING} --count=@",
    f"size {SERVING} --rate @/s",
    f"size {SERVING} --count=@ --pareto",
    f"size {SERVING} --rate 5/s --price @/h",
]
ZERO_MEANS = ("--intensity", "--weigh", "--bottleneck", "_share=", "--seed", "--power-limit", "request_rate")
"""Where nothing is a number as good as any."""
FOLLOWS = ("estimate", "max_model_len", "gpu_memory")
"""Where 0 is what follows from the others, or what a program chooses."""
CHOSEN = ("--current",)
"""Where -1 leaves a size to the program."""


@pytest.fixture(scope="module")
def line(shipped_path: Path) -> Iterator[CommandLine]:
    with CommandLine(shipped_path, shipped_path.parent / "cache", budget_s=BUDGET_S) as opened:
        yield opened


def asked(line: CommandLine, question: str, number: str) -> int:
    result = run_in_budget(line, [*question.replace("@", number).split(), "--json"])
    assert result.code in {0, 2, 3, 4}, (question, number, result.err[-300:])
    if result.code == 2:
        text = result.err.strip()
        assert text
        assert "Traceback" not in text
    assert "NaN" not in result.out
    assert "Infinity" not in result.out
    return result.code


def in_turn(numbers: tuple[str, ...], each: int) -> pytest.MarkDecorator:
    """Each question with a few of the numbers, another few for the next; with all in the long tests."""
    few = [
        (question, tuple(numbers[(place + more) % len(numbers)] for more in range(each)))
        for place, question in enumerate(QUESTIONS)
    ]
    every = [pytest.param(question, numbers, marks=pytest.mark.long) for question in QUESTIONS]
    return pytest.mark.parametrize(("question", "numbers"), [*few, *every])


@in_turn((*NUMBERS, *MORE), 1)
def test_a_number_of_any_size_is_answered_or_refused_in_time(
    line: CommandLine, question: str, numbers: tuple[str, ...]
) -> None:
    for number in numbers:
        asked(line, question, number)


@in_turn(NO_NUMBERS, 1)
def test_what_is_no_number_is_refused(line: CommandLine, question: str, numbers: tuple[str, ...]) -> None:
    for number in numbers:
        if "gpu_memory" in question and number.lower() != "nan":
            continue  # a setting that only its program reads stays as it is written
        assert asked(line, question, number) == 2, number


@in_turn(NOTHING, 1)
def test_less_than_anything_is_refused_where_it_means_nothing(
    line: CommandLine, question: str, numbers: tuple[str, ...]
) -> None:
    for number in numbers:
        code = asked(line, question, number)
        is_free = number == "0" and any(word in question for word in (*ZERO_MEANS, *FOLLOWS))
        is_chosen = any(word in question for word in CHOSEN)
        assert code == 2 or is_free or is_chosen, number


def numeric_options() -> Iterator[tuple[list[str], Any]]:
    """Every option of every command whose value is a number, with the words of its command."""
    todo: list[tuple[list[str], Any]] = [([], get_command(app))]
    while todo:
        words, command = todo.pop()
        below = getattr(command, "commands", ())
        todo += [([*words, name], command.get_command(None, name)) for name in below]
        for option in command.params:
            if option.type.name.startswith(("float", "int")) and option.opts[0].startswith("-"):
                yield words, option


OPTIONS = [(" ".join(words), option.opts[0], option) for words, option in numeric_options()]


@pytest.mark.parametrize(("command", "name", "option"), OPTIONS, ids=lambda value: str(value)[:40])
def test_every_numeric_option_refuses_what_is_no_number(
    line: CommandLine, command: str, name: str, option: Any
) -> None:
    for number in NO_NUMBERS[::3]:
        assert line.run([*command.split(), f"{name}={number}"]).code == 2, number


def test_there_are_numeric_options() -> None:
    assert len(OPTIONS) > 40
    assert {"-k", "--count", "--intensity", "--seed", "--alpha", "--cost"} <= {name for _, name, _ in OPTIONS}
