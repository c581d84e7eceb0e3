"""Texts of cases, scripts, searches and logs that would be formulas, markup or orders to a terminal, on every way out."""

import ast
import csv
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
import yaml

from kg.hidden_text import HIDDEN
from tests.cli.conftest import Ran, Run
from tests.cli.search.toy import task

MARKS: tuple[str, ...] = (
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1+1",
    "<img src=x onerror=alert(1)>",
)
MARKS += ("</script><script>alert(1)</script>", "[x](javascript:alert(1))", "javascript:alert(1)", "a\tb")
ORDERS = ("\x1b]0;x\x07", "\x9b2J", "\u202egnp", "a\rb", "\U000e0041")
RECORD: dict[str, Any] = {
    "task": {"kind": "kernel", "op": "toy", "shape": {"M": 128, "layout": "nt"}, "dtype": "float16", "traits": {"form": "x"}},
    "hardware": {"name": "Acme One", "traits": {"link": "x"}},
    "config": {"block": 8, "mode": "x", "list": ["x"]},
    "outcome": {"metric": "kernel_time", "unit": "ms", "value": 0.01, "status": "ok", "reason": "x"},
    "source": {"title": "x", "url": "https://a/b", "path": "c", "commit": "d", "licence": "MIT", "note": "x"},
    "software": {"cuda": "12"},
    "strategy": "tile-it",
    "bottleneck": "memory",
    "baseline": {"value": 3.0, "config": {"mode": "x"}},
    "problem": {"current": {"mode": "x"}},
}  # fmt: skip


def spoiled(record: Any, mark: str) -> Iterator[Any]:
    """Records in which one text, or one name of a field, is a mark."""
    if isinstance(record, str):
        yield mark
    elif isinstance(record, dict):
        for name, item in record.items():
            yield {**record, mark: item}
            for inner in spoiled(item, mark):
                yield {**record, name: inner}
    elif isinstance(record, list):
        yield from ([inner] for item in record for inner in spoiled(item, mark))


