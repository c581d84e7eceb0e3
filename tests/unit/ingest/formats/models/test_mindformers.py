"""Links of a model card that are no path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.door.records import Records
from ingest.files.content import ContentError
from ingest.formats.models.mindformers import _configuration

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.door.records import NameResolver


@pytest.mark.parametrize("link", ["a" * 5_000 + ".yaml", "a\x00b.yaml"])
def test_a_link_that_is_no_path_is_a_fault(link: str, tmp_path: Path, names: NameResolver) -> None:
    with pytest.raises(ContentError, match="is no path"):
        _configuration(f"[configuration]({link})", tmp_path, Records(names))


def test_a_link_out_of_the_folder_is_not_opened(tmp_path: Path, names: NameResolver) -> None:
    with pytest.raises(ContentError, match="outside"):
        _configuration("[configuration](../elsewhere.yaml)", tmp_path, Records(names))
