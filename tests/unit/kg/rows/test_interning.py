"""Keys of settings and words: one each, also after a transaction that was rolled back."""

from contextlib import suppress
from pathlib import Path

from kg.nouns.values import Settings
from kg.rows.interning import InternedValues
from kg.rows.trials_file import open_file


def test_equal_settings_and_words_have_one_key(tmp_path: Path) -> None:
    file = open_file(tmp_path / "t.sqlite3", read_only=False)
    first, second = InternedValues(file), InternedValues(file)
    with file.transaction():
        key = first.settings(Settings({"tile": 64, "warps": 4}))
        assert first.settings(Settings({"warps": 4, "tile": 64})) == key
        assert first.settings(Settings({"tile": 64})) != key
        assert second.settings(Settings({"tile": 64, "warps": 4})) == key
        assert first.word("latency") == second.word("latency") != first.word("power")
    file.close()


def test_a_key_of_a_rolled_back_transaction_is_forgotten(tmp_path: Path) -> None:
    file = open_file(tmp_path / "t.sqlite3", read_only=False)
    interned = InternedValues(file)
    with suppress(KeyboardInterrupt), file.transaction():
        interned.settings(Settings({"tile": 64}))
        raise KeyboardInterrupt
    interned.forget()
    with file.transaction():
        key = interned.settings(Settings({"tile": 64}))
    assert file.read("SELECT key FROM settings") == [(key,)]
    file.close()
