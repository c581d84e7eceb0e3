"""Pages as they were when somebody last looked at them: no mark, number or length on them moves unseen.

Their contents are written down in ``contents.py``, so that only a change of the page moves them. After one that is
meant, ``python -m tests.unit.recommender.report.test_page_references`` writes them anew.
"""

import json
import re
from pathlib import Path

import pytest

from recommender.report.page import SECTIONS, page
from tests.unit.recommender.report import contents
from tests.unit.recommender.report.test_page import one_of_each

PLACE = Path(__file__).with_name("page_references.json")
DOCUMENTS = {kind: contents.document(kind) for kind in SECTIONS} | {
    f"{next(iter(content))} {number}": contents.document(**content)
    for number, content in enumerate(one_of_each(), start=1)
}


def body(name: str) -> list[str]:
    """The page without its style and its script, an element a line."""
    html = page(DOCUMENTS[name])
    html = re.sub(r"<(style|script).*?</\1>", "", html[html.index("<body") :], flags=re.DOTALL)
    return html.replace("><", ">\n<").splitlines()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_page_shows_what_it_showed(name: str) -> None:
    assert body(name) == json.loads(PLACE.read_text(encoding="utf-8"))[name]


if __name__ == "__main__":
    PLACE.write_text(json.dumps({name: body(name) for name in DOCUMENTS}, indent=0) + "\n", encoding="utf-8")
