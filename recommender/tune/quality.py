"""Quality of answers: those of a configuration beside those of the script as it is, at temperature zero.

Where a server tells how likely its tokens were, those of the script are looked for in the other's answers,
place by place up to that at which two answers part: so far both have read the same. The distance is held
against the script's own, between being asked one by one and all at once: that is what company in a batch does
to the same weights. So a kernel that adds in another order passes, another number format of weights or caches
is told with its distance, and a configuration that would not have said what the script says is a fault.

``d = log p - log q``: nats by which a token of the script is less likely in the other configuration. A token
that the other does not tell among its likeliest counts as the least likely of those: ``d`` is at least that.

Where no server tells, texts are compared: answers that part late are unknown, answers that differ from their
beginning are a fault.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Any

from kg.nouns.codec import JsonNoun
from recommender.tune.engine_process import LaunchPlace
from recommender.tune.http_stream import Address, AnswerError, get_json

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
_TOP = 5
"""Likeliest tokens of a place that are asked for: as many as every server of this interface gives."""
_ANSWER_S = 120.0
"""For one answer: five seconds a token, after it was warmed up; a choice."""
_FIRST = 8
"""Characters at the beginning of an answer that tell its first token or two; a choice."""
_FAULT = 0.5
"""Part of the answers that must begin alike, or part where both hold the token for likely, and part of their
likelihood that tokens must keep; below it the output is another one. A choice."""
_ALPHA = 0.05
"""Chance of taking for further what is not, by the sign test over prompts."""
_ACCURACY_S = 3600.0
_DECIDES = "--accuracy COMMAND decides whether that matters"


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityFinding(JsonNoun):
    """Difference of the answers from those of the script as it is.

    Attributes:
        state: ``same``, ``unknown`` or ``fault``.
        text: In words.
        distance: Mean of ``|d|`` over places; None where the server tells no likelihoods.
    """

    state: str
    text: str
    distance: float | None = None

    @property
    def is_fault(self) -> bool:
        """True if the configuration is refused for it."""
        return self.state == "fault"


@dataclass(frozen=True, slots=True)
class ServerAnswers:
    """The answers of a server to the fixed prompts.

    Attributes:
        texts: Each as text.
        tokens: Of each by place the likeliest tokens with the logarithm of their probability, that which was
            taken first; empty where the server does not tell.
    """

    texts: tuple[str, ...]
    tokens: tuple[tuple[Mapping[str, float], ...], ...] = ()

    def places(self, other: ServerAnswers) -> list[list[tuple[Mapping[str, float], Mapping[str, float]]]]:
        """Pairs of tokens at each place of two servers' answers, up to the place where the two part."""
        found = []
        for own, others in zip(self.tokens, other.tokens, strict=False):
            pairs = list(zip(own, others, strict=False))
            apart = [at for at, (one, two) in enumerate(pairs) if _taken(one) != _taken(two)]
            found.append(pairs[: apart[0] + 1] if apart else pairs)
        return found

    def distances(self, other: ServerAnswers) -> list[list[float]]:
        """``d`` by answer and place; an answer of which one does not tell has none."""
        return [
            [one[_taken(one)] - two.get(_taken(one), min(two.values())) for one, two in pairs]
            for pairs in self.places(other)
        ]

    def losses(self, other: ServerAnswers) -> int:
        """Answers that another server parts from as their token is none of its likeliest."""
        ends = [pairs[-1] for pairs in self.places(other) if pairs]
        return sum(_taken(one) not in two for one, two in ends)


def answers(address: Address, model: str, cancel: Event, *, at_once: bool = False) -> ServerAnswers:
    """Ask a server the fixed prompts.

    Args:
        address: The server's.
        model: The name that it serves the model under.
        cancel: Ends it when set.
        at_once: All together, so that they share batches.

    Raises:
        AnswerError: It does not answer.
        CancelledError: ``cancel`` was set.
    """

    def ask(prompt: str, told: Mapping[str, object]) -> Mapping[str, Any]:
        body = {"model": model, "prompt": prompt, "max_tokens": _TOKENS, "temperature": 0, "seed": 0, **told}
        content = get_json(address, "/v1/completions", body, timeout_s=_ANSWER_S, cancel=cancel)
        try:
            return {**content["choices"][0], "text": str(content["choices"][0]["text"])}
        except (KeyError, IndexError, TypeError):
            raise AnswerError("/v1/completions: its answer has no text") from None

    more: dict[str, object] = {"logprobs": _TOP}
    try:
        first = ask(_PROMPTS[0], more)
    except AnswerError:  # some refuse to tell likelihoods
        first = ask(_PROMPTS[0], more := {})
    with ThreadPoolExecutor(len(_PROMPTS) if at_once else 1) as pool:
        found = list(pool.map(lambda prompt: ask(prompt, more), _PROMPTS if at_once else _PROMPTS[1:]))
    found = found if at_once else [first, *found]
    texts, tokens = tuple(item["text"] for item in found), tuple(map(_likely, found))
    is_told = any(place[_taken(place)] < 0 for each in tokens for place in each)  # else behind the sampling
    return ServerAnswers(texts, tokens if is_told else ())


