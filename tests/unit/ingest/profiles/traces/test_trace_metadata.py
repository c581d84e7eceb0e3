"""Metadata beside the events of a trace: groups, versions, variables; nothing that cannot be."""

from ingest.profiles.traces.trace_metadata import TraceMetadata


def test_groups_ranks_and_versions() -> None:
    told = TraceMetadata()
    told.take(
        "distributedInfo",
        {
            "backend": "nccl", "rank": 3, "world_size": 8, "nccl_version": "2.17.1",
            "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1, "x", -1, True]}, 7],
        },
    )  # fmt: skip
    told.take("cuda_runtime_version", 12010)
    told.take("record_shapes", 1)
    told.take("with_stack", 0)
    assert told.rank == 3
    assert told.parallel == {"world_size": 8, "backend": "nccl"}
    assert told.software == {"nccl": "2.17.1", "cuda": "12.1"}
    assert told.options == ["record_shapes"]
    assert [(group.about, group.ranks) for group in told.groups] == [("default_pg", (0, 1))]


def test_variables_that_tune_are_taken_and_secrets_are_not() -> None:
    told = TraceMetadata()
    told.take("NCCL_ALGO", "Ring")
    told.take("env", {"NCCL_DEBUG": "INFO", "CUDA_LAUNCH_BLOCKING": 1, "HOME": "x", "NCCL_API_KEY": "s3"})
    told.take("username", "someone")
    told.take("TORCH_TOKEN", "s3")
    assert told.environment == {"NCCL_ALGO": "Ring", "NCCL_DEBUG": "INFO", "CUDA_LAUNCH_BLOCKING": "1"}


def test_what_cannot_be_is_passed_over() -> None:
    told = TraceMetadata()
    for name, value in (
        ("distributedInfo", [1]), ("distributedInfo", {"rank": -4, "world_size": True, "pg_config": {}}),
        ("deviceProperties", {}), ("deviceProperties", ["x"]), ("baseTimeNanoseconds", -1), ("NCCL_ALGO", [1]),
    ):  # fmt: skip
        told.take(name, value)
    assert told == TraceMetadata()
