"""How many requests were served at once, by Little's law.

Tokens a second times the seconds of a request are the tokens in flight. A table may call something else its
batch: the ``-b`` of llama.cpp is tokens of a prompt that it reads at once.
"""

from ingest.door.values import JsonObject

ALIKE = 1.2
"""Factor within which a batch agrees with the law: latencies are means, rounded; a choice."""
MOST = 1e15
"""Numbers beyond it are none of a run; a choice."""
PIECE = "n_batch"
"""What llama.cpp calls the tokens of a prompt that it reads at once."""


def told_requests(task: JsonObject, config: JsonObject, outcome: JsonObject) -> tuple[JsonObject, str]:
    """The settings of a run with requests as its batch, and what was assumed, in words.

    Args:
        task: Its task, with ``shape.input_len`` and ``output_len`` in tokens.
        config: Its settings; ``batch_size`` is looked at.
        outcome: ``value`` in tokens a second (input and output), ``latency_s`` of a request.
    """
    shape, batch = task.get("shape"), config.get("batch_size")
    lengths = (shape.get("input_len"), shape.get("output_len")) if isinstance(shape, dict) else (None,)
    numbers = (batch, *lengths, outcome.get("value"), outcome.get("latency_s"))
    told = [float(one) for one in numbers if isinstance(one, int | float) and 0 < one < MOST]
    if outcome.get("metric") != "throughput" or len(told) < len(numbers) or len(numbers) < 5:
        return config, ""
    stated, given, produced, rate, latency_s = told
    at_once = rate * latency_s / (given + produced)
    if stated < 2 or not 1 / ALIKE < at_once < ALIKE:
        return config, ""
    text = "batch_size is read as n_batch: throughput times latency are the tokens of one request"
    return {**config, "batch_size": 1, PIECE: batch}, text
