"""Reads the method of training, in one word of the field: ``method=qlora`` or ``method="dpo lora"``."""

import re
from collections.abc import Mapping

from kg.errors import InputError
from kg.nouns.values import Value
from kg.terms.meanings import table
from kg.terms.phases import PHASE_OF_WORD

NAMES = frozenset({"method", "training_method", "finetuning_type", "finetuning", "peft", "rlhf_type"})
"""Traits that name a method."""


def read_methods(traits: Mapping[str, Value]) -> dict[str, Value]:
    """The traits, with what words of training methods state in the place of the words; stated ones win.

    Raises:
        InputError: A word names no method that is known.
    """
    known, found = table("meanings")["methods"], dict(traits)
    for name in sorted(NAMES & {*traits}):
        for word in re.findall(r"[a-z]+", str(found.pop(name)).lower()):
            if word not in known:
                raise InputError(
                    f"trait: {name}: no training method named {word!r}", hint=f"known: {', '.join(known)}"
                )
            told = {"trained_by": word} if "rlhf" in known[word] else {}
            found = {**known[word], **told, **found}
    return found


def with_method(question: Mapping[str, object]) -> Mapping[str, object]:
    """A question whose phase is a method of training (``grpo``), as one of training by that method."""
    phase, traits = question.get("phase"), question.get("traits") or {}
    if not isinstance(phase, str) or phase.lower() in PHASE_OF_WORD or not isinstance(traits, Mapping):
        return question
    training = PHASE_OF_WORD["training"]
    words = [word for word in re.findall(r"[a-z]+", phase.lower()) if PHASE_OF_WORD.get(word) != training]
    if not words or not table("meanings")["methods"].keys() >= {*words}:
        return question
    told = {} if NAMES & {*traits} else {"method": " ".join(words)}
    return {**question, "phase": "training", "traits": {**traits, **told}}
