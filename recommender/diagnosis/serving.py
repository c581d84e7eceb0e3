"""The load of a server over time, from the lines that servers write of it, or from their pages of metrics.

Source:
    ``data/settings/loads.yaml``, which names the programs' own files.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import median

import yaml

import data
from kg.nouns.codec import NOT_IN_JSON, JsonNoun, in_json

_NUMBER = r"((?:\d++\.?\d*+|\.\d+)(?:[eE][+-]?\d{1,2}(?!\d))?)"
_TABLE = yaml.safe_load(data.text("settings/loads.yaml"))
_LINES = {
    engine: (
        held["line"],
        held["values"],
        re.compile(rf"({'|'.join(map(re.escape, held['values']))}){_NUMBER}"),
    )
    for engine, held in _TABLE.items()
    if "line" in held
}
"""By server: the mark of a line of statistics, and what stands in it."""
_METRICS = {name: (engine, key) for engine, held in _TABLE.items() for name, key in held["metrics"].items()}
_ARGUMENTS = {name: key for held in _TABLE.values() for name, key in held.get("arguments", {}).items()}
_JSON: Mapping[str, str] = _TABLE["tensorrt-llm"]["json"]
_JSON_MARK = b'"numActiveRequests"'
MAY_TELL = (
    *(mark for mark, _, _ in _LINES.values()),
    *("Per-position acceptance rate:", _JSON_MARK.decode(), "vllm:", "sglang:", "trtllm_", "llamacpp:"),
    *(name for name in _TABLE["mindie"]["metrics"]),
)
"""Marks of lines that may tell statistics."""
_MARKS = [mark.encode() for mark in MAY_TELL]
_METRIC = re.compile(rf"^([a-z][\w:]*)(?:\{{([^}}]*)\}})?\s+{_NUMBER}(?:\s+\d+)?\s*$")
_LABEL = re.compile(r'(?<!\w)(\w++)="([^"]*)"')
_CONFIG, _ACCEPTED = "vllm:cache_config_info", "vllm:spec_decode_num_accepted_tokens_per_pos_total"
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
MOST_SAMPLES, RUN = 1 << 16, 256
"""Samples that are held, and how many that follow each other are kept or left out together."""
_MOST = 1e18
"""Numbers that statistics may tell: others are none of a server."""
_SHARES = frozenset({"kv_share", "prefix_hit_share", "accepted_tokens"})
"""Shares, which do not add up over the engines behind one page."""
Sample = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingLoad(JsonNoun):
    """The load of a server over the samples that a log or a page of metrics has.

    Attributes:
        engine: The server, such as ``"vllm"``.
        samples: Number of samples; one for a page of metrics.
        means: Mean by name: tokens a second, requests, shares.
        peaks: Most by name.
        short_share: Share of samples in which requests wait and fewer KV blocks are free than the mark, or
            running ones are put back.
        limit: Most requests that run at once where it bounds them: about as many run in each sample, others
            wait, and KV blocks are free. None if something else does, or too few samples tell.
        accepted: Share of drafts accepted by position.
        decode_rates: Tokens a second and request beside prefills, and without.
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
        """The load with the limit at which it stands, of those that may hold, where samples tell none."""
        running, is_free = self.peaks.get("running", 0.0), self.means.get("kv_share", 1.0) < _FREE
        waits = self.means.get("waiting", 0.0) > 0
        if "limit_alone" in _TABLE[self.engine]:
            return replace(self, limit=int(running)) if running and waits else self
        if "waiting" not in self.means:  # not told: who stands at the limit throughout is held by it
            is_full = is_free and self.means.get("running", 0.0) >= _PLATEAU * running > 0
        else:
            is_full = self.samples == 1 and is_free and waits
        return replace(self, limit=int(running)) if is_full and running in limits else self

    def with_drafts(self, told: float | None, usual: float | None) -> ServingLoad:
        """The load with what each position of a draft brings, where it tells the tokens a step alone.

        Each position is taken to be accepted as often as the one before it: the geometric row of that mean.

        Args:
            told: Tokens that are drafted, as the server tells; None if it does not.
            usual: Those that it drafts by itself.
        """
        mean, share = self.means.get("accepted_tokens"), self.means.get("accepted_share", 0.0)
        positions = told or (usual if mean is not None else _TABLE[self.engine].get("drafted"))
        if self.accepted or not positions or not (mean or share):
            return self
        mean = mean or 1 + share * positions
        low, high = 0.0, 1.0
        for _ in range(40):
            rate = (low + high) / 2
            low, high = (rate, high) if sum(_powers(rate, int(positions))) < mean - 1 else (low, rate)
        return replace(self, accepted=tuple(_powers(high, int(positions))))

    @property
    def numbers(self) -> dict[str, float]:
        """Values that formulas over a load may read, by name."""
        named = {
            name: self.means[name] for name in ("kv_share", "running", "waiting") if self.means.get(name)
        }
        if self.limit is not None:
            named["limit"] = float(self.limit)
        if self.accepted:
            useful = named["useful_drafts"] = float(self.useful_drafts)
            kept, every = (
                (1 + sum(self.accepted[:count])) / (1 + count * _LEAST_GAIN)
                for count in (int(useful), len(self.accepted))
            )
            named["fewer_drafts_gain"] = kept / every
        if self.decode_rates is not None:
            named["prefill_slows"] = self.decode_rates[1] / self.decode_rates[0]
        return named


