"""The last line of a benchmark is JSON that every reader takes."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from benchmarks.protocols.lines import last_line


def test_what_is_no_number_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    last_line(
        {"k1": np.float64(0.5), "n": np.int64(3), "nothing": math.nan, "rows": (1, math.inf), "8": None}
    )
    assert json.loads(capsys.readouterr().out) == {
        "k1": 0.5,
        "n": 3,
        "nothing": None,
        "rows": [1, None],
        "8": None,
    }
