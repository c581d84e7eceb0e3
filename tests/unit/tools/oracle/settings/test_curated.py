"""What is curated by hand: each with its page, and what ships is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import data
from tools.oracle.settings import curated
from tools.oracle.settings.history import to_text


@pytest.mark.parametrize("software", ["cann", "host"])
def test_what_ships_is_what_is_curated(software: str) -> None:
    assert data.text(f"settings/{software}.json") == to_text(curated.curated(software))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{key: A, source: nowhere}", "A has no page"),
        ("{key: A, source: page, since: '9'}", "no release 9"),
    ],
)
def test_a_fact_without_page_or_release_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, fault: str
) -> None:
    monkeypatch.setattr(curated, "FOLDER", tmp_path)
    (tmp_path / "toy.yaml").write_text(
        f"software: toy\nreleases: ['1']\nsources: {{page: {{url: https://example.org}}}}\nsettings: [{line}]\n"
    )
    with pytest.raises(ValueError, match=fault):
        curated.curated("toy")


def test_facts_that_pages_add_to_sources_are_no_file_of_their_own() -> None:
    assert curated.stated_facts("torch-npu")["TASK_QUEUE_ENABLE"]["default"] == 1
    assert curated.stated_facts("cann") == {}
    assert curated.stated_facts("vllm") == {}
