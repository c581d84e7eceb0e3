"""Counters count by route, status and class of duration."""

from recommender.service.meters import Meters


def test_counters() -> None:
    meters = Meters()
    meters.count("/a", 200, 0.004)
    meters.count("/a", 200, 0.03)
    meters.count("/a", 400, 99.0)
    lines = meters.text({"age": 1.5}).splitlines()
    assert 'tunegraph_requests_total{route="/a",status="200"} 2' in lines
    assert 'tunegraph_requests_total{route="/a",status="400"} 1' in lines
    assert 'tunegraph_request_seconds_bucket{route="/a",le="0.005"} 1' in lines
    assert 'tunegraph_request_seconds_bucket{route="/a",le="0.04"} 2' in lines
    assert 'tunegraph_request_seconds_bucket{route="/a",le="10.24"} 2' in lines
    assert 'tunegraph_request_seconds_bucket{route="/a",le="+Inf"} 3' in lines
    assert 'tunegraph_request_seconds_sum{route="/a"} 99.034000' in lines
    assert lines[-1] == "tunegraph_age 1.5"
