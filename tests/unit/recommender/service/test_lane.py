"""Work beyond its budget ends, whoever leaves is not worked for, and the next is answered."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from kg.errors import InputError, UnknownEntityError
from kg.nouns.knowledge import Bottleneck
from kg.triples.serialisation import all_of
from recommender.service.lane import Lane, WorkBudget
from recommender.workspace.workspace import Workspace

SMALL = WorkBudget(seconds=20.0, cpu_seconds=0.5, memory_bytes=256 << 20)


def spin(_: Workspace) -> None:
    while True:
        pass


def known(workspace: Workspace, name: str) -> bool:
    return name in [item.id for item in all_of(workspace.graph, Bottleneck)]


def nap(_: Workspace) -> None:
    time.sleep(0.05)


def sleep(_: Workspace, marker: Path) -> None:
    marker.write_text(str(os.getpid()))
    time.sleep(60)


def fill(_: Workspace) -> int:
    return len(bytearray(1 << 30))


def refuse(_: Workspace) -> None:
    raise UnknownEntityError("nothing of this name", hint="ask")


def die(_: Workspace) -> None:
    os.abort()


def count(workspace: Workspace, more: int) -> int:
    return workspace.snapshot.batch + more


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("lane")
    Workspace.create(place / "workspace", cache=place, text_model=None, with_shipped=False)
    return place / "workspace"


def test_budgets_end_work_and_the_next_is_answered(path: Path) -> None:
    async def run() -> None:
        lane = Lane(path, path.parent, SMALL, workers=1)
        for work, says in (
            (spin, "0.5 CPU s"),
            (fill, "more than 256 MiB"),
            (die, "budget"),
            (refuse, "nothing of"),
        ):
            assert await lane.run(count, 6) == 6  # the worker is there
            begun = time.monotonic()
            with pytest.raises(InputError, match=says):
                await lane.run(work)
            assert time.monotonic() - begun < 0.9 * SMALL.seconds  # no wall clock ended it
            assert await lane.run(count, 7) == 7
        quick = Lane(
            path, path.parent, WorkBudget(seconds=0.2, cpu_seconds=9, memory_bytes=1 << 30), workers=1
        )
        with pytest.raises(InputError, match=r"0\.2 s"):
            await quick.run(sleep, path.parent / "pid")
        await quick.close()
        await lane.close()

    asyncio.run(run())


def test_work_ends_with_whoever_asked(path: Path, tmp_path: Path) -> None:
    async def run() -> None:
        lane = Lane(path, path.parent, SMALL, workers=1)
        asked = asyncio.ensure_future(lane.run(sleep, tmp_path / "pid"))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.01)
        asked.cancel()
        assert await lane.run(count, 1) == 1  # in a fresh worker, at once
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)
        await lane.close()

    asyncio.run(run())


def test_one_costly_question_leaves_room_for_another(path: Path, tmp_path: Path) -> None:
    async def run() -> None:
        lane = Lane(path, path.parent, SMALL)
        asked = asyncio.ensure_future(lane.run(sleep, tmp_path / "pid"))
        assert await lane.run(count, 2) == 2
        asked.cancel()
        await asyncio.wait([asked])
        await lane.close()

    asyncio.run(run())


def test_a_client_waits_behind_few_questions_of_another(path: Path) -> None:
    async def run() -> None:
        lane, done = Lane(path, path.parent, workers=1), list[str]()

        async def ask(client: str) -> None:
            await lane.run_for(client, nap)
            done.append(client)

        await lane.run(count, 0)
        many = [asyncio.create_task(ask("many")) for _ in range(12)]
        await asyncio.sleep(0)
        leaving = asyncio.create_task(ask("one"))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(ask("one"), *many)
        assert done.index("one") <= 2
        assert done.count("many") == 12
        assert not lane._turns._gates
        await lane.close()

    asyncio.run(run())


def test_each_piece_of_work_sees_the_newest_state_that_is_published(path: Path) -> None:
    async def run() -> None:
        lane = Lane(path, path.parent, workers=1)
        before = await lane.run(count, 0)
        with Workspace.editor(path, cache=path.parent) as editor:
            editor.add_knowledge([Bottleneck(id=f"own-{before}", labels={"en": "own words"})])
        assert await lane.run(known, f"own-{before}")
        await lane.close()

    asyncio.run(run())
