"""Assumptions where a question is silent, one fact each: every command prints these and no others.

Release, devices, number format, lengths and load come from here in words and with the option that says
otherwise.
"""

import math
from collections.abc import Container, Iterator, Mapping

from kg.nouns.situation import FactOrigin, StatedFact
from kg.nouns.values import Value
from kg.terms.dialects import spell
from kg.terms.tasks import LENGTHS as TASK_LENGTHS
from recommender.cost_model.question import Question
from recommender.cost_model.settings.drafts import usual_share
from recommender.cost_model.settings.plans import SERVING
from recommender.cost_model.workloads.inference import feeds_forward

USUAL_LENGTH = 4096
"""Tokens of a training sequence where none are stated: what most recipes of data/recipes train with."""
ADMITTED = "the most that the launch admits"
"""Load of a launch that admits fewer requests at once than fit."""
LENGTHS = {"input_len": "prompts", "output_len": "answers"}


def _assumed(name: str, value: Value, words: str, otherwise: str) -> StatedFact:
    return StatedFact(name=name, value=value, origin=FactOrigin.ASSUMED, words=words, otherwise=otherwise)


def assumed_release(framework: str, version: str, plugged: str = "") -> StatedFact:
    """The program, or its release, where the question names none."""
    named = f"{framework} {version}".strip()
    words = f"{named} in the place of {plugged}" if plugged else named
    return _assumed(f"software.{framework}", version, words, "--software NAME=VERSION")


def assumed_count(count: int) -> StatedFact:
    """The number of devices where the question states none."""
    words = "1 device" if count == 1 else f"{count:,} devices"
    return _assumed("count", count, f"{words}, the fewest that hold it", "--count N")


def assumed_precision(name: str) -> StatedFact:
    """The format of the weights where the question states none and it is not the device's own 16 bit."""
    return _assumed("precision", name, f"weights in {name}", "--precision NAME")


def assumed_sequence(tokens: float) -> StatedFact:
    """The length of a sequence that is trained on, or that an encoder reads."""
    return _assumed("shape.seq_len", int(tokens), f"sequences of {tokens:,.0f} tokens", "--shape seq_len=N")


def assumed_whole_step() -> StatedFact:
    """Steps of a trainer that has room for no gradients beside those of a micro-batch."""
    return _assumed("current.global_batch", 0, "no gradients are accumulated", "--trait global_batch=N")


def assumed_adapters(rank: int) -> StatedFact:
    """The adapters that a trainer trains unless it is told to train all."""
    words = f"adapters of rank {rank} (LoRA), as the program does unless told"
    return _assumed("traits.lora_rank", rank, words, "--trait lora_rank=0")


def task_lengths(task: str, stated: Container[str], role: str = "") -> Iterator[StatedFact]:
    """The lengths that follow from the task that a model is named for, or from its role.

    Args:
        task: The task; empty where the name states none.
        stated: Names that win, but not over a role.
        role: The part of a deployment.
    """
    if role == "prefill":
        words = f"{LENGTHS['output_len']} of 1 token (prefill)"
        yield _assumed("shape.output_len", 1, words, "--trait role=mixed")
    for name, tokens in TASK_LENGTHS.get(task, {}).items():
        if name not in stated:
            words = f"{LENGTHS[name]} of {tokens:,} token{'' if tokens == 1 else 's'} ({task})"
            yield _assumed(f"shape.{name}", tokens, words, f"--shape {name}=N")


def own_lengths(lengths: Mapping[str, float], stated: Container[str]) -> Iterator[StatedFact]:
    """The lengths that a user's own runs had, where none are stated."""
    for name, tokens in lengths.items():
        if name not in stated:
            words = f"{LENGTHS.get(name, 'sequences')} of {tokens:,.0f} tokens (as your own runs had)"
            yield _assumed(f"shape.{name}", int(tokens), words, f"--shape {name}=N")


