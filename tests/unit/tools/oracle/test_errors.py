"""Tables of statements made from sources."""

import re
import subprocess
from pathlib import Path

import pytest

from tools.oracle.archives import tag_files
from tools.oracle.errors import (
    MOST_WORDS,
    Source,
    is_of_use,
    main,
    release_name,
    shorten,
    sources,
    statements_of,
    table_of,
)
from tools.oracle.python_statements import Statement

EARLY = b"raise ValueError(f'Asked for {need} blocks of memory, {free} GiB free')\n"
LATE = b"raise ValueError(f'No room: {need} blocks of memory were asked for')\n"


@pytest.mark.parametrize(
    ("template", "pattern"),
    [
        ("Asked for {n}  blocks\n", "Asked for {n} blocks"),
        ("ERROR\nThe cache holds {n} blocks only", "The cache holds {n} blocks only"),
        ("{a}{b} of these blocks remain", "{a} of these blocks remain"),
        ("Too few: {n}", None),
        ("No blocks remain. {some_msg}Give more memory", "No blocks remain. … Give more memory"),
        ("No blocks remain ... give more memory.", "No blocks remain … give more memory"),
        (
            "No blocks remain (dumped to /usr/share/of_{name}.pkl): {err}",
            "No blocks remain (dumped to … ): {err}",
        ),
    ],
)
def test_a_pattern_is_one_line_with_what_tells(template: str, pattern: str | None) -> None:
    assert shorten(template) == pattern


def test_a_long_text_keeps_its_begin_and_what_stands_around_its_values() -> None:
    words = [f"word{place}" for place in range(40)]
    words[30:31] = ["{limit}", "GiB"]
    pattern = shorten(" ".join(words)) or ""
    held = pattern.split()
    assert held[0] == "word0"
    assert "word29 {limit} GiB" in pattern
    assert sum(word not in {"…", "{limit}"} for word in held) == MOST_WORDS


@pytest.mark.parametrize(
    ("level", "where", "text", "kept"),
    [
        ("raise", "ValueError", "needs {n} GiB of memory", True),
        ("raise", "ValueError", "--width needs --height", True),
        ("raise", "AssertionError", "queue must not be empty", False),
        ("raise", "AssertionError", "heads ({n}) must be divisible by {m}", True),
        ("raise", "ValueError", "shape {n} of the tensor is not {m}", False),
        ("warning", "config", "an old name was given", False),
        ("error", "worker", "worker {n} left", True),
    ],
)
def test_what_a_user_sets_or_runs_out_of_is_kept(level: str, where: str, text: str, kept: bool) -> None:
    assert is_of_use(Statement(level=level, where=where, template=text)) is kept


def test_a_table_says_from_which_release_to_which_a_pattern_was_read() -> None:
    source = Source(releases=(), parts=r"^p/.*\.py$")
    known: dict[bytes, list[Statement]] = {}
    releases = [
        (
            release,
            list(statements_of([("p/a.py", text), ("p/tests/b.py", LATE), ("q.py", LATE)], source, known)),
        )
        for release, text in (("1.0", EARLY), ("1.1", EARLY), ("2.0", LATE))
    ]
    assert table_of(releases) == [
        ("1.0", "1.1", "raise", "ValueError", "Asked for {need} blocks of memory, {free} GiB free"),
        ("2.0", "2.0", "raise", "ValueError", "No room: {need} blocks of memory were asked for"),
    ]


def test_a_repository_is_read_at_its_tags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "a.py").write_bytes(EARLY)
    (tmp_path / "notes.txt").write_text("no source")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
    git("tag", "v1")
    assert list(tag_files(tmp_path, "v1", re.compile(r"\.py$"))) == [("a.py", EARLY)]
    with pytest.raises(SystemExit):
        main(["no-such-program", "--into", str(tmp_path)])
    assert "no-such-program" in capsys.readouterr().err


def test_releases_are_named_as_people_write_them() -> None:
    names = [
        release_name(tag) for tag in ("v0.9.1", "core_v0.12.0", "v2.27.7-1", "v26.0.0_core_r0.12.1", "HEAD")
    ]
    assert names == ["0.9.1", "0.12.0", "2.27.7", "26.0.0", "main"]


def test_each_program_names_what_is_read() -> None:
    held = sources()
    assert {"vllm", "sglang", "vllm-ascend", "megatron-core"} <= held.keys()
    assert all(item.releases and item.parts for item in held.values())


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("raise AssertionError('the pool_of_blocks must not be empty here')", False),
        ("raise AssertionError('give --pool-size where blocks are shared')", True),
        ("raise ValueError('the memory of this pool is exhausted')", True),
        ("logger.warning('--pool-size of the cache is deprecated')", False),
        ("logger.warning('the cache memory holds %d blocks', n)", True),
    ],
)
def test_what_has_no_value_must_name_a_flag_or_be_an_error_for_users(line: str, kept: bool) -> None:
    source = Source(releases=(), parts="")
    assert bool(list(statements_of([("a.py", line.encode())], source, {}))) is kept
