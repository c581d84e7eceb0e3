"""Settings and words of the trial store, each kept once under an integer key."""

from kg.nouns.values import Settings, canonical_json
from kg.rows import trials_sql
from kg.rows.trials_file import TrialsFile

_CACHED = 200_000
"""Keys remembered while writing; forgotten all at once beyond that."""


class InternedValues:
    """The keys of settings and words in a trial store, remembered while it writes.

    Args:
        file: Has the tables of settings and words; what is missing there is added.
    """

    def __init__(self, file: TrialsFile) -> None:
        self._file = file
        self._settings: dict[str, int] = {}
        self._words: dict[str, int] = {}

    def settings(self, settings: Settings) -> int:
        """Return the key of settings, which are added if they are new."""
        shown = repr(settings)  # a third of the time that the digest takes, and as exact
        key = self._settings.get(shown)
        if key is None:
            key = self._file.find_or_insert(
                trials_sql.FIND_SETTINGS,
                settings.digest,
                trials_sql.INSERT_SETTINGS,
                settings.digest,
                canonical_json(settings.to_json()),
            )
            _remember(self._settings, shown, key)
        return key

    def word(self, text: str) -> int:
        """Return the key of a word, which is added if it is new."""
        key = self._words.get(text)
        if key is None:
            key = self._file.find_or_insert(trials_sql.FIND_WORD, text, trials_sql.INSERT_WORD, text)
            _remember(self._words, text, key)
        return key

    def forget(self) -> None:
        """Look every key up again, after a transaction that was rolled back."""
        self._settings.clear()
        self._words.clear()


def _remember(cache: dict[str, int], text: str, key: int) -> None:
    if len(cache) >= _CACHED:
        cache.clear()
    cache[text] = key