class Page(HTMLParser):
    """The elements of a page, and what they may run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.runs: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.runs += [f"{tag} {name}={value}" for name, value in attrs if name.startswith("on")]
        self.runs += [f"{name}={value}" for name, value in attrs if re.match(r"\s*(javascript|data):", value or "")
                      and name in {"href", "src", "xlink:href", "action"}]  # fmt: skip


def is_safe(path: Path) -> bool:
    """True if a page has our two scripts, nothing from elsewhere, and nothing that runs by itself."""
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    strange = {"img", "iframe", "object", "embed", "base", "form"} & set(page.elements)
    return page.elements.count("script") <= 2 and not strange and not page.runs and is_quiet(text)


def is_quiet(text: str) -> bool:
    """True if a text gives no order to a terminal, and turns no letters round."""
    return HIDDEN.search(text) is None


def read_by_people(ran: Ran, *codes: int) -> Ran:
    assert ran.code in (codes or (0,)), ran.err
    assert is_quiet(ran.out), ran.out
    assert is_quiet(ran.err), ran.err
    return ran


def is_formula(cell: str) -> bool:
    return cell.startswith(tuple("=+-@＝＋－＠\t\r\n")) and not re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", cell)


@pytest.fixture(scope="module")
def spoiled_place(run: Run, toy_place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a case for each text of a record and each mark, where the door let it in."""
    place = tmp_path_factory.mktemp("spoiled")
    shutil.copytree(toy_place / "workspace", place / "workspace")
    for name, marks in {"marks": MARKS, "orders": ORDERS}.items():
        lines = [json.dumps(item) for mark in marks for item in spoiled(RECORD, mark)]
        (place / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    taken = read_by_people(run("ingest", place / "marks.jsonl", "--json", workspace=place / "workspace"), 2)
    assert taken.json["rows_good"] > 8 * taken.json["rows_bad"]
    return place


def test_no_order_to_a_terminal_enters(run: Run, spoiled_place: Path) -> None:
    ran = run("ingest", spoiled_place / "orders.jsonl", "--json", workspace=spoiled_place / "workspace")
    assert ran.json["rows_new"] == 0  # names of fields that a record does not have are not read
    read_by_people(run("ingest", spoiled_place / "orders.jsonl", workspace=spoiled_place / "workspace"), 2)


def test_cases_and_knowledge_leave_as_they_are(
    run: Run, spoiled_place: Path, tmp_path: Path, empty_path: Path
) -> None:
    for name in ("all.csv", "all.jsonl", "all.nt"):
        read_by_people(run("kb", "export", tmp_path / name, workspace=spoiled_place / "workspace"))
    with (tmp_path / "all.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    held = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(rows) == len(held) + 1
    assert not [cell for row in rows for cell in row if is_formula(cell)]
    for name in ("all.csv", "all.jsonl"):
        again = run("ingest", tmp_path / name, "--json", workspace=empty_path)
        assert (again.json["rows_good"], again.json["rows_bad"]) == (len(held), 0), name
    assert again.json["rows_new"] == 0  # each of both is the same case
    with (tmp_path / "all.nt").open("rb") as stream:
        assert sum(1 for _ in pyoxigraph.parse(stream, pyoxigraph.RdfFormat.N_TRIPLES)) > len(held)


ASKED = "--op toy --hardware acme-one --shape M=128,layout=nt --precision float16 --trait form=x"


@pytest.mark.parametrize(
    "words",
    [
        "kb list hardware",
        "kb effects",
        f"recommend {ASKED} -v",
        f"similar {ASKED}",
    ],
)
def test_what_cases_say_is_quiet_on_the_screen(run: Run, spoiled_place: Path, words: str) -> None:
    for form in ([], ["--json"]):
        read_by_people(run(*words.split(), *form, workspace=spoiled_place / "workspace"))


def test_what_cases_say_is_no_markup_of_a_page(run: Run, spoiled_place: Path, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    asked = ("recommend", *ASKED.split(), "-k", 50, "--html", page, "--json")
    answer = read_by_people(run(*asked, workspace=spoiled_place / "workspace")).out
    assert sum(json.dumps(mark, ensure_ascii=False) in answer for mark in MARKS) > 5
    assert is_safe(page)
    assert "&lt;img src=x onerror=alert(1)&gt;" in page.read_text()


@pytest.mark.parametrize("form", ["flags", "yaml", "triton"])
def test_what_cases_say_is_a_value_in_each_form(run: Run, spoiled_place: Path, form: str) -> None:
    asked = ("recommend", *ASKED.split(), "-k", 50)
    ran = read_by_people(run(*asked, "--format", form, workspace=spoiled_place / "workspace"))
    told = run(*asked, "--json", workspace=spoiled_place / "workspace").json["recommendations"]
    if form == "flags":
        lines = [shlex.split(line) for line in ran.out.splitlines()]
        assert len(lines) == len(told)
        assert all("=" in word for line in lines for word in line)
    elif form == "yaml":
        assert len(yaml.safe_load(ran.out)) == len(told)
    else:
        made = ast.parse(ran.out, mode="eval").body
        calls = [node for node in ast.walk(made) if isinstance(node, ast.Call)]
        assert {ast.unparse(call.func) for call in calls} == {"triton.Config"}
        assert len(calls) == len(told)


@pytest.mark.parametrize("mark", [MARKS[5], ORDERS[0]])
def test_what_a_launch_says_is_text(run: Run, tmp_path: Path, mark: str) -> None:
    script, page = tmp_path / "serve.sh", tmp_path / "a.html"
    words = [
        "vllm",
        "serve",
        "Qwen/Qwen3-32B",
        "--served-model-name",
        mark,
        f"--{mark}",
        mark,
        "--max-num-seqs",
        mark,
    ]
    script.write_text(f"export {mark}={mark}\nexport A={shlex.quote(mark)}\n# {mark}\n{shlex.join(words)}\n")
    device = ("--hardware", "ascend-910b3", "--count", "4")
    for more in ([], ["--json"], ["--sarif"]):
        read_by_people(run("check", script, *device, *more), 0, 1, 2)
    read_by_people(run("recommend", "--from-command", script, *device, "--html", page), 0, 2, 4)
    assert not page.exists() or is_safe(page)


@pytest.mark.parametrize("mark", [MARKS[6], ORDERS[2]])
def test_what_a_search_says_is_text(run: Run, place: Path, empty_path: Path, mark: str) -> None:
    code = f"import json; print({mark!r}); print(json.dumps({{'t': 1.0, {mark!r}: {mark!r}}}))"
    path = task(place, code, parameters={"x": [mark, "b"]}, default={"x": "b"}, stop={"evaluations": 2},
                command=[sys.executable, "-c", code, "{x}"])  # fmt: skip
    read_by_people(run("search", "run", path, workspace=empty_path, folder=place), 0, 2)
    for words in ("status toy.journal", "report toy.journal"):
        read_by_people(run("search", *words.split(), workspace=empty_path, folder=place), 0, 2)
    done = run("report", "toy.journal", "-o", "a.html", "--title", mark, workspace=empty_path, folder=place)
    assert read_by_people(done, 0, 2).code == 2 or is_safe(place / "a.html")


@pytest.mark.parametrize("mark", [MARKS[0], MARKS[5], ORDERS[0], ORDERS[4]])
def test_what_a_statement_or_a_log_says_is_text(
    run: Run, empty_path: Path, tmp_path: Path, mark: str
) -> None:
    log = tmp_path / "log.csv"
    log.write_text(
        "timestamp, index, name, power.draw [W]\n"
        + "".join(f'2026/11/23 0{hour}:00:00, 0, "{mark}", 100 W\n' for hour in range(2))
    )
    read_by_people(run("green", "statement", f"{mark}={log}", "--title", mark, workspace=empty_path), 0, 2)
    fault = tmp_path / "fault.log"
    fault.write_text(f"INFO {mark}\nRuntimeError: EI0006 {mark} timeout\nhost {mark} rank {mark} failed\n")
    read_by_people(run("diagnose", fault), 0, 3)
    read_by_people(run("diagnose", fault, "--json"), 0, 3)
