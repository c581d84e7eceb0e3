"""What the price of a start assumes of load and links, where the question leaves it open, as notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recommender.cost_model.machine import link_note
from recommender.cost_model.settings.plans import SERVING
from recommender.cost_model.workloads.inference import feeds_forward

if TYPE_CHECKING:
    from collections.abc import Container

    from recommender.ranking.starts.draft import StartDraft
    from recommender.ranking.starts.layout_choice import ChosenLayout

LENGTHS = {"input_len": "prompts", "output_len": "answers"}


def load_notes(chosen: ChosenLayout, draft: StartDraft) -> list[str]:
    """What a price stands for: samples or requests at once, the lengths of requests, links."""
    settings, situation, question = chosen.option.settings, draft.situation, draft.question
    micro, batch = settings.get("micro_batch"), settings.get("batch")
    networks = question is not None and feeds_forward(question.model, question.phase)
    if micro and networks:
        return [f"priced at {micro:g} samples of each device at once; --current micro_batch=N says otherwise"]
    if chosen.option.log_merit is None or question is None:
        return []
    links = link_note(question.machine)
    notes = [links] if links else []
    if situation.is_training:
        return notes
    if isinstance(batch, int | float) and situation.at_once is None:
        engines = chosen.option.layout.dp
        each = f" ({batch:.0f} an engine)" if engines > 1 else ""
        is_one = round(batch * engines) == 1
        number = f"{batch * engines:.0f} request{'' if is_one else 's'} at once{each}"
        verb = "is" if is_one else "are"
        found = (
            f"priced at {number}, the best that fits" if draft.load is None else f"{number} {verb} assumed"
        )
        notes.append(f"{found}; --trait concurrency=N says otherwise")
    if question.settings.get("speculative_tokens") and "acceptance" not in question.settings:
        share = float(SERVING["acceptance"])
        notes.append(
            f"{share:.0%} of drafted tokens are taken to be accepted; --shape acceptance=N says otherwise"
        )
    if question.model.encodes and not {"input_len", "seq_len"} & set(situation.facts):
        length = question.settings["input_len"]
        notes.append(f"sequences of {length:,} tokens are assumed; --shape seq_len=N says otherwise")
    return notes if networks else [*notes, *length_notes(question.settings)]


def length_notes(stated: Container[str]) -> list[str]:
    """The note on the lengths of requests that are not stated, if there are such."""
    assumed = [name for name in LENGTHS if name not in stated]
    if not assumed:
        return []
    lengths = " and ".join(f"{LENGTHS[name]} of {SERVING[name]:,}" for name in assumed)
    shape = ",".join(f"{name}=N" for name in assumed)
    return [f"{lengths} tokens are assumed; --shape {shape} says otherwise"]
