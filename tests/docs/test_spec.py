"""Whoever cites the specification cites what is in it, and it names every kind of request."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from request_kinds import ROCKETMQ_S

from mqframe.store.files.layout import Layout

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "docs/spec"
PAGES = sorted(path.name for path in SPEC.glob("*.md"))
CITED = re.compile(r"\b(\w+\.md)\)?((?:,? (?:and |or )?§[0-9.]*[0-9])+)")
"""A page and one or more sections of it: `wire.md §3.1, §8`, or, in a page, `[](wire.md) §6`."""
PAGE = re.compile(r"(?<![\w/.-])([a-z_]+(?:/[a-z_]+)*\.md)\b")
OWN_CODES = range(21_000, 22_000)
HEADING = re.compile(r"^#+ ([0-9.]*[0-9])\.? ", re.MULTILINE)


def sources() -> list[Path]:
    """Every file that may cite: code of the kernel, of plugins, tests and measurements, and all pages."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for folder in ("mqframe", "plugins", "tests", "bench", "docs"):
        found += (ROOT / folder).rglob("*.py")
    return sorted(path for path in found if "_build" not in path.parts and path != Path(__file__))


def sections(page: str) -> list[str]:
    return HEADING.findall((SPEC / page).read_text("utf-8"))


def test_every_cited_section_exists() -> None:
    known = {page: set(sections(page)) for page in PAGES}
    cited = [
        (path, page, section)
        for path in sources()
        for page, words in CITED.findall(path.read_text("utf-8"))
        for section in re.findall(r"[0-9.]*[0-9]", words)
    ]
    assert len(cited) > 50, "the citations are not found any more"
    wrong = [
        f"{path.relative_to(ROOT)}: {page} §{section}"
        for path, page, section in cited
        if section not in known.get(page, ())
    ]
    assert not wrong, "\n".join(wrong)


def test_code_names_no_page_that_does_not_exist() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {page}"
        for path in sources()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] == "mqframe"
        for page in PAGE.findall(path.read_text("utf-8"))
        if page not in PAGES and not (ROOT / page).exists()
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", [page for page in PAGES if page != "index.md"])
def test_sections_have_numbers_in_order(page: str) -> None:
    numbers = [tuple(int(part) for part in section.split(".")) for section in sections(page)]
    assert numbers == sorted(set(numbers))
    assert [number for (number, *rest) in numbers if not rest] == list(range(1, numbers[-1][0] + 1))


def test_every_request_kind_of_rocketmq_is_specified() -> None:
    text = (SPEC / "wire.md").read_text("utf-8")
    table = text[text.index("## 3. ") : text.index("## 4. ")]
    cells = "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("|"))
    named = {int(word) for word in re.findall(r"\d+", cells)}
    named |= set(range(311, 314))  # written as a range
    assert [code for code in ROCKETMQ_S if code not in named and code not in OWN_CODES] == []


def test_every_path_of_a_store_is_specified() -> None:
    text = (SPEC / "store.md").read_text("utf-8")
    paths = vars(Layout(Path("/store"))).values()
    wanted = [path.relative_to("/store").as_posix() for path in paths if path != Path("/store")]
    assert [path for path in wanted if not re.search(rf"`{re.escape(path)}[`/]", text)] == []
