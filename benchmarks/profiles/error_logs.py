"""Measures how often a log of an unseen release is named, with errors from its own sources.

    python -m benchmarks.profiles.error_logs [--packages vllm==0.30.0 ...] [--quick]

Releases are ones that ``tools/oracle/errors.yaml`` does not read; they come from the package index, are opened and
never installed. Of each, 80 statements are drawn among those that a table may hold (about settings, resources or the
program's own errors; ``tools.oracle.errors.statements_of``), their values filled in, a traceback put around. Named is a log
whose line with the error is a known fault, a known statement, or met by its own words; misled one whose first
statement is named as one of a program that did not write it.

Healthy logs are made of lines of state of the same releases, any of them, whether a table may hold it or not; of a
program named without a release (``mindie``), of those of its table. Accused is one in which an error is named, other
than a wait that the program itself tells; doubted one in which a line passes for an error that no table has.
``--quick`` asks a quarter of both.
"""

import re
import sys
import tempfile
from pathlib import Path
from random import Random

from benchmarks import harness
from recommender.answers.log_answer import LogAnswer, answer_log
from recommender.diagnosis.pressures import is_general
from recommender.diagnosis.statements import parts_of, read_statements
from recommender.workspace.workspace import Workspace
from tools.oracle.c_statements import c_statements
from tools.oracle.errors import package_files, shorten, sources, statements_of
from tools.oracle.python_statements import Statement, python_statements

PACKAGES = (
    "vllm==0.30.0", "sglang==0.5.21", "lmdeploy==0.17.0", "transformers==5.20.0", "verl==0.8.0",
    "llamafactory==0.9.4", "ms-swift==4.0.0", "accelerate==1.10.0", "ray==2.55.0",
)  # fmt: skip
"""Releases between those of the tables."""
HEADS = {
    "vllm": ("INFO 07-14 09:11:32 [api_server.py:18] vLLM API server version", "(EngineCore_DP0 pid=4) ERROR 07-14 09:13:11 [core.py:843] "),
    "sglang": ("[2026-07-14 09:11:32] server_args=ServerArgs(model_path='a/b')", ""),
}  # fmt: skip
"""First line, and head of the line with the error; of another program its traceback alone."""
_LEVEL = {"error": "ERROR", "critical": "CRITICAL", "fatal": "FATAL", "warning": "WARNING", "info": "INFO"}
_WORDS = re.compile(
    r"(?i)name|path|type|msg|err|exc|method|mode|backend|dtype|device|url|addr|key|format|arch|\bmodel$|^e$|str"
)
EACH, HEALTHY = 80, 300
"""Statements of each release, and healthy logs of all."""
STATES = 20
"""Lines of state in a healthy log."""


def fill(template: str, random: Random) -> str:
    """A template with values: words for names of things, numbers for the others."""
    parts = []
    for kind, text in parts_of(template):
        if kind == "slot":
            parts.append(
                f"odd{random.randint(1, 9)}" if _WORDS.search(text) else str(random.randint(2, 9999))
            )
        else:
            parts.append(text)
    return "".join(parts)


Found = list[tuple[str, Statement]]
"""Statements with their files."""


def drawn(package: str) -> tuple[str, Found, Found]:
    """The program of a package; the errors of a release that a table may hold; and all its lines of state."""
    program, _, release = package.partition("==")
    source = sources()[program]
    assert release not in source.releases, f"{package} is read for the tables"
    files = list(package_files(source.package or program, release)) if release else []
    held = {item.template for item in statements_of(files, source, {})}
    found: Found = [
        (f"{item.where}.py", Statement(level=item.level, where=item.where, template=item.pattern))
        for item in ([] if release else read_statements(program))
    ]
    for path, content in files:
        text, module = content.decode("utf-8", "replace"), Path(path).stem
        try:
            found += [
                (path, item)
                for item in (python_statements if path.endswith(".py") else c_statements)(text, module)
            ]
        except (SyntaxError, ValueError):
            continue
    errors = [pair for pair in found if pair[1].level not in {"info", "warning"}]
    states = [pair for pair in found if pair[1].level == "info" and "test" not in pair[0]]
    return program, [pair for pair in errors if shorten(pair[1].template) in held], states


