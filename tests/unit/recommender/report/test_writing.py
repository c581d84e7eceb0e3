"""Files of a report, and pages of what runs."""

import json
from pathlib import Path

import pytest

from kg.errors import InputError, MissingDependencyError, WorkspaceError
from recommender.report import writing
from recommender.report.document import ReportDocument
from recommender.report.writing import write_report
from tests.unit.recommender.report import contents


def test_the_name_of_the_file_asks_for_the_form(tmp_path: Path) -> None:
    document = contents.document("experiment")
    for name in ("a.html", "b.json"):
        write_report(tmp_path / name, document)
        assert ReportDocument.read(tmp_path / name).to_json() == document.to_json()
    assert json.loads((tmp_path / "b.json").read_text())["format"] == "tunegraph report"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.json"]


@pytest.mark.parametrize("name", ["report", "report.docx", "report.html.txt"])
def test_other_forms_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no form of a report"):
        write_report(tmp_path / name, contents.document("experiment"))


def test_places_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    for path, says in (
        (tmp_path / "folder.html", "is a folder"),
        (tmp_path / "no" / "a.html", "no such folder"),
    ):
        with pytest.raises(InputError, match=says):
            write_report(path, contents.document("experiment"))


def test_a_pdf_without_a_browser_names_the_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(writing, "_PLACES", ())
    with pytest.raises(MissingDependencyError, match="Chromium, Chrome or Edge"):
        write_report(tmp_path / "a.pdf", contents.document("experiment"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ('for word; do case "$word" in --print-to-pdf=*) printf PDF > "${word#*=}";; esac; done', ""),
        ("printf 'one\\ntwo\\nthe last\\n' >&2; exit 3", r"exit 3\): the last$"),
        ("true", r"exit 0\): it said nothing$"),
    ],
)
def test_a_browser_prints_or_what_it_said_last_is_told(
    script: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "chromium"
    browser.write_text(f"#!/bin/sh\n{script}\n")
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    place = tmp_path / "a.pdf"
    if says:
        with pytest.raises(WorkspaceError, match=says):
            write_report(place, contents.document("experiment"))
    else:
        write_report(place, contents.document("experiment"))
    assert (place.read_bytes() == b"PDF") if not says else not place.exists()