def fitting_lengths(most: float, stated: Container[str]) -> Iterator[StatedFact]:
    """The usual lengths as far as a context takes them: the answer at most an eighth of it.

    Args:
        most: Tokens of prompt and answer at most.
        stated: Names of what the question states: where it states either, nothing is assumed here.
    """
    usual = {name: float(SERVING[name]) for name in LENGTHS}
    if any(name in stated for name in LENGTHS) or sum(usual.values()) <= most:
        return
    answer = max(min(usual["output_len"], most // 8), 1.0)
    for name, tokens in (("input_len", max(most - answer, 1.0)), ("output_len", answer)):
        words = f"{LENGTHS[name]} of {tokens:,.0f} tokens"
        yield _assumed(f"shape.{name}", int(tokens), words, f"--shape {name}=N")


def assumed_by_price(
    question: Question,
    priced: Mapping[str, object],
    stated: Container[str],
    *,
    load: float | None,
    best: str = "the best that fits",
) -> Iterator[StatedFact]:
    """Facts that a price assumes beside the layout: samples or requests at once, lengths, drafts.

    Args:
        question: What was priced.
        priced: Its settings with those of the layout.
        stated: Names of facts that the question states.
        load: Requests at once on all devices as told or as recipes have it; None where the best was found.
        best: How the load was found, in words.
    """
    micro, batch, engines = (priced.get(name) for name in ("micro_batch", "batch", "data_parallel"))
    networks = feeds_forward(question.model, question.phase)
    is_unwritten = (
        question.phase == "training" and spell("micro_batch", question.engine, question.version, 1) is None
    )
    if micro and (networks or is_unwritten) and "micro_batch" not in question.settings:
        words = f"{float(str(micro)):g} samples of each device at once"
        yield _assumed("current.micro_batch", int(float(str(micro))), words, "--current micro_batch=N")
    is_piped = question.phase == "training" and float(str(priced.get("pipeline_parallel", 1))) > 1
    if is_piped and "global_batch" not in question.settings and spell("turns", question.engine, value=1):
        samples = round(float(str(priced["global_batch"])))
        words = f"{samples:,} samples a step"
        yield _assumed("current.global_batch", samples, words, "--trait global_batch=N")
    if question.phase == "training" or (micro and networks):
        return
    if isinstance(batch, int | float):
        copies = float(engines) if isinstance(engines, int | float) else 1.0
        if "concurrency" in stated and load and batch * copies < load:
            why = "the launch admits" if best == ADMITTED else "fit"
            words = (
                f"{batch * copies:,.0f} of {load:,.0f} requests at once, as many as {why}: the others wait"
            )
            yield _assumed("traits.running", round(batch * copies), words, "--trait concurrency=N")
        elif not any(name in stated for name in ("concurrency", "batch")):
            yield _load(float(batch), copies, load, best)
    if priced.get("speculative_tokens") and "acceptance" not in question.settings:
        method = str(priced.get("draft_method", "other"))
        drafted, steps = (
            int(float(str(priced.get(name, 0)))) for name in ("speculative_tokens", "draft_steps")
        )
        share = usual_share(method, drafted, steps)
        words = f"{share:.0%} of drafted tokens accepted" + (f" ({method})" if method != "other" else "")
        yield _assumed("shape.acceptance", share, words, "--shape acceptance=N")
    if question.model.encodes and not any(name in stated for name in ("input_len", "seq_len")):
        yield assumed_sequence(float(str(question.settings["input_len"])))
    if not networks:
        for name in (one for one in LENGTHS if one not in question.settings):
            words = f"{LENGTHS[name]} of {SERVING[name]:,} tokens"
            yield _assumed(f"shape.{name}", int(SERVING[name]), words, f"--shape {name}=N")


def _load(batch: float, engines: float, load: float | None, best: str) -> StatedFact:
    together = min(batch * engines, load or math.inf)
    words = f"{together:,.0f} request{'' if round(together) == 1 else 's'} at once"
    if engines > 1:
        words += f" ({batch:.0f} an engine)"
    if load is None:
        words += f", {best}"
    return _assumed("traits.concurrency", round(together), words, "--trait concurrency=N")
