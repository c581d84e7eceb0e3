"""Two workspaces behind SPARQL endpoints, and the one query of docs/ontology.md over both."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyoxigraph

from recommender.service.access import Access
from recommender.workspace.workspace import Workspace
from tests.cli.cases import case_line
from tests.docs.blocks import ROOT
from tests.unit.recommender.service.conftest import running

if TYPE_CHECKING:
    from pathlib import Path

KNOWLEDGE = """\
sources:
  guide: {title: Guide, url: 'https://acme.example'}
hardware:
  - {id: acme, level: vendor, label: {en: Acme}}
  - id: acme-one
    level: device
    broader: acme
    label: {en: Acme One}
    facts: {memory_bytes: {value: 80000000000, kind: documented, confidence: high, source: guide}}
  - id: acme-two
    level: device
    broader: acme
    label: {en: Acme Two}
    facts: {memory_bytes: {value: 8000000000, kind: documented, confidence: high, source: guide}}
"""


def documented_query() -> str:
    """The query over two endpoints, as the page has it."""
    page = (ROOT / "docs" / "ontology.md").read_text()
    [query] = [block for block in page.split("```sparql\n")[1:] if "SERVICE" in block]
    return query.partition("```")[0]


def test_one_query_joins_what_one_knows_with_what_the_other_measured(tmp_path: Path) -> None:
    knows, measured = tmp_path / "a" / "workspace", tmp_path / "b" / "workspace"
    for path in (knows, measured):
        path.parent.mkdir()
        Workspace.create(path, cache=path.parent / "cache", text_model=None, with_shipped=False)
    (tmp_path / "acme.yaml").write_text(KNOWLEDGE)
    (tmp_path / "toy.jsonl").write_text(case_line(1.0, block=8).replace("NVIDIA A100-SXM4-80GB", "Acme One"))
    with Workspace.editor(knows, cache=knows.parent / "cache") as editor:
        editor.add_file("hardware", tmp_path / "acme.yaml")
    with Workspace.editor(measured, cache=measured.parent / "cache") as editor:
        editor.ingest([tmp_path / "toy.jsonl"])
    access = Access.of("127.0.0.1")
    with running(knows, access) as one, running(measured, access) as other:
        query = documented_query()
        for name, client in (("lab-a", one), ("lab-b", other)):
            query, count = re.subn(rf"http://{name}\.example:\d+", str(client.base_url).rstrip("/"), query)
            assert count == 1
        rows: Any = pyoxigraph.Store().query(query)  # asks both over HTTP; it holds nothing itself
        assert [[cell.value for cell in row] for row in rows] == [
            ["https://w3id.org/tunegraph/hardware/acme-one", "80000000000", "toy"]
        ]
        # an endpoint itself asks nobody else
        assert one.get("/sparql", params={"query": query}).status_code == 400
