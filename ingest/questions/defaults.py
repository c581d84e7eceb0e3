"""A question completed with a user's defaults, where it leaves hardware, count or framework open."""

from collections.abc import Callable, Mapping

from ingest.questions.implied_phase import implied_phase
from kg.terms.phases import PHASE_OF_WORD


def with_defaults(
    raw: Mapping[str, object],
    defaults: Mapping[str, object],
    place: str,
    *,
    same_hardware: Callable[[str, str], bool],
    phases: Mapping[str, frozenset[str]],
    runs_on: Callable[[str], bool] = lambda _: True,
) -> dict[str, object]:
    """A question with what it leaves open taken from a user's defaults, and a note that says what was.

    A count of devices goes with the user's own hardware alone. A framework is for whole models in its phases,
    and only where the question names no framework and hardware that it runs on.

    Args:
        raw: The question, as for ``problem_from``.
        defaults: ``hardware``, ``count``, ``framework`` and ``version``; each may be missing.
        place: Where they are from, for the note.
        same_hardware: Whether two names mean the same hardware.
        phases: Scopes of phases by id of the frameworks that the graph knows.
        runs_on: Whether the default framework runs on hardware of a name.
    """
    completed, said = dict(raw), list[str]()
    hardware = str(defaults.get("hardware") or "")
    if hardware and not raw.get("hardware"):
        completed["hardware"] = hardware
        said.append(hardware)
    is_own = bool(hardware) and same_hardware(hardware, str(completed["hardware"]))
    if is_own and defaults.get("count") and not raw.get("count") and not raw.get("op"):
        completed["count"] = defaults["count"]
        said.append(f"count {defaults['count']}")
    framework = str(defaults.get("framework") or "")
    stated = raw.get("software")
    software = stated if isinstance(stated, dict) else {}
    is_open = not (raw.get("op") or raw.get("current") or phases.keys() & software.keys())
    if (
        framework in phases and is_open and runs_on(str(completed.get("hardware") or ""))
    ):  # what runs now, as a script has it, shows its framework
        implied, _ = implied_phase(raw, lambda program: phases.get(program, ()))
        phase = PHASE_OF_WORD.get(str(raw.get("phase") or implied).lower())
        if phase is not None and phase.scope in phases[framework]:
            completed["software"] = {**software, framework: str(defaults.get("version") or "")}
            said.append(f"{framework} {defaults.get('version') or ''}".strip())
    if said:
        notes = raw.get("notes")
        before = notes if isinstance(notes, list) else []
        completed["notes"] = [*before, f"{', '.join(said)} from {place}"]
    return completed
