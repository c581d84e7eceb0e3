"""Quality of answers: those of a configuration beside those of the script as it is, at temperature zero.

Equal answers are equal quality. Kernels that add in another order may turn an answer around where two tokens
are nearly as likely, so answers that part ways later are told as unknown, and answers that differ from their
first token on are a fault: that is another model, or noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.nouns.codec import JsonNoun
from recommender.tune.http_stream import AnswerError, get_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from recommender.tune.engine_process import LaunchPlace
    from recommender.tune.http_stream import Address

_PROMPTS = (
    "The capital of France is",
    "def fibonacci(n):",
    "Once upon a time there was",
    "The three primary colours are",
    "Water boils at a temperature of",
    "List the days of the week:",
    "import numpy as np\n",
    "The opposite of hot is",
)
_TOKENS = 24
_ANSWER_S = 120.0
"""For one answer: five seconds a token, after it was warmed up; a choice."""
_FIRST = 8
"""Characters at the beginning of an answer that tell its first token or two; a choice."""
_FAULT = 0.5
"""Part of the answers that must begin alike; below it the output is another one. A choice."""
_ACCURACY_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityFinding(JsonNoun):
    """Difference of the answers from those of the script as it is.

    Attributes:
        state: ``same``, ``unknown`` or ``fault``.
        text: In words.
    """

    state: str
    text: str

    @property
    def is_fault(self) -> bool:
        """Whether the configuration is refused for it."""
        return self.state == "fault"


def answers(address: Address, model: str, cancel: Event) -> tuple[str, ...]:
    """The answers of a server to the fixed prompts.

    Raises:
        AnswerError: It does not answer.
        CancelledError: ``cancel`` was set.
    """
    found = []
    for prompt in _PROMPTS:
        body = {"model": model, "prompt": prompt, "max_tokens": _TOKENS, "temperature": 0, "seed": 0}
        content = get_json(address, "/v1/completions", body, timeout_s=_ANSWER_S, cancel=cancel)
        try:
            found.append(str(content["choices"][0]["text"]))
        except (KeyError, IndexError, TypeError):
            raise AnswerError("/v1/completions: its answer has no text") from None
    return tuple(found)


def compare(before: Sequence[str], after: Sequence[str], *, wavers: bool) -> QualityFinding:
    """Compare the answers of two configurations.

    Args:
        before: Of the script as it is.
        after: Of the other.
        wavers: The script as it is answers differently when it is asked twice.
    """
    pairs = list(zip(before, after, strict=True))
    other = sum(one != two for one, two in pairs)
    if not other:
        return QualityFinding(state="same", text=f"the same answers to {len(pairs)} prompts at temperature 0")
    alike = sum(one[:_FIRST] == two[:_FIRST] for one, two in pairs)
    text = f"{other} of {len(pairs)} answers at temperature 0 differ"
    if wavers:
        return QualityFinding(state="unknown", text=f"{text}, and the script's own differ between two times")
    if alike < _FAULT * len(pairs):
        return QualityFinding(state="fault", text=f"{text}, {len(pairs) - alike} from their beginning")
    return QualityFinding(state="unknown", text=f"{text}; --accuracy COMMAND decides whether that matters")


def judge(command: str, address: Address, model: str, place: LaunchPlace, cancel: Event) -> None:
    """Let the user's own command judge a running server: it ends with success where accuracy is kept.

    Args:
        command: A text for the shell; ``TUNEGRAPH_URL``, ``TUNEGRAPH_MODEL`` and ``OPENAI_API_KEY`` tell it
            whom to ask.
        address: The server's.
        model: The name that it serves the model under.
        place: Where the server was started, and the command is.
        cancel: Ends it when set.

    Raises:
        AnswerError: Accuracy is not kept.
        CancelledError: ``cancel`` was set.
    """
    url = f"{address}/v1"
    ended, said = place.ask(
        ["sh", "-c", command], address, _ACCURACY_S, cancel, TUNEGRAPH_URL=url, TUNEGRAPH_MODEL=model
    )
    if ended.stopped or ended.code:
        raise AnswerError(f"--accuracy: {ended.stopped or f'exit code {ended.code}'}{said and f': {said}'}")