def error_log(program: str, path: str, item: Statement, random: Random) -> tuple[str, int]:
    """A log that ends in an error, and the number of the line that tells it."""
    first, head = HEADS.get(program, ("", ""))
    text = fill(item.template, random)
    lines = [first] if first else []
    if item.level == "raise":
        lines += [
            "Traceback (most recent call last):",
            f'  File "/usr/lib/python3/site-packages/{path}", line 77, in run',
        ]
        text = f"{head}{item.where}: {text}"
    else:
        text = f"2026-07-14 09:13:11 [{_LEVEL[item.level]}] {path}: {text}"
    return "\n".join([*lines, text]) + "\n", len(lines) + 1


def healthy_log(program: str, states: Found, random: Random) -> str:
    """A log of lines of state."""
    first, _ = HEADS.get(program, (f"{program} starts", ""))
    lines = [first]
    for path, item in random.choices(states, k=STATES):
        head = (
            f"INFO 07-14 09:13:11 [{item.where}.py:77] "
            if program == "vllm"
            else f"2026-07-14 09:13:11 [INFO] {path}: "
        )
        lines += [head + line for line in fill(item.template, random).split("\n")]
    return "\n".join(lines) + "\n"


def is_named(answer: LogAnswer, line: int, last: int) -> bool:
    """True if the error on a line, or on those that go on with it, is named."""
    told = range(line, last + 1)
    seen = [number for item in answer.reading.faults for number in item.lines]
    seen += [number for item in answer.reading.statements for number in item.lines]
    return any(number in told for number in (*seen, *answer.cures))


def is_grave(answer: LogAnswer) -> bool:
    """True if an error of a released program is named."""
    return any(item.is_grave for item in answer.reading.statements)


def is_misled(answer: LogAnswer, program: str) -> bool:
    """True if the first statement named is another program's alone."""
    told = [item for item in answer.reading.statements if item.is_grave and item.is_own]
    return bool(told) and not answer.reading.faults and program not in told[0].programs


def main() -> int:
    """Score the releases; returns the exit code."""
    run = harness.read(
        __doc__ or "",
        harness.option("--packages", nargs="*", default=list(PACKAGES)),
        quick="asks a quarter",
    )
    each, wanted = (number // 4 if run.quick else number for number in (EACH, HEALTHY))
    random = run.random()
    named = misled = asked = accused = doubted = healthy = 0
    with tempfile.TemporaryDirectory() as place:
        Workspace.create(Path(place) / "w", cache=Path(place) / "c", text_model=None)
        log = Path(place) / "run.log"
        with Workspace.open(Path(place) / "w", cache=Path(place) / "c") as opened:
            for package in run.packages:
                program, errors, states = drawn(package)
                hits = 0
                for path, item in random.sample(errors, min(each, len(errors))):
                    text, line = error_log(program, path, item, random)
                    log.write_text(text)
                    answer = answer_log(opened.graph, log)
                    hits += is_named(answer, line, text.count("\n"))
                    if is_misled(answer, program):
                        misled += 1
                        print(f"misled: {answer.reading.statements[0].text}")
                    asked += 1
                named += hits
                print(f"{package}: {hits} of {min(each, len(errors))} named, of {len(errors)} statements")
                for _ in range(-(-wanted // len(run.packages))):
                    log.write_text(healthy_log(program, states, random))
                    answer = answer_log(opened.graph, log)
                    faults = [item for item in answer.reading.faults if not is_general(item.fault.id)]
                    accused += bool(faults) or is_grave(answer)
                    doubted += bool(answer.reading.unknown)
                    healthy += 1
                    graves = [item.text for item in answer.reading.statements if item.is_grave]
                    for text in [*(item.message for item in faults), *graves]:
                        print(f"accused: {text}")
    figures = {
        "named": round(named / max(asked, 1), 4),
        "misled": misled,
        "accused": accused,
        "doubted": doubted,
    }
    run.last_line(figures | {"healthy": healthy}, n=asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
