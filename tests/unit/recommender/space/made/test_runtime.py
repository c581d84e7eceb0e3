"""Run-time variables: what ships can be read, what means nothing is left out, and what is unknown is said."""

import pytest

from kg.errors import InfeasibleError, InputError
from kg.nouns.setting import SettingPlace
from kg.nouns.values import as_value
from kg.terms.setting_registry import registry
from recommender.space.expressions import Expression
from recommender.space.made.runtime import KINDS, RuntimePlace, runtime_space, variables
from recommender.space.space_file import read_space
from recommender.workspace.workspace import Workspace

A2 = ("ascend-910b3", "ascend-910b", "ascend-a2", "huawei")


def place(
    devices: int = 16, node: int | None = 8, cores: int | None = 192, path: tuple[str, ...] = A2
) -> RuntimePlace:
    return RuntimePlace(hardware=path[0], path=path, devices=devices, devices_of_a_node=node, cores=cores)


def test_every_variable_that_ships_is_whole(shipped: Workspace) -> None:
    found = variables()
    facts = frozenset({"servers", "devices", "cores", "devices_of_a_node"})
    names = frozenset(item.name for item in found)
    for item in found:
        assert item.kind in KINDS
        assert item.range
        assert "https://" in item.source
        assert len(item.values) > 1
        for software in ("cann", "torch-npu", "host"):
            spelling = registry(software).find(item.name, SettingPlace.ENV)
            values = [as_value(value) for value in item.values]
            assert spelling is None or all(map(spelling.setting.accepts, values)), item.name
        assert item.unset or item.default in item.values
        for condition, known in ((item.when, facts), (item.active, names), (item.holds, facts | names)):
            assert not condition or Expression.parse(condition, known).names
        for node in item.hardware:
            assert shipped.hardware.node(node) is not None


def test_variables_of_the_device_with_their_defaults() -> None:
    made = runtime_space(place())
    names = set(made.space.parameters)
    assert {"HCCL_BUFFSIZE", "TASK_QUEUE_ENABLE", "PYTORCH_NPU_ALLOC_CONF", "num_workers"} <= names
    assert not any(name.startswith("NCCL") for name in names)
    assert made.environment["CPU_AFFINITY_CONF"] == "{CPU_AFFINITY_CONF}"
    assert "num_workers" not in made.environment
    assert "num_workers" in made.arguments
    space = read_space(
        {
            "parameters": dict(made.space.parameters),
            "constraints": [dict(x) for x in made.space.constraints],
        }
    )
    assert space.size(1_000_000) == made.space.configurations
    from kg.nouns.values import Settings

    assert space.violated(Settings(made.default)) is None


def test_what_means_nothing_there_is_left_out() -> None:
    made = runtime_space(place(devices=1, node=None))
    assert {item.what for item in made.space.left} >= {"HCCL_BUFFSIZE", "HCCL_ALGO"}
    assert all("means nothing unless" in item.why for item in made.space.left)
    one_server = runtime_space(place(devices=8))
    assert "HCCL_ALGO" not in one_server.space.parameters
    assert "HCCL_BUFFSIZE" in one_server.space.parameters


def test_loaders_have_cores() -> None:
    def most(cores: int) -> int:
        made = runtime_space(place(devices=8, cores=cores), ["loading"])
        space = read_space(
            {
                "parameters": dict(made.space.parameters),
                "constraints": [dict(x) for x in made.space.constraints],
            }
        )
        return max(int(str(item["num_workers"])) for item in space.enumerate())

    assert (most(192), most(64), most(8)) == (16, 8, 1)


def test_a_fact_that_is_unknown_skips_its_rule() -> None:
    made = runtime_space(place(node=None, cores=None))
    assert any("servers not known" in text for text in made.space.skipped)
    assert any("--cores" in text for text in made.space.skipped)
    assert "HCCL_ALGO" in made.space.parameters


def test_nothing_left_and_no_such_kind() -> None:
    with pytest.raises(InfeasibleError) as caught:
        runtime_space(place(devices=1), ["communication"])
    assert "devices > 1" in caught.value.hint
    with pytest.raises(InputError, match="no kind"):
        runtime_space(place(), ["speed"])


def test_defaults_are_those_of_the_registry() -> None:
    defaults = {item.name: item.default for item in variables()}
    assert (defaults["HCCL_BUFFSIZE"], defaults["TASK_QUEUE_ENABLE"]) == (200, 1)
    assert (defaults["CPU_AFFINITY_CONF"], defaults["CUDA_DEVICE_MAX_CONNECTIONS"]) == (0, 8)