def _likely(choice: Mapping[str, Any]) -> tuple[Mapping[str, float], ...]:
    """The likeliest tokens of each place, in the form of OpenAI's completions or of its chats."""
    told: Any = choice.get("logprobs")
    try:
        if told and "content" in told:
            rows = [
                [(item["token"], item["logprob"]), *_pairs(item["top_logprobs"])] for item in told["content"]
            ]
        else:
            lines = zip(told["tokens"], told["token_logprobs"], told["top_logprobs"], strict=True)
            rows = [[(token, value), *(top or {}).items()] for token, value, top in lines] if told else []
        return tuple({str(name): round(max(float(value), -1e4), 5) for name, value in row} for row in rows)
    except (KeyError, TypeError, ValueError):
        return ()


def _pairs(top: Sequence[Mapping[str, Any]]) -> list[tuple[object, Any]]:
    return [(item["token"], item["logprob"]) for item in top]


def _taken(place: Mapping[str, float]) -> str:
    return next(iter(place))


def spread(distances: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Mean of ``|d|`` of each answer; empty where one has none."""
    if not all(distances):
        return ()
    return tuple(round(sum(map(abs, each)) / len(each), 6) for each in distances)


def compare(
    before: ServerAnswers, after: ServerAnswers, *, wavers: bool, wavering: Sequence[float] = ()
) -> QualityFinding:
    """Compare the answers of two configurations.

    Args:
        before: Of the script as it is.
        after: Of the other.
        wavers: The script as it is answers differently when it is asked twice.
        wavering: Mean of ``|d|`` of each of its answers between the two times.
    """
    count = len(before.texts)
    other = sum(one != two for one, two in zip(before.texts, after.texts, strict=True))
    text = f"{other} of {count} answers at temperature 0 differ"
    if not other:
        text = f"the same answers to {count} prompts at temperature 0"
    found = before.distances(after)
    if len(spread(found)) == len(wavering) == count:
        return _judged(text, before.losses(after), found, wavering)
    if not other:
        return QualityFinding(state="same", text=text)
    alike = sum(one[:_FIRST] == two[:_FIRST] for one, two in zip(before.texts, after.texts, strict=True))
    if wavers:
        return QualityFinding(state="unknown", text=f"{text}, and the script's own differ between two times")
    if alike < _FAULT * count:
        return QualityFinding(state="fault", text=f"{text}, {count - alike} from their beginning")
    return QualityFinding(state="unknown", text=f"{text}; {_DECIDES}")


def _judged(
    text: str, lost: int, found: Sequence[Sequence[float]], wavering: Sequence[float]
) -> QualityFinding:
    """The finding by how far tokens are from the script's, beside how far its own are between two times."""
    places = [value for each in found for value in each]
    distance, drop = sum(map(abs, places)) / len(places), sum(places) / len(places)
    own = sum(wavering) / len(wavering)
    text = f"{text}; tokens are {distance:.2g} nats apart, the script's own {own:.2g} between two times"
    further = sum(one > two for one, two in zip(spread(found), wavering, strict=True))
    chance = sum(math.comb(len(found), k) for k in range(further, len(found) + 1)) / 2 ** len(found)
    if chance > _ALPHA:
        return QualityFinding(state="same", text=text, distance=distance)
    if lost >= _FAULT * len(found) or drop >= -math.log(_FAULT):
        text = f"{text}; {lost} answers part at a token that it holds for unlikely"
        return QualityFinding(state="fault", text=text, distance=distance)
    return QualityFinding(state="unknown", text=f"{text}; {_DECIDES}", distance=distance)


def judge(command: str, address: Address, model: str, place: LaunchPlace, cancel: Event) -> None:
    """Judge a running server by the user's own command, which ends with success where accuracy is kept.

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
