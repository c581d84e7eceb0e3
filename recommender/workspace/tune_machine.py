"""The process on another machine that measures starts for a tune.

It reads a line of what the tune is, then one for each start, and says what each gave. When its input ends, so
does what it started: nothing runs on behind a tune that was killed.
"""

import json
import queue
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kg.errors import TuningError
from recommender.measuring.outcome import CancelledError
from recommender.tune.request import TuneRequest, mark_of
from recommender.tune.starts.machines import facts
from recommender.tune.tune_journal import TuneJournal
from recommender.tune.tune_result import TuneEvaluator, TuneStart


class _Place(TuneJournal):
    """The folder of a tune here, whose journal is elsewhere."""

    def note(self, _event: str, /, **_facts: object) -> None:
        """Nothing is kept here."""


def main() -> None:
    """Measure until the input ends."""
    asked: queue.Queue[dict[str, Any] | None] = queue.Queue()
    cancel = threading.Event()

    def listen() -> None:
        with suppress(ValueError):
            for line in sys.stdin:
                content = json.loads(line)
                if "cancel" in content:
                    cancel.set()
                else:
                    cancel.clear()
                    asked.put(content)
        cancel.set()
        asked.put(None)

    threading.Thread(target=listen, daemon=True).start()
    if (first := asked.get()) is None:
        return
    try:
        _measure(first, asked, cancel)
    except (TuningError, OSError) as fault:
        with suppress(OSError):  # nobody listens any more
            _say(fault=str(fault))


def _measure(
    first: Mapping[str, Any], asked: queue.Queue[dict[str, Any] | None], cancel: threading.Event
) -> None:
    request, place = TuneRequest.from_json(first["request"]), _Place(Path(first["folder"]), {})
    place.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    script = request.read_script(first["text"])
    script.end_all(mark_of(place.folder))  # of a session that was killed
    _say(**facts())
    evaluator: TuneEvaluator | None = None
    while (content := asked.get()) is not None:
        place.events = [content["calibrated"]] if content["calibrated"] else []
        evaluator = evaluator or request.evaluator(script, place)
        try:
            found = evaluator.evaluate(TuneStart.from_json(content["start"]), cancel)
            _say(result=found.to_json())
        except CancelledError:
            _say(cancelled=True)


def _say(**content: object) -> None:
    sys.stdout.write(f"{json.dumps(content)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
