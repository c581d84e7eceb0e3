"""Settings in the tables of a program's pages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tools.oracle.settings.pages import Page, page_settings

if TYPE_CHECKING:
    from pathlib import Path


def test_markdown_tables_stand_under_the_section_that_holds_them(tmp_path: Path) -> None:
    (tmp_path / "conf.json").write_text(json.dumps({"Back": {"Deploy": {"Schedule": {"size": 1}}}}))
    (tmp_path / "page.md").write_text(
        "## Schedule参数说明\n|配置项|取值类型|取值范围|配置说明|\n|--|--|--|--|\n"
        "|size|uint32_t|[1, 128]|必填，默认值：64，单位：MB。|\n"
        "|kind|std::string|<ul><li>fast</li><li>slow</li></ul>|选填，默认值：fast。|\n"
        "|on|bool|<li>true</li><li>false</li>|选填，默认值：false。|\n"
    )
    page = Page(pattern="page.md", place="json", carrier="config.json", sections="conf.json")
    found = {item.key: item for item in page_settings(tmp_path, page)}
    size = found["Back.Deploy.Schedule.size"]
    assert (size.type, size.low, size.high, size.default, size.unit, size.line) == (
        "int",
        1,
        128,
        64,
        "MB",
        4,
    )
    assert found["Back.Deploy.Schedule.kind"].choices == ("fast", "slow")
    assert found["Back.Deploy.Schedule.kind"].default == "fast"
    assert (found["Back.Deploy.Schedule.on"].type, found["Back.Deploy.Schedule.on"].default) == (
        "bool",
        False,
    )


def test_lists_of_restructured_text_and_html_are_read(tmp_path: Path) -> None:
    (tmp_path / "list.rst").write_text(
        ".. list-table::\n\n   * - Environment Variable\n     - Function\n     - Type\n     - Value Range\n"
        "   * - MS_ONE\n     - Something.\n     - Integer\n     - Default: 100. A number.\n"
        "   * - MS_TWO\n     - Other.\n     - String\n     - True or\n       False. Default: True\n"
    )
    (tmp_path / "list.md").write_text(
        "<table>\n<tr>\n<th>Parameters</th><th>Types</th><th>Values</th></tr>\n"
        '<tr><td align="left">--worker_num</td><td>Integer</td><td>The default value is 8.</td></tr>\n</table>'
    )
    found = {
        item.key: item
        for pattern in ("list.rst", "list.md")
        for item in page_settings(tmp_path, Page(pattern=pattern, place="env"))
    }
    assert (found["MS_ONE"].type, found["MS_ONE"].default) == ("int", 100)
    assert (found["MS_TWO"].type, found["MS_TWO"].default) == ("bool", True)
    assert (found["--worker_num"].type, found["--worker_num"].default) == ("int", 8)


def test_only_wanted_keys_are_taken(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("|环境变量名|默认值|\n|--|--|\n|HCCL_A|1|\n|OWN_B|2|\n")
    page = Page(pattern="page.md", place="env", only="^(?!HCCL_)")
    assert [item.key for item in page_settings(tmp_path, page)] == ["OWN_B"]
