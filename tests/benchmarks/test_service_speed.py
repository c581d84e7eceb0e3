"""The benchmark of the service asks a server of its own, and every client gets an answer."""

import os
from pathlib import Path

import pytest

from benchmarks.service.service_speed import cpu_seconds, measure, resident_mb

pytestmark = pytest.mark.long


def test_a_server_is_begun_asked_and_ended(shipped_path: Path) -> None:
    figures = measure(shipped_path, requests=2, clients=4)
    assert figures["at_once"]["answers"] == {"200": 8}
    assert figures["kernel"]["p95_ms"] >= figures["kernel"]["p50_ms"] > 0
    assert figures["ready_s"] > 0
    assert 50 < figures["own_mb"] <= figures["peak_mb"] < 2000


def test_what_a_process_uses_is_read() -> None:
    assert cpu_seconds(os.getpid()) > 0
    assert resident_mb(os.getpid()) > 10
