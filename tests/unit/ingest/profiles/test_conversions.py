"""Recordings in the own form of a tool say in one line how that tool converts them."""

import sqlite3
from pathlib import Path

import pytest

from ingest.profiles.conversions import is_rocpd
from ingest.profiles.folders import read_profile
from kg.errors import InputError

FORMS = {
    "a.pftrace": "rocprofv3 --output-format csv",
    "b.nsys-rep": "nsys export --type sqlite",
    "c.ncu-rep": "nsys profile",
    "d.perfetto-trace": "torch.profiler",
    "7_results.db": "rocpd convert",
}


def write(path: Path) -> None:
    if path.suffix == ".db":
        with sqlite3.connect(path) as database:
            database.execute(
                "CREATE TABLE rocpd_kernel_dispatch_00a1 (id INTEGER, start INTEGER, end INTEGER)"
            )
        database.close()
    else:
        path.write_bytes(b"\x00\x01")


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("in_a_folder", [False, True])
def test_they_say_how_to_convert_them(tmp_path: Path, name: str, in_a_folder: bool) -> None:
    home = tmp_path / "run" / "host"
    home.mkdir(parents=True)
    (home / "README.txt").write_text("of a run")
    path = home / name
    write(path)
    with pytest.raises(InputError, match="not read in this form") as fault:
        read_profile(tmp_path / "run" if in_a_folder else path)
    assert str(path) in str(fault.value)
    assert FORMS[name] in fault.value.hint


def test_a_folder_without_any_is_no_profile(tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("of a run")
    with pytest.raises(InputError, match="not a profile"):
        read_profile(tmp_path)


def test_no_database_is_none_of_rocprofv3(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"SQLite format 3\x00 and nothing of it")
    assert not is_rocpd(path)
