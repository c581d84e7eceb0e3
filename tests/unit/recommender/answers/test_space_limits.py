"""Limits of a space from the graph: values of other hardware go, exclusions become rules."""

from recommender.answers.space_limits import SpaceLimits, space_limits
from recommender.ranking.feasibility.exclusions import Exclusions
from recommender.space.space_file import read_space
from recommender.workspace.workspace import Workspace

ALGORITHMS = ["level0:NA;level1:NHR", "level0:NA;level1:pipeline"]


def limits(shipped: Workspace, parameters: dict[str, list[object]], hardware: str) -> SpaceLimits:
    return space_limits(
        parameters,
        graph=shipped.graph,
        exclusions=Exclusions(shipped.graph),
        path=shipped.hardware.path(hardware),
    )


def test_values_for_other_hardware_are_left_out(shipped: Workspace) -> None:
    here = limits(shipped, {"HCCL_ALGO": [*ALGORITHMS]}, "ascend-910b3")
    there = limits(shipped, {"HCCL_ALGO": [*ALGORITHMS]}, "ascend-910")
    assert here.excluded == ()
    assert [(item.what, item.why) for item in there.excluded] == [
        ("HCCL_ALGO=level0:NA;level1:pipeline", "HCCL pipeline algorithm is for ascend-a2")
    ]
    assert there.excluded[0].source
    assert any("only if nodes > 1" in text for text in here.notes)


def test_what_excludes_each_other_is_a_rule(shipped: Workspace) -> None:
    parameters: dict[str, list[object]] = {
        "softmax_impl": ["scaled_masked", "plain"],
        "use_flash_attn": [True, False],
    }
    found = limits(shipped, parameters, "ascend-910b3")
    assert "exclude each other" in found.constraints[0]["reason"]
    assert found.constraints[0]["source"]
    space = read_space({"parameters": parameters, "constraints": [dict(x) for x in found.constraints]})
    left = [(item["softmax_impl"], item["use_flash_attn"]) for item in space.enumerate()]
    assert ("scaled_masked", True) not in left
    assert len(left) == 3


def test_a_space_of_which_nothing_is_known_stays(shipped: Workspace) -> None:
    found = limits(shipped, {"my_tile": [1, 2], "your_tile": [3, 4]}, "ascend-910b3")
    assert found == SpaceLimits(constraints=(), excluded=(), notes=())
