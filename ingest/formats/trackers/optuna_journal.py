"""Optuna's journal (``JournalStorage``): one operation a line, from which studies are put together again.

Operations by their codes: 0 create a study, 1 delete it, 2 and 3 set its user and system attributes, 4
create a trial, 5 set a parameter, 6 set state and values, 8 set a trial's user attribute. A study and a
trial are numbered in the order in which they were created.
"""

from collections.abc import Iterator

from ingest.door.records import Records
from ingest.files.content import Content, ContentError
from ingest.files.json_lines import json_lines
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.optuna_study import STATES, OptunaTrial, Study, decode, study_cases
from kg.errors import Fault
from kg.nouns.entities import Case

_MAXIMIZE = 2


def sniff(head: Head) -> bool:
    """True if its first line is an operation."""
    first = next((line for line in head.text.splitlines() if line.strip()), "")
    return first.lstrip().startswith("{") and '"op_code"' in first and '"worker_id"' in first


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """The trials of all studies, after the last line."""
    journal = _Journal()
    for place, line in json_lines(content):
        if isinstance(line, Fault):
            yield line
            continue
        try:
            journal.apply(line)
        except ContentError as fault:
            yield Fault(place=place, reason=str(fault))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as fault:
            yield Fault(
                place=place, reason=f"no operation of a journal ({type(fault).__name__}: {fault})"[:200]
            )
    for study_id, study in journal.studies.items():
        if study is not None:
            trials = [trial for owner, trial in journal.trials if owner == study_id]
            yield from study_cases(study, trials, records, path=content.reference)


class _Journal:
    """Studies and trials, as far as the journal has been read."""

    def __init__(self) -> None:
        self.studies: dict[int, Study | None] = {}
        self.trials: list[tuple[int, OptunaTrial]] = []
        self._names: set[str] = set()
        self._counts: dict[int, int] = {}

    def apply(self, line: object) -> None:
        """Apply the operation of a line."""
        if not isinstance(line, dict):
            raise ContentError("an operation is an object")
        match line["op_code"]:
            case 0:
                self._create_study(line)
            case 1:
                study = self.studies.get(line["study_id"])
                self._names.discard(study.name if study else "")
                self.studies[line["study_id"]] = None
            case 2:
                self._study(line).attributes.update(line["user_attr"])
            case 3:
                names = dict(line["system_attr"]).get("study:metric_names")
                if isinstance(names, list):
                    self._study(line).metric_names = [str(name) for name in names]
            case 4:
                self._create_trial(line)
            case 5:
                trial = self._trial(line)
                value = decode(float(line["param_value_internal"]), str(line["distribution"]))
                trial.parameters[str(line["param_name"])] = value
            case 6:
                self._finish(self._trial(line), line)
            case 8:
                self._trial(line).attributes.update(line["user_attr"])
            case 7 | 9:
                pass
            case code:
                raise ContentError(f"operation {code!r} is unknown")

    def _create_study(self, line: dict[str, object]) -> None:
        name = str(line["study_name"])
        if name in self._names:  # a second worker asked for the same study: it got the one there is
            return
        self._names.add(name)
        given = line["directions"]
        if not isinstance(given, list):
            raise ContentError("directions are a list")
        directions = ["higher" if item == _MAXIMIZE else "lower" for item in given]
        self.studies[len(self.studies)] = Study(name=name, directions=directions)

    def _create_trial(self, line: dict[str, object]) -> None:
        self._study(line)
        study_id = line["study_id"]
        if not isinstance(study_id, int):
            raise ContentError("a study is known by a number")
        count = self._counts.get(study_id, 0)
        trial = OptunaTrial(number=count, state="RUNNING")
        self._counts[study_id] = count + 1
        self.trials.append((study_id, trial))
        internal, distributions = line.get("params"), line.get("distributions")
        if isinstance(internal, dict) and isinstance(distributions, dict):
            for name, value in internal.items():
                trial.parameters[name] = decode(float(value), str(distributions[name]))
        noted = line.get("user_attrs")
        if isinstance(noted, dict):
            trial.attributes.update(noted)
        if "state" in line:
            self._finish(trial, line)

    def _finish(self, trial: OptunaTrial, line: dict[str, object]) -> None:
        if trial.state not in ("RUNNING", "WAITING"):  # another worker came first
            return
        state = line["state"]
        if isinstance(state, bool) or not isinstance(state, int) or not 0 <= state < len(STATES):
            raise ContentError(f"state {state!r} is unknown")
        values = line.get("values")
        if values is None and line.get("value") is not None:
            values = [line["value"]]
        if isinstance(values, list):
            trial.values = {
                place: None if value is None else float(value) for place, value in enumerate(values)
            }
        trial.state = STATES[state]

    def _study(self, line: dict[str, object]) -> Study:
        study_id = line["study_id"]
        study = self.studies.get(study_id) if isinstance(study_id, int) else None
        if study is None:
            raise ContentError(f"study {study_id!r} was never created, or is deleted")
        return study

    def _trial(self, line: dict[str, object]) -> OptunaTrial:
        trial_id = line["trial_id"]
        if not isinstance(trial_id, int) or not 0 <= trial_id < len(self.trials):
            raise ContentError(f"trial {trial_id!r} was never created")
        return self.trials[trial_id][1]


FORMAT = Format(
    name="optuna-journal",
    title="Optuna journal (op_code a line)",
    sniff=sniff,
    read=read,
)
