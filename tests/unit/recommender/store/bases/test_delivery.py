"""A base behind a server: rest on it, push to it, and be told what it refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kg.errors import FetchError, InputError
from recommender.service.access import Access
from recommender.store.merging import MergeResult
from recommender.workspace.upkeep import UpkeepDesk
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.service.conftest import TOKEN, running
from tests.unit.recommender.store.bases.conftest import line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.long
def test_a_team_shares_a_base_over_http(base: Path, tmp_path: Path, ingest: Callable[..., None]) -> None:
    mine, token = tmp_path / "mine", TOKEN.decode()
    with running(base, Access.of("127.0.0.1", token=TOKEN), writes=True) as server:
        address = str(server.base_url).rstrip("/")
        UpkeepDesk.create_on(mine, address, cache=tmp_path, token=token)
        with pytest.raises(InputError, match="nothing that"):
            UpkeepDesk.push_to(mine, address, cache=tmp_path, token=token)
        ingest(mine, line(3.0, block=8), line(9.0))  # the base says 1.0 of the latter
        with pytest.raises(InputError, match=r"a token is needed \(HTTP 401\)"):
            UpkeepDesk.push_to(mine, address, cache=tmp_path, token="w" * 20)
        merged = UpkeepDesk.push_to(mine, address, cache=tmp_path, token=token, label="ann")
        assert (merged.added.rows, merged.added.repeated, merged.label) == (2, 0, "ann")
        assert [(item.ours, item.theirs) for item in merged.conflicts] == [("0.001", "0.009")]
        again = UpkeepDesk.push_to(mine, address, cache=tmp_path, token=token)
        assert (again.added.rows, again.added.repeated) == (0, 2)
        renewed = UpkeepDesk.rebase(mine, cache=tmp_path, token=token)
        assert (renewed.is_new, renewed.added.repeated) == (True, 2)
    with Workspace.open(base, cache=tmp_path) as workspace:
        assert workspace.trials.counts().trials == 4
        assert [item for item in workspace.upkeep.check() if item.severity == "fault"] == []


def test_a_server_that_only_reads_and_no_server(
    base: Path, mine: Path, tmp_path: Path, ingest: Callable[..., None]
) -> None:
    ingest(mine, line(3.0, block=8))
    with running(base, Access.of("127.0.0.1")) as server:
        with pytest.raises(InputError, match="only reads") as refused:
            UpkeepDesk.push_to(mine, str(server.base_url), cache=tmp_path)
        assert "--write" in refused.value.hint
        with pytest.raises(InputError, match="HTTP 405"):
            UpkeepDesk.push_to(mine, f"{str(server.base_url).rstrip('/')}/healthz", cache=tmp_path)
    with pytest.raises(FetchError, match="does not answer"):
        UpkeepDesk.push_to(mine, "http://127.0.0.1:1", cache=tmp_path)
    with pytest.raises(InputError, match="not https"):
        UpkeepDesk.push_to(mine, "http://team.example", cache=tmp_path)


def test_a_result_of_a_merge_is_read_back() -> None:
    with pytest.raises(ValueError, match="no result of a merge"):
        MergeResult.of_json(json.loads('{"rows_new": 1}'))
