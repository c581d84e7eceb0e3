"""The load of a server over time, from the lines that vLLM and SGLang write or from their ``/metrics``.

Source:
    vLLM, "Production Metrics" and its logger of statistics; SGLang, "Production Metrics" and its scheduler's
    lines on prefill and decode batches.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from statistics import median

from kg.nouns.codec import NOT_IN_JSON, JsonNoun, in_json

_NUMBER = r"([\d.]+(?:[eE][+-]?\d+)?)"
_VLLM = {
    "Avg prompt throughput: ": "prompt_tokens_s", "Avg generation throughput: ": "generated_tokens_s",
    "Running: ": "running", "Waiting: ": "waiting", "Pending: ": "waiting",
    "KV cache usage: ": "kv_share", "Prefix cache hit rate: ": "prefix_hit_share",
}  # fmt: skip
_SGLANG = {
    "gen throughput (token/s): ": "generated_tokens_s", "#running-req: ": "running",
    "#queue-req: ": "waiting", ", token usage: ": "kv_share",
}  # fmt: skip
_LINES = {
    engine: (mark, names, re.compile(rf"({'|'.join(map(re.escape, names))}){_NUMBER}"), whole)
    for engine, mark, names, whole in (
        ("vllm", "Avg generation throughput:", _VLLM, 100.0),
        ("sglang", "#queue-req:", _SGLANG, 1.0),
    )
}
"""By server: the mark of a line of statistics, what stands in it, and what a whole share is written as."""
_METRICS = {
    "vllm:num_requests_running": "running", "vllm:num_requests_waiting": "waiting",
    "vllm:gpu_cache_usage_perc": "kv_share", "vllm:kv_cache_usage_perc": "kv_share",
    "vllm:num_preemptions_total": "preemptions", "vllm:num_preemptions": "preemptions",
    "sglang:num_running_reqs": "running", "sglang:num_queue_reqs": "waiting",
    "sglang:token_usage": "kv_share", "sglang:gen_throughput": "generated_tokens_s",
    "sglang:cache_hit_rate": "prefix_hit_share",
    "sglang:num_retracted_requests_total": "preemptions",
}  # fmt: skip
_MAY_TELL = (
    *(b"Avg generation throughput:", b"#queue-req:", b"Per-position acceptance rate:"),
    *(b"vllm:", b"sglang:"),
)
_METRIC = re.compile(rf"^(vllm:\w+|sglang:\w+)(?:\{{([^}}]*)\}})?\s+{_NUMBER}(?:\s+\d+)?\s*$")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_CONFIG, _HITS, _QUERIES, _DRAFTS, _ACCEPTED = (
    *("vllm:cache_config_info", "vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"),
    *("vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_accepted_tokens_per_pos_total"),
)
_POSITIONS = re.compile(r"Per-position acceptance rate: ([\d., ]+\d)")
_LEAST_GAIN = 1 / 32
"""Part of a step that a drafted token has to bring; a choice: heads of EAGLE and MTP are one block, models of
8 billion parameters have 32, and deeper ones pay less."""
_BUSY, _QUIET, _SLOWER = 0.5, 0.1, 2.0
"""Parts of the most prompt tokens from which prefill fills a sample and below which it does not; and how many
times as slow decoding is called blocked: choices, beside which both rates are shown."""
_PLATEAU = 0.98
"""Part of the most running requests from which a sample stands at the limit: some end in each interval."""
_FREE = 0.9
"""Share of the cache in use below which it holds nobody back (SGLang's guide calls more well used)."""
_LEAST_SAMPLES = 2
_SHARES = frozenset({"kv_share", "prefix_hit_share"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingLoad(JsonNoun):
    """The load of a server over the samples that a log or a page of metrics has.

    Attributes:
        engine: ``"vllm"`` or ``"sglang"``.
        samples: Number of samples; one for a page of metrics.
        means: Mean by name: tokens a second, requests, shares.
        peaks: Most by name.
        short_share: Share of samples in which requests wait and fewer KV blocks are free than the mark.
        limit: Most requests that run at once where it bounds them: about as many run in each sample, others
            wait, and KV blocks are free. None if something else does, or too few samples tell.
    """

    engine: str
    samples: int
    means: Mapping[str, float] = field(metadata=in_json(digits=6))
    peaks: Mapping[str, float] = field(metadata=in_json(digits=6))
    short_share: float = field(metadata=in_json("kv_short_share", digits=4))
    limit: int | None = field(default=None, metadata=in_json("running_limit"))
    accepted: tuple[float, ...] = ()
    decode_rates: tuple[float, float] | None = None
    waits_though_free: bool = field(default=False, metadata=NOT_IN_JSON)

    @property
    def useful_drafts(self) -> int:
        """Positions of a draft that bring as much as one is taken to cost."""
        tokens = [1.0 + sum(self.accepted[:place]) for place in range(len(self.accepted))]
        return sum(gain / before >= _LEAST_GAIN for gain, before in zip(self.accepted, tokens, strict=True))

    def with_limit(self, limits: Collection[float]) -> ServingLoad:
        """The load with the limit at which a single sample stands, of those that may hold."""
        running, is_free = self.means.get("running", 0.0), self.means.get("kv_share", 1.0) < _FREE
        is_full = running in limits and is_free and self.means.get("waiting", 0.0) > 0
        return replace(self, limit=int(running)) if is_full and self.samples == 1 else self

    @property
    def numbers(self) -> dict[str, float]:
        """What formulas over a load may read."""
        return (
            {name: self.means[name] for name in ("kv_share", "running", "waiting") if self.means.get(name)}
            | ({} if self.limit is None else {"limit": float(self.limit)})
            | ({"useful_drafts": float(self.useful_drafts)} if self.accepted else {})
        )


def may_tell(line: bytes) -> bool:
    """Whether lines may hold statistics."""
    return any(map(line.__contains__, _MAY_TELL))


class LoadSamples:
    """The statistics of a server, taken line by line.

    Attributes:
        arguments: Arguments of the server that a page of metrics tells, by name.
    """

    def __init__(self) -> None:
        """Nothing taken yet."""
        self.arguments: dict[str, str] = {}
        self._counts: dict[str, float] = defaultdict(float)
        self._positions: dict[int, float] = defaultdict(float)
        self._lines: list[tuple[str, dict[str, float]]] = []
        self._metrics: dict[str, dict[str, float]] = {}
        self._accepted: list[list[float]] = []

    def take(self, line: bytes) -> None:
        """Take a line of a log, or of a saved page of metrics, that ``may_tell`` finds."""
        text = line.decode("utf-8", "replace")
        if "Per-position" in text and (rates := _POSITIONS.search(text)) is not None:
            self._accepted.append([float(rate) for rate in rates[1].split(", ") if rate])
        metric = _METRIC.match(text) if text.startswith(("vllm:", "sglang:")) else None
        if metric is not None:
            self._take_metric(metric[1], dict(_LABEL.findall(metric[2] or "")), float(metric[3]))
        elif (sample := _sample(text)) is not None:
            self._lines.append(sample)

    def _take_metric(self, name: str, labels: dict[str, str], value: float) -> None:
        if name == _CONFIG:
            self.arguments |= {key: text for key, text in labels.items() if text != "None"}
        elif name == _ACCEPTED and labels.get("position", "").isdigit():
            self._positions[int(labels["position"])] += value
        elif name in _METRICS:
            _add(self._metrics.setdefault(name.partition(":")[0], {}), _METRICS[name], value)
        else:
            self._counts[name] += value

    def load(self, least_free: float) -> ServingLoad | None:
        """The load of the first server that told any; None without.

        Args:
            least_free: Share of free KV blocks below which they are short.
        """
        counts = self._counts
        if counts[_QUERIES] and "vllm" in self._metrics:
            self._metrics["vllm"]["prefix_hit_share"] = counts[_HITS] / counts[_QUERIES]
        samples = self._lines or list(self._metrics.items())
        if not samples:
            return None
        engine = samples[0][0]
        load = _load(engine, [values for name, values in samples if name == engine], least_free)
        rows = [row for row in self._accepted if len(row) == len(self._accepted[-1])]
        if not rows and counts[_DRAFTS]:
            rows = [[self._positions[place] / counts[_DRAFTS] for place in sorted(self._positions)]]
        return replace(load, accepted=tuple(sum(item) / len(rows) for item in zip(*rows, strict=True)))


def _add(held: dict[str, float], name: str, value: float) -> None:
    """Take a metric: of several engines behind one page requests add up, and the fullest cache counts."""
    held[name] = max(held.get(name, 0.0), value) if name in _SHARES else held.get(name, 0.0) + value


def _sample(text: str) -> tuple[str, dict[str, float]] | None:
    for engine, (mark, names, expression, whole) in _LINES.items():
        if mark in text:
            values = {names[label]: float(number) for label, number in reversed(expression.findall(text))}
            return engine, {name: v / whole if name in _SHARES else v for name, v in values.items()}
    return None


def _load(engine: str, samples: list[dict[str, float]], least_free: float) -> ServingLoad:
    names = dict.fromkeys(name for sample in samples for name in sample)
    held = {name: [sample[name] for sample in samples if name in sample] for name in names}
    short = sum(
        sample.get("waiting", 0.0) > 0 and 1 - sample.get("kv_share", 0.0) < least_free for sample in samples
    )
    running = [sample for sample in samples if sample.get("running", 0.0) > 0]
    kept = sum(item.get("waiting", 0.0) > 0 and item.get("kv_share", 1.0) < _FREE for item in running)
    return ServingLoad(
        waits_though_free=0 < len(running) <= 2 * kept,
        engine=engine,
        samples=len(samples),
        means={name: sum(values) / len(values) for name, values in held.items()},
        peaks={name: max(values) for name, values in held.items()},
        short_share=short / len(samples),
        limit=_limit(samples),
        decode_rates=_decode_rates(samples),
    )


def _decode_rates(samples: list[dict[str, float]]) -> tuple[float, float] | None:
    """Median tokens a second and request in samples full of prefill and in those without, if they differ."""
    most = max((sample.get("prompt_tokens_s", 0.0) for sample in samples), default=0.0)
    rates = [
        (sample.get("prompt_tokens_s", 0.0) / most, sample["generated_tokens_s"] / sample["running"])
        for sample in samples
        if most and sample.get("running") and "generated_tokens_s" in sample
    ]
    busy = [rate for share, rate in rates if share >= _BUSY]
    quiet = [rate for share, rate in rates if share <= _QUIET]
    if min(len(busy), len(quiet)) < _LEAST_SAMPLES or median(quiet) < _SLOWER * median(busy):
        return None
    return median(busy), median(quiet)


def _limit(samples: list[dict[str, float]]) -> int | None:
    """The number of requests that bounds those that run, if it does so in half of the samples."""
    most = max((sample.get("running", 0.0) for sample in samples), default=0.0)
    bound = [
        sample
        for sample in samples
        if sample.get("waiting", 0.0) > 0
        and sample.get("running", 0.0) >= _PLATEAU * most
        and sample.get("kv_share", 1.0) < _FREE
    ]
    return int(most) if len(bound) >= _LEAST_SAMPLES and 2 * len(bound) >= len(samples) else None
