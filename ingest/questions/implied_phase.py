"""The phase of a question that names none, from what it says besides."""

from collections.abc import Callable, Collection, Mapping

from ingest.questions.training_methods import NAMES as METHODS
from kg.terms.metrics import canonical_metric
from kg.terms.phases import PHASE_OF_WORD
from kg.terms.tasks import task_of

_OF_SERVING = frozenset(
    {"input_len", "output_len", "concurrency", "request_rate", "shared_prefix_share", "disaggregated"}
)
_OF_TRAINING = frozenset({*METHODS, "global_batch", "rlhf", "rewards", "optimizer"})
_OF_REQUESTS = ("ttft", "tpot", "e2e_latency", "latency_p")
"""Beginnings of metrics that a request has and a step of training has not."""


def implied_phase(raw: Mapping[str, object], phases_of: Callable[[str], Collection[str]]) -> tuple[str, str]:
    """The phase that a question is of, and what says so; training and nothing where nothing tells.

    A program that serves and does not train, or the other way about, comes before lengths and limits.

    Args:
        raw: The question, as for ``problem_from``.
        phases_of: Scopes of phases by the name of a program; empty where that is unknown.
    """
    for program in _names(raw.get("software")):
        scopes = set(phases_of(program))
        if scopes and "training" not in scopes and "kernel" not in scopes:
            return "serving", program
        if scopes == {"training"}:
            return "training", program
    facts = [*_names(raw.get("traits")), *_names(raw.get("shape"))]
    for phase, known in (("training", _OF_TRAINING), ("serving", _OF_SERVING)):
        if said := next((name for name in facts if name in known), ""):
            return phase, said
    for metric in _metrics(raw):
        if metric.startswith(_OF_REQUESTS):
            return "serving", metric
    model = raw.get("model")
    return "serving" if isinstance(model, str) and task_of(model) else "training", ""


def _names(table: object) -> list[str]:
    return [str(name) for name in table] if isinstance(table, Mapping) else []


def _metrics(raw: Mapping[str, object]) -> list[str]:
    """Metrics of the objective and of the limits, by their canonical names."""
    limits = raw.get("limits")
    texts = [raw.get("objective"), *(limits if isinstance(limits, list | Mapping) else ())]
    words = [text.replace("<", " ").replace("=", " ").split() for text in texts if isinstance(text, str)]
    return [canonical_metric(one[0], PHASE_OF_WORD["serving"].kind) for one in words if one]
