"""A folder is put in place in one step, or the old one is where it was."""

import ctypes
import errno
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from recommender.store.upkeep import exchange
from recommender.store.upkeep.exchange import name_aside, put_in_place


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    made = tmp_path / "fresh"
    made.mkdir()
    (made / "new").touch()
    return made


@pytest.mark.parametrize("exists", [True, False])
def test_nothing_and_an_empty_folder_leave_nothing_aside(
    fresh: Path, tmp_path: Path, *, exists: bool
) -> None:
    place = tmp_path / "place"
    if exists:
        place.mkdir()
    assert put_in_place(fresh, place) is None
    assert [path.name for path in tmp_path.iterdir()] == ["place"]
    assert (place / "new").exists()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made = tmp_path / "place"
    made.mkdir()
    (made / "old").touch()
    return made


def refusing(code: int) -> SimpleNamespace:
    """A system library that has the call and refuses it."""

    def refuse(*_: object) -> int:
        ctypes.set_errno(code)
        return -1

    return SimpleNamespace(renameat2=refuse)


CAN_EXCHANGE = hasattr(ctypes.CDLL(None), "renameat2")


@pytest.mark.parametrize("code", [0, None, errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.ENOTSUP])
def test_the_old_folder_has_another_name_whatever_the_system_can(
    code: int | None, fresh: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code 0 is this system as it is, None one without the call."""
    if code != 0:
        library = SimpleNamespace() if code is None else refusing(code)
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)
    renamed, plain = [], Path.rename

    def rename(self: Path, target: Path) -> Path:
        renamed.append(self.name)
        return plain(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    aside = put_in_place(fresh, place)
    assert aside == place.with_name("place.before-restore-1")
    assert name_aside(place, "before-restore") == place.with_name("place.before-restore-2")
    assert [item.name for item in (*place.iterdir(), *aside.iterdir())] == ["new", "old"]
    one_step = code == 0 and CAN_EXCHANGE  # the place is never empty
    assert renamed == (["fresh"] if one_step else ["fresh", aside.name, "place", "fresh"])


@pytest.mark.parametrize(
    "library", [None, SimpleNamespace()], ids=["this system", "one that exchanges nothing"]
)
@pytest.mark.parametrize("steps", range(4))
def test_a_disk_that_fails_takes_neither_folder(
    steps: int, library: object, fresh: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whatever step it fails, the old folder is in its place or aside, and never in what is swept."""
    plain, left = Path.rename, iter(range(steps))

    def rename(self: Path, target: Path) -> Path:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return plain(self, target)

    if library is not None:
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)
    monkeypatch.setattr(Path, "rename", rename)
    with suppress(OSError):
        assert put_in_place(fresh, place) == place.with_name("place.before-restore-1")
        assert (place / "new").exists()
    names = (place, place.with_name("place.before-restore-1"))
    assert sum((one / "old").exists() for one in names) == 1


def test_any_other_refusal_of_the_system_is_told(
    fresh: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: refusing(errno.EACCES))
    with pytest.raises(PermissionError, match="place"):
        put_in_place(fresh, place)
    assert [item.name for item in (*place.iterdir(), *fresh.iterdir())] == ["old", "new"]


def test_where_the_second_step_fails_the_old_folder_is_back(
    fresh: Path, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if (self, target) == (fresh, place):
            raise OSError(28, "No space left on device")
        return plain(self, target)

    monkeypatch.setattr(exchange, "_exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="No space"):
        put_in_place(fresh, place)
    assert (place / "old").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "place"]
