"""``tunegraph report``, and the pages that other commands write."""

import json
from pathlib import Path
from typing import Any

import pytest

from recommender.report.document import ReportDocument

QUESTION = "model: qwen3-32b\nhardware: ascend-910b3\ncount: 8\nphase: serving\nshape: {input_len: 2048, output_len: 256}\n"
BENCH = """\
import json, sys
setting = dict(word.split("=") for word in sys.argv[1:])
print(json.dumps({"ms": 64 / int(setting["tile"]) + int(setting["depth"])}))
"""
SPACE = """\
parameters: {tile: [1, 2, 4, 8], depth: [1, 2]}
default: {tile: 1, depth: 2}
command: [python3, bench.py, "tile={tile}", "depth={depth}"]
metrics: {step_time: {path: ms, unit: ms}}
objectives: [step_time]
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with a question, a command to measure and a search file."""
    (tmp_path / "question.yaml").write_text(QUESTION)
    (tmp_path / "bench.py").write_text(BENCH)
    (tmp_path / "space.yaml").write_text(SPACE)
    return tmp_path


def kinds(path: Path) -> list[str]:
    return [part.kind for part in ReportDocument.read(path).parts]


def test_a_question_becomes_a_page_that_comes_back(run: Any, desk: Path) -> None:
    page, plain, again = desk / "r.html", desk / "r.json", desk / "again.json"
    ran = run("report", "question.yaml", "-o", page, "-o", plain, folder=desk)
    assert ran.code == 0, ran.err
    assert ran.err.splitlines()[-2:] == [f"Wrote {page}", f"Wrote {plain}"]
    assert kinds(page) == ["answer", "prediction"]
    assert run("report", "--from", page, "-o", again).code == 0
    assert json.loads(again.read_text()) == json.loads(plain.read_text())
    assert run("report", "--from", again, "-o", page, "--lang", "zh").code == 0
    assert 'lang="zh-Hans"' in page.read_text()


@pytest.mark.long
def test_a_search_and_an_ab_test_have_pages(run: Any, desk: Path, empty_path: Path) -> None:
    ran = run(
        "search",
        "run",
        "space.yaml",
        "-n",
        "5",
        "--no-ingest",
        workspace=empty_path,
        folder=desk,
    )
    assert ran.code == 0, ran.err
    arms = (
        "--control",
        "tile=1,depth=2",
        "--treatment",
        "tile=8,depth=2",
        "--metric",
        "step_time=ms:ms",
        "--pairs",
        "8",
    )
    ran = run("ab", "run", *arms, "--name", "tiles", "--", "python3", "bench.py", "tile={tile}", "depth={depth}",
              workspace=empty_path, folder=desk)  # fmt: skip
    assert ran.code in {0, 5}, ran.err
    ran = run("report", "-o", desk / "all.html", workspace=empty_path, folder=desk)
    assert ran.code == 0, ran.err
    assert kinds(desk / "all.html") == ["search", "experiment"]
    ran = run("report", "tiles", "space.journal", "-o", desk / "two.html", workspace=empty_path, folder=desk)
    assert ran.code == 0, ran.err
    assert kinds(desk / "two.html") == ["search", "experiment"]


def test_an_answer_and_its_id_are_the_same_page(run: Any, desk: Path) -> None:
    asked = run("recommend", "question.yaml", "--html", desk / "a.html", "--json", folder=desk)
    assert asked.code == 0
    assert kinds(desk / "a.html") == ["answer"]
    first = asked.json["changes"][0]["id"]
    assert run("report", first, "-o", desk / "b.html").code == 0
    [one, *_] = ReportDocument.read(desk / "b.html").parts
    assert one.content["changes"][0]["id"] == first


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nothing-here", "-o", "r.html"), "no file, no A/B test and no remembered recommendation"),
        (("question.yaml", "-o", "r.docx"), "no form of a report"),
        (("question.yaml", "-o", "r.html", "--lang", "tlh"), "no language"),
        (("question.yaml", "--from", "r.html"), "nothing else goes with it"),
        (("--from", "bench.py"), "holds no report"),
        (("bench.py", "-o", "r.html"), "neither a profile nor"),
        (("-o", "r.html"), "nothing to report"),
    ],
)
def test_what_cannot_be_reported_is_refused_in_a_line(
    run: Any, desk: Path, empty_path: Path, words: tuple[str, ...], says: str
) -> None:
    ran = run("report", *words, workspace=empty_path, folder=desk)
    assert ran.code == 2
    assert says in ran.fault
    assert not (desk / "r.html").exists()


def test_a_pdf_without_a_browser_is_an_environment_that_lacks_one(run: Any, desk: Path) -> None:
    (desk / "bin").mkdir()
    ran = run("report", "question.yaml", "-o", "r.pdf", folder=desk, environment={"PATH": str(desk / "bin")})
    assert ran.code == 1
    assert "Chromium, Chrome or Edge" in ran.fault
