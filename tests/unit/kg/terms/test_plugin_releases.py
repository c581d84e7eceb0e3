"""Releases of torch_npu by the PyTorch release that people name them by."""

import pytest

from kg.terms.plugin_releases import ASCEND_RELEASES, TORCH_NPU, ascend_release
from kg.terms.setting_registry import registry


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("2.1", ASCEND_RELEASES["2.1"]),
        ("2.1.0.post13", ASCEND_RELEASES["2.1"]),
        ("v2.10.0", ASCEND_RELEASES["2.10"]),
        ("7.1.0", "7.1.0"),
        ("26.0.0", "26.0.0"),
        ("2.99", "2.99"),
        ("master", "master"),
    ],
)
def test_a_version_of_pytorch_means_the_release_that_extends_it(version: str, release: str) -> None:
    assert ascend_release(TORCH_NPU, version) == release


def test_versions_of_other_software_stay_as_they_are() -> None:
    assert ascend_release("torch", "2.1.0") == "2.1.0"


def test_every_release_is_one_that_the_registry_can_place() -> None:
    for release in set(ASCEND_RELEASES.values()):
        assert registry(TORCH_NPU).at(release).release in registry(TORCH_NPU).releases
