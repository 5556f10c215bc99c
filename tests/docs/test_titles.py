"""A page says first what it is for, under a title of its own, and stands in one list of pages."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
TITLES = {path: path.read_text("utf-8").partition("\n")[0] for path in PAGES}
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def beginning(text: str) -> str:
    """What stands between the title of a page and its first blank line, heading or block thereafter."""
    return text.partition("\n")[2].lstrip("\n").partition("\n\n")[0]


def listed(index: Path) -> list[str]:
    """The pages in all lists of an index, and in those of the groups that it lists."""
    lines = [line for block in TOCTREE.findall(index.read_text("utf-8")) for line in block.splitlines()]
    names = [line for line in lines if line and not line.startswith(":")]
    return [*names, *(name for group in names for name in listed(index.with_name(f"{group}.md")))]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_a_page_begins_with_a_title_and_a_sentence(page: Path) -> None:
    assert re.fullmatch(r"# \S.*[^.:?!]", TITLES[page])
    assert re.match(r"(?!```)[\w`*\[]", beginning(page.read_text("utf-8"))), (
        "a table, block or heading comes first"
    )


def test_no_two_pages_have_one_title() -> None:
    assert [title for title, count in Counter(TITLES.values()).items() if count > 1] == []


@pytest.mark.parametrize("folder", ["howto", "explanation", "reference", "spec"])
def test_each_page_is_listed_once(folder: str) -> None:
    names = [path.stem for path in PAGES if path.parent == DOCS / folder and path.stem != "index"]
    assert sorted(listed(DOCS / folder / "index.md")) == sorted(names)


def test_groups_of_how_tos_say_for_whom_they_are() -> None:
    index = (DOCS / "howto/index.md").read_text("utf-8")
    rows = re.findall(r"^\|\[([^]]+)\]\((\w+)\.md\)\|([^|]+)\|$", index, re.MULTILINE)
    (block,) = TOCTREE.findall(index)
    assert [page for _, page, _ in rows] == block.split("\n\n")[1].split()
    for title, page, whom in rows:
        text = (DOCS / f"howto/{page}.md").read_text("utf-8")
        assert text.startswith(f"# {title}\n\nFor {whom}"), page
        assert text.count(":caption: ") == len(TOCTREE.findall(text)) > 1
