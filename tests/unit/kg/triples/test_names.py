"""Names as people write them, and their meaning."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyoxigraph import NamedNode, Triple

from kg.errors import AmbiguousEntityError, UnknownEntityError
from kg.nouns.entities import Source
from kg.nouns.knowledge import (
    Assignment,
    Bottleneck,
    Cause,
    HardwareProfile,
    Level,
    Model,
    ModelFamily,
    Strategy,
)
from kg.triples.graph import GraphStore
from kg.triples.iris import hardware_iri, model_iri
from kg.triples.names import Names, ResolvedName, normalise
from kg.triples.vocabulary import NAMESPACE, TG
from tests.samples.graphs import store_of

SOURCE = Source(title="a document")


@pytest.fixture(scope="module")
def store() -> GraphStore:
    nouns = [
        HardwareProfile(id="huawei", level=Level.VENDOR, labels={"en": "Huawei", "zh": "华为"}),
        HardwareProfile(
            id="nvidia", level=Level.VENDOR, labels={"en": "NVIDIA"}, aliases=("NVIDIA Corporation",)
        ),
        HardwareProfile(
            id="ascend-910b",
            level=Level.FAMILY,
            broader="huawei",
            labels={"en": "Ascend 910B", "zh": "昇腾910B"},
            aliases=("910B",),
            ambiguous=True,
        ),
        HardwareProfile(
            id="ascend-910b3",
            level=Level.DEVICE,
            broader="ascend-910b",
            labels={"en": "Ascend 910B3", "zh": "昇腾910B3"},
            aliases=("910B3",),
        ),
        HardwareProfile(
            id="ascend-910b4", level=Level.DEVICE, broader="ascend-910b", labels={"en": "Ascend 910B4"}
        ),
        HardwareProfile(
            id="atlas-800t-a2",
            level=Level.SERVER,
            broader="huawei",
            labels={"en": "Atlas 800T A2"},
            device="ascend-910b",
            device_count=8,
        ),
        HardwareProfile(
            id="ascend-910",
            level=Level.FAMILY,
            broader="huawei",
            labels={"en": "Ascend 910"},
            assumed="ascend-910a",
        ),
        HardwareProfile(
            id="ascend-910a", level=Level.DEVICE, broader="ascend-910", labels={"en": "Ascend 910A"}
        ),
        HardwareProfile(
            id="h100", level=Level.FAMILY, broader="nvidia", labels={"en": "H100"}, aliases=("Hopper",)
        ),
        HardwareProfile(
            id="h200", level=Level.FAMILY, broader="nvidia", labels={"en": "H200"}, aliases=("Hopper",)
        ),
        HardwareProfile(
            id="v100", level=Level.FAMILY, broader="nvidia", labels={"en": "V100"}, ambiguous=True
        ),
        HardwareProfile(id="v100-sxm", level=Level.DEVICE, broader="v100", labels={"en": "V100 SXM"}),
        HardwareProfile(id="v100-pcie", level=Level.DEVICE, broader="v100", labels={"en": "V100 PCIe"}),
        HardwareProfile(
            id="dgx-1",
            level=Level.SERVER,
            broader="nvidia",
            labels={"en": "DGX-1"},
            device="v100-sxm",
            device_count=8,
        ),
        ModelFamily(id="llama", labels={"en": "LLaMA"}),
        Model(id="llama-2-7b", labels={"en": "Llama 2 7B"}, family="llama", architecture="decoder"),
        Bottleneck(id="slow-link", labels={"en": "Slow link", "zh": "慢链路"}),
        Cause(id="rdma-retransmission", labels={"en": "RDMA retransmission"}, source=SOURCE),
        Strategy(
            id="flash-attention",
            labels={"en": "Flash attention", "zh": "融合注意力"},
            kind="documented",
            sets=(Assignment(parameter="use_flash_attn", value=True),),
            sources=(SOURCE,),
        ),
    ]
    return store_of(*nouns)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("NVIDIA(R) H100-SXM", "nvidiah100sxm"),
        ("nvidia® h100_sxm ™", "nvidiah100sxm"),
        ("Intel(TM) Core", "intelcore"),
        ("Ａｓｃｅｎｄ ９１０Ｂ３", "ascend910b3"),
        ("昇腾 910B3", "昇腾910b3"),
        ("---", ""),
    ],
)
def test_normalise(text: str, key: str) -> None:
    assert normalise(text) == key
    assert normalise(key) == key


@pytest.mark.parametrize(
    "text",
    [
        "Ascend 910B3",
        "910b3",
        "昇腾910B3",
        "Huawei Ascend-910B3",
        "华为昇腾910B3",
        "ascend_910b3",
        "９１０Ｂ３",
        "910B3 Ascend",
    ],
)
def test_one_device_by_many_names(store: GraphStore, text: str) -> None:
    assert Names(store).hardware(text) == ResolvedName(id="ascend-910b3")


def test_a_family_whose_devices_differ_must_be_chosen_from(store: GraphStore) -> None:
    with pytest.raises(AmbiguousEntityError, match="910B") as caught:
        Names(store).hardware("910B")
    assert caught.value.choices == ("ascend-910b3", "ascend-910b4")
    assert caught.value.hint == "name one: --hardware ascend-910b3 (or ascend-910b4)"


@pytest.mark.parametrize("count", [8, 16])
def test_a_family_that_fills_servers_of_one_device_is_that_device(store: GraphStore, count: int) -> None:
    assert Names(store).hardware("V100", count) == ResolvedName(
        id="v100-sxm", note=f"{count} of V100 are taken as V100 SXM, which DGX-1 holds"
    )


@pytest.mark.parametrize(("text", "count"), [("V100", None), ("V100", 2), ("V100", 12), ("910B", 8)])
def test_a_count_that_decides_nothing_leaves_the_question(
    store: GraphStore, text: str, count: int | None
) -> None:
    with pytest.raises(AmbiguousEntityError, match="fits several devices that differ"):
        Names(store).hardware(text, count)


def test_a_server_of_a_family_whose_devices_differ_is_asked_back_as_a_device(store: GraphStore) -> None:
    with pytest.raises(AmbiguousEntityError, match="holds Ascend 910B") as caught:
        Names(store).hardware("Atlas 800T A2")
    assert caught.value.choices == ("ascend-910b3", "ascend-910b4")
    assert caught.value.hint == "name one: --hardware ascend-910b3 (or ascend-910b4)"
    assert Names(store).server("Atlas 800T A2") == ResolvedName(id="atlas-800t-a2")
    with pytest.raises(UnknownEntityError):
        Names(store).server("Atlas 9999")


def test_a_family_that_stands_for_a_device_is_taken_for_it_and_said_to_be(store: GraphStore) -> None:
    assert Names(store).hardware("Ascend 910") == ResolvedName(
        id="ascend-910a", note="Ascend 910 is taken as Ascend 910A"
    )


def test_a_name_of_two_nodes_must_be_chosen_from(store: GraphStore) -> None:
    with pytest.raises(AmbiguousEntityError) as caught:
        Names(store).hardware("Hopper")
    assert caught.value.choices == ("h100", "h200")


def test_what_only_cases_name_is_known_by_that_name() -> None:
    """A model and a device that nothing describes were measured: a question may name them as the cases do."""
    measured = GraphStore()
    work = NamedNode(f"{NAMESPACE}workload/1")
    problem = NamedNode(f"{NAMESPACE}problem/1")
    measured.extend(
        [
            Triple(work, TG.OF_MODEL, model_iri("house-13b")),
            Triple(problem, TG.HARDWARE, hardware_iri("acmenpu-x2")),
        ]
    )
    names = Names(measured)
    model, device = names.model("house-13b"), names.hardware("AcmeNPU X2")
    assert (model.id, device.id) == ("house-13b", "acmenpu-x2")
    assert "only measured cases are known" in model.note
    assert "only measured cases are known" in device.note
    with pytest.raises(UnknownEntityError):
        names.model("house-14b")
    with pytest.raises(UnknownEntityError):
        names.hardware("AcmeNPU X3")


def test_a_misspelt_name_gets_the_nearest_ones(store: GraphStore) -> None:
    with pytest.raises(UnknownEntityError, match="no hardware named 'Ascend 910B9'") as caught:
        Names(store).hardware("Ascend 910B9")
    assert "did you mean ascend-910b" in caught.value.hint
    assert "kb add hardware FILE" in caught.value.hint


@pytest.mark.parametrize(("text", "near"), [("lama-2-7b", True), ("whisper-2-7b", False)])
def test_a_model_of_another_name_is_not_near_for_its_size(store: GraphStore, text: str, near: bool) -> None:
    with pytest.raises(UnknownEntityError, match="no model named") as caught:
        Names(store).model(text)
    assert ("did you mean llama-2-7b?" in caught.value.hint) is near


@pytest.mark.parametrize("text", ["", "  ", "(R)"])
def test_a_name_of_nothing_is_unknown(store: GraphStore, text: str) -> None:
    with pytest.raises(UnknownEntityError):
        Names(store).hardware(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NVIDIA H100", ("h100", True)),
        ("910B", ("ascend-910b", True)),
        ("Ascend 910", ("ascend-910", True)),
        ("GeForce RTX(TM) 2080 Ti", ("geforce-rtx-2080-ti", False)),
        ("Hopper", ("hopper", False)),
    ],
)
def test_files_take_nodes_as_they_are_and_give_others_a_slug(
    store: GraphStore, text: str, expected: tuple[str, bool]
) -> None:
    names = Names(store)
    assert names.hardware_or_slug(text) == expected
    assert names.hardware_or_slug(text) == expected


def test_names_without_a_letter_stay_apart(store: GraphStore) -> None:
    one, other = (Names(store).hardware_or_slug(text)[0] for text in ("???", "!!!"))
    assert one
    assert other
    assert one != other


def test_models_by_repository_name(store: GraphStore) -> None:
    assert Names(store).model("meta-llama/Llama-2-7B").id == "llama-2-7b"
    with pytest.raises(UnknownEntityError, match="no model named 'huawei'"):
        Names(store).model("huawei")


def test_a_bottleneck_by_its_chinese_name(store: GraphStore) -> None:
    assert Names(store).bottleneck("慢链路").id == "slow-link"


def test_a_cause_is_no_bottleneck(store: GraphStore) -> None:
    with pytest.raises(UnknownEntityError, match="no bottleneck named 'RDMA retransmission'"):
        Names(store).bottleneck("RDMA retransmission")


def test_refusals_read_the_keys_of_the_graph_once(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    read, triples = list[object](), store.triples

    def counted(*asked: Any) -> Iterator[Triple]:
        read.append(asked)
        return triples(*asked)

    monkeypatch.setattr(store, "triples", counted)
    names = Names(store)
    for name in ("nobody-1", "nobody-2"):
        with pytest.raises(UnknownEntityError):
            names.model(name)
    assert read.count((None, TG.KEY)) == 1