def _powers(rate: float, count: int) -> Iterator[float]:
    return (rate**place for place in range(1, count + 1))


def telling_marks(text: bytes) -> list[bytes]:
    """Marks of statistics in a text; none where no line of it holds any."""
    return [mark for mark in _MARKS if mark in text]


class LoadSamples:
    """The statistics of a server, taken line by line.

    Attributes:
        arguments: Arguments of the server that a page of metrics tells, by name.
    """

    def __init__(self) -> None:
        """Begin without samples."""
        self.arguments: dict[str, str] = {}
        self._positions: dict[int, float] = defaultdict(float)
        self._lines: list[tuple[str, Sample]] = []
        self._metrics: dict[str, Sample] = {}
        self._accepted: list[list[float]] = []
        self._seen, self._every = 0, 1

    def take(self, line: bytes) -> None:
        """Take a line of a log, or of a saved page of metrics, that ``telling_marks`` finds."""
        text = line.decode("utf-8", "replace")
        if "Per-position" in text and (rates := _POSITIONS.search(text)) is not None:
            self._accepted.append([float(rate) for rate in rates[1].split(", ") if rate])
        if _JSON_MARK in line:
            for told in _objects(text):
                self._lines.append(
                    ("tensorrt-llm", {_JSON[name]: told[name] for name in _JSON.keys() & told.keys()})
                )
                self.arguments |= {key: f"{told[name]:g}" for name, key in _ARGUMENTS.items() if name in told}
        elif (metric := _METRIC.match(text)) is not None:
            self._take_metric(metric[1], dict(_LABEL.findall(metric[2] or "")), float(metric[3]))
        elif self._is_turn() and (sample := _sample(text)) is not None:
            self._lines.append(sample)

    def _is_turn(self) -> bool:
        """True if the next line of statistics counts: of a long log, one run of them in so many."""
        self._seen += 1
        if len(self._lines) >= MOST_SAMPLES:
            self._lines = [line for place, line in enumerate(self._lines) if not place // RUN % 2]
            self._every *= 2
        return not self._seen // RUN % self._every

    def _take_metric(self, name: str, labels: dict[str, str], value: float) -> None:
        if name == _CONFIG:
            self.arguments |= {key: text for key, text in labels.items() if text != "None"}
        elif name == _ACCEPTED and labels.get("position", "").isdigit():
            self._positions[int(labels["position"])] += value
        elif name in _ARGUMENTS:
            self.arguments[_ARGUMENTS[name]] = str(int(value))
        elif name in _METRICS:
            engine, key = _METRICS[name]
            _add(self._metrics.setdefault(engine, {}), key, value)

    def load(self, least_free: float) -> ServingLoad | None:
        """The load of the first server that told any; None without.

        Args:
            least_free: Share of free KV blocks below which they are short.
        """
        samples = self._lines or list(self._metrics.items())
        if not samples:
            return None
        engine = samples[0][0]
        held = [_whole(dict(values)) for name, values in samples if name == engine]
        rows = [row for row in self._accepted if len(row) == len(self._accepted[-1])]
        if not rows and (drafts := self._metrics.get(engine, {}).get("drafts")):
            rows = [[self._positions[place] / drafts for place in sorted(self._positions)]]
        load = _load(engine, held, least_free)
        return replace(load, accepted=tuple(sum(item) / len(rows) for item in zip(*rows, strict=True)))


def _objects(text: str) -> Iterator[Sample]:
    """Numbers of objects as JSON, inner ones too: of a long line those in what is looked at of it."""
    place, decoder = text.find("{"), json.JSONDecoder()
    while place >= 0:
        try:
            content, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return
        parts = [content, *(part for part in content.values() if isinstance(part, dict))]
        yield {
            k: float(v)
            for part in parts
            for k, v in part.items()
            if isinstance(v, int | float) and abs(v) < _MOST
        }
        place = text.find("{", end)


def _whole(sample: Sample) -> Sample:
    """A sample with what follows from its own numbers in place of them."""
    blocks, queries = sample.pop("kv_blocks", 0.0), sample.pop("cache_queries", 0.0)
    used, hits = sample.pop("kv_used", 0.0), sample.pop("cache_hits", 0.0)
    sample.pop("drafts", None)
    if blocks:
        sample["kv_share"] = used / blocks
    if queries:
        sample["prefix_hit_share"] = hits / queries
    if "active" in sample:  # active ones that are in no step wait too
        active = sample.pop("active")
        sample.setdefault("running", active)
        sample["waiting"] = sample.get("waiting", 0.0) + max(active - sample["running"], 0.0)
    return sample


def _add(held: Sample, name: str, value: float) -> None:
    """Take a metric: of several engines behind one page requests add up, and the fullest cache counts."""
    held[name] = max(held.get(name, 0.0), value) if name in _SHARES else held.get(name, 0.0) + value


def _sample(text: str) -> tuple[str, Sample] | None:
    for engine, (mark, names, expression) in _LINES.items():
        if mark in text:
            whole = _TABLE[engine].get("whole", 1.0)
            values = {names[label]: float(number) for label, number in reversed(expression.findall(text))}
            return engine, {name: v / whole if name in _SHARES else v for name, v in values.items()}
    return None


def _load(engine: str, samples: list[Sample], least_free: float) -> ServingLoad:
    names = dict.fromkeys(name for sample in samples for name in sample)
    held = {name: [sample[name] for sample in samples if name in sample] for name in names}
    cached = sum(held.pop("cached_tokens", ()))
    if cached:
        held["prefix_hit_share"] = [cached / (cached + sum(held["prefill_tokens"]))]
    short = sum(
        sample.get("paused", 0.0) > 0
        or (sample.get("waiting", 0.0) > 0 and 1 - sample.get("kv_share", 0.0) < least_free)
        for sample in samples
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


def _decode_rates(samples: list[Sample]) -> tuple[float, float] | None:
    """Tokens a second and request beside prefills and in samples without, if they differ.

    A sample of an interval is one rate, and prompts that lines between two of them tell count to the second;
    a sample of one step is one token, so that steps with prefill are weighed by their time.
    """
    if any("step_ms" in sample for sample in samples):
        steps = [item for item in samples if item.get("step_ms") and item.get("running")]
        quiet = [1e3 / item["step_ms"] for item in steps if not item.get("prefill_tokens")]
        if len(quiet) < _LEAST_SAMPLES:
            return None
        rates = 1e3 * len(steps) / sum(item["step_ms"] for item in steps), median(quiet)
        return rates if rates[1] >= _SLOWER * rates[0] else None
    taken, seen = 0.0, []
    for sample in samples:
        taken += sample.get("prompt_tokens_s", 0.0) + sample.get("prefill_tokens", 0.0)
        if "generated_tokens_s" in sample:
            if sample.get("running"):
                seen.append((taken, sample["generated_tokens_s"] / sample["running"]))
            taken = 0.0
    most = max((tokens for tokens, _ in seen), default=0.0)
    busy = [rate for tokens, rate in seen if most and tokens >= _BUSY * most]
    calm = [rate for tokens, rate in seen if most and tokens <= _QUIET * most]
    if min(len(busy), len(calm)) < _LEAST_SAMPLES or median(calm) < _SLOWER * median(busy):
        return None
    return median(busy), median(calm)


def _limit(samples: list[Sample]) -> int | None:
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
