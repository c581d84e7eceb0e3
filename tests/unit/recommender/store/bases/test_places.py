"""A base may be a backup file or an address; what does not arrive changes nothing."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from kg.errors import FetchError, InputError
from recommender.files import WorkspaceFiles
from recommender.store.bases.offer import offer
from recommender.store.bases.places import canonical_place
from recommender.workspace.upkeep import UpkeepDesk
from tests.unit.recommender.store.bases.conftest import answers, line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Ingest = Callable[..., None]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, whole ones alone, and says nothing."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name that it has there
        """Say nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server of a folder's files."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.long
def test_a_server_of_files_is_base_enough(base: Path, tmp_path: Path, ingest: Ingest) -> None:
    offered, mine = tmp_path / "offered" / "team.backup", tmp_path / "mine"
    offered.parent.mkdir()
    offer(WorkspaceFiles(base), offered)
    with serving(offered.parent) as address:
        made = UpkeepDesk.create_on(mine, f"{address}/team.backup", cache=tmp_path)
        assert answers(mine, tmp_path)[1:] == answers(base, tmp_path)[1:]
        assert made.digest
        assert UpkeepDesk.rebase(mine, cache=tmp_path).is_new is False
        ingest(mine, line(3.0, block=8))
        ingest(base, line(4.0, block=16))
        offered.unlink()
        offer(WorkspaceFiles(base), offered)
        done = UpkeepDesk.rebase(mine, cache=tmp_path)
        assert (done.is_new, done.added.rows, done.base.batch) == (True, 1, 2)
        before = answers(mine, tmp_path)
        offered.write_bytes(offered.read_bytes()[:-100] + bytes(100))
        with pytest.raises(InputError, match="it is cut or damaged"):
            UpkeepDesk.rebase(mine, cache=tmp_path)
        offered.unlink()
        with pytest.raises(FetchError, match="nothing is there any more"):
            UpkeepDesk.rebase(mine, cache=tmp_path)
    with pytest.raises(FetchError, match="does not arrive"):
        UpkeepDesk.rebase(mine, cache=tmp_path)
    assert answers(mine, tmp_path) == before


@pytest.mark.long
def test_a_backup_on_a_shared_folder_is_base_enough(base: Path, tmp_path: Path, ingest: Ingest) -> None:
    file, mine = tmp_path / "team.backup", tmp_path / "mine"
    offer(WorkspaceFiles(base), file)
    UpkeepDesk.create_on(mine, str(file), cache=tmp_path)
    assert UpkeepDesk.rebase(mine, cache=tmp_path).is_new is False
    ingest(mine, line(3.0, block=8))
    assert UpkeepDesk.rebase(mine, cache=tmp_path, again=True).added.rows == 1


def test_an_offer_leaves_out_what_was_asked(base: Path, tmp_path: Path) -> None:
    (base / "experiments").mkdir()
    (base / "experiments" / "one.log").write_text("secret\n")
    (base / "asked.sqlite3").write_bytes(b"secret")
    offer(WorkspaceFiles(base), tmp_path / "team.backup")
    assert b"secret" not in (tmp_path / "team.backup").read_bytes()


@pytest.mark.parametrize(
    ("place", "is_now"),
    [
        ("http://127.0.0.1:8740", "http://127.0.0.1:8740/v1/snapshot"),
        ("https://team.example/", "https://team.example/v1/snapshot"),
        ("https://team.example/a.backup", "https://team.example/a.backup"),
    ],
)
def test_an_address_without_a_path_is_one_of_a_service(place: str, is_now: str) -> None:
    assert canonical_place(place) == is_now


def test_what_could_be_read_by_others_is_not_fetched(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not https"):
        UpkeepDesk.create_on(tmp_path / "mine", "http://team.example", cache=tmp_path)
