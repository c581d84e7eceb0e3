"""Limits of a question as people write them: a metric, a bound, a unit."""

import re

from kg.errors import InputError
from kg.nouns.entities import Limit, WorkloadKind
from kg.terms.metrics import METRICS, canonical_metric
from kg.terms.units import Dimension, unit

_LIMIT = re.compile(r"^\s*([^\W\d][\w.-]*)\s*(?:<=|≤|<|=|:)\s*([-+.\deE]+)\s*(\S*)\s*$")
_USUAL_UNITS = {Dimension.TIME: "ms", Dimension.BYTES: "GB", Dimension.ENERGY: "J", Dimension.POWER: "W"}
_NEVER_NOTHING = frozenset(
    {Dimension.TIME, Dimension.BYTES, Dimension.ENERGY, Dimension.POWER, Dimension.MASS}
)
"""Dimensions of which every run needs some."""


def parse_limit(text: str) -> Limit:
    """A limit from text such as ``"peak_memory<=32GB"`` or ``"accuracy_loss <= 0.5%"``.

    Raises:
        InputError: The text is no limit, or its unit does not fit its metric.
    """
    found = _LIMIT.match(text)
    if found is None:
        raise InputError(f"limit {text!r}: expected metric<=value, such as peak_memory<=32GB")
    name, number, symbol = found.groups()
    metric = canonical_metric(name, WorkloadKind.OPERATOR)
    try:
        measure = unit(symbol)
        maximum = measure.to_si(float(number))
    except ValueError as error:
        raise InputError(f"limit {text!r}: {error}") from None
    if metric in METRICS and METRICS[metric].dimension is not measure.dimension:
        usual = _USUAL_UNITS.get(METRICS[metric].dimension, "")
        raise InputError(
            f"limit {text!r}: {metric} is a {METRICS[metric].dimension}, {symbol or 'a bare number'} is a "
            f"{measure.dimension}",
            hint=f"write the unit: {name}<={number}{usual}" if usual else "",
        )
    if maximum < 0 or (maximum == 0 and metric in METRICS and METRICS[metric].dimension in _NEVER_NOTHING):
        raise InputError(f"limit {text!r}: nothing can keep it")
    return Limit(metric=metric, maximum=maximum, unit=measure.symbol)
