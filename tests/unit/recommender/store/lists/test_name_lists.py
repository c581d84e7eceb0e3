"""Lists of what can be named in a question."""

import pytest

from kg.errors import AmbiguousEntityError, InputError
from recommender.store.lists.name_lists import KINDS
from recommender.workspace.workspace import Workspace

RESOLVED_BY = {"models": "model", "bottlenecks": "bottleneck"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_list_has_rows_and_unique_names(shipped: Workspace, kind: str) -> None:
    made = shipped.knowledge.name_list(kind)
    names = [row[0] for row in made.rows]
    assert names == sorted(names)
    assert len(set(names)) == len(names) > 5
    assert {len(row) for row in made.rows} == {len(made.columns)}


@pytest.mark.parametrize(("kind", "resolver"), RESOLVED_BY.items())
def test_a_listed_name_is_one_that_a_question_may_use(shipped: Workspace, kind: str, resolver: str) -> None:
    for row in shipped.knowledge.name_list(kind).rows[::20]:
        assert getattr(shipped.names, resolver)(row[0]).id == row[0]


def test_hardware_of_a_vendor_is_all_below_it(shipped: Workspace) -> None:
    rows = {row[0]: row for row in shipped.knowledge.name_list("hardware", vendor="Huawei").rows}
    assert {"ascend-910b3", "ascend-310p3"} <= rows.keys()
    assert "h100-sxm" not in rows
    everything = {row[0] for row in shipped.knowledge.name_list("hardware").rows}
    assert "h100-sxm" in everything
    assert "atlas-800t-a2" in {row[0] for row in shipped.knowledge.name_list("servers", vendor="huawei").rows}


def test_names_are_found_in_any_spelling(shipped: Workspace) -> None:
    assert "qwen3-32b" in {row[0] for row in shipped.knowledge.name_list("models", like="Qwen3 32B").rows}
    assert "communication" in {
        row[0] for row in shipped.knowledge.name_list("bottlenecks", like="通信瓶颈").rows
    }


def test_what_there_is_not_is_refused(shipped: Workspace) -> None:
    with pytest.raises(InputError, match="no list of 'chips'"):
        shipped.knowledge.name_list("chips")
    with pytest.raises(InputError, match="--vendor is for hardware"):
        shipped.knowledge.name_list("models", vendor="huawei")


@pytest.mark.parametrize(
    ("product", "device"),
    [
        ("Atlas 900 A3", "atlas-900-a3-superpod"),
        ("CM384", "cloudmatrix384"),
        ("Atlas 300V Pro", "ascend-310p"),
        ("Atlas 800 (model 3010)", "ascend-310p"),
        ("Atlas 500 A2", "ascend-310b"),
        ("Atlas 200 DK", "ascend-310"),
        ("Atlas 800 9010", "ascend-910a"),
        ("Atlas 900 PoD", "ascend-910a"),
    ],
)
def test_a_product_of_a_vendor_is_its_devices(shipped: Workspace, product: str, device: str) -> None:
    assert shipped.names.hardware(product).id == device


@pytest.mark.parametrize("product", ["Atlas 300I A2", "Atlas 900 A2", "Atlas 800T A2"])
def test_a_product_that_is_made_with_several_devices_is_asked_back(shipped: Workspace, product: str) -> None:
    with pytest.raises(AmbiguousEntityError):
        shipped.names.hardware(product)
