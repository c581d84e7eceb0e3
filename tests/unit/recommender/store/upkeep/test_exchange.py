"""A folder is put in place in one step, or the old one is where it was."""

from pathlib import Path

import pytest

from recommender.store.upkeep import exchange
from recommender.store.upkeep.exchange import put_in_place


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


def test_where_the_second_step_fails_the_old_folder_is_back(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "old").touch()
    plain = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if self == fresh:
            raise OSError(28, "No space left on device")
        return plain(self, target)

    monkeypatch.setattr(exchange, "_exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="No space"):
        put_in_place(fresh, place)
    assert (place / "old").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "place"]
