"""The browser of these tests notices what pages must not do."""

from __future__ import annotations

import pytest
from playwright.sync_api import Error, Page, expect


@pytest.fixture
def home(page: Page, serve, mqframe_cluster) -> Page:
    """The first page of a dashboard."""
    page.goto(serve(mqframe_cluster.nameserver))
    expect(page.get_by_role("heading", level=1)).to_have_text("Cluster")
    return page


def test_a_page_that_does_nothing_wrong_has_no_problems(home: Page, problems: list[str]) -> None:
    assert problems == []


def test_scripts_in_a_page_are_refused_and_noticed(home: Page, problems: list[str]) -> None:
    home.evaluate(
        "() => { const s = document.createElement('script'); s.text = 'alert(1)'; document.body.append(s); }"
    )
    home.wait_for_function("() => true")
    assert [each for each in problems if "Content Security Policy" in each]
    problems.clear()


def test_what_is_not_there_is_noticed(home: Page, problems: list[str]) -> None:
    home.goto(home.url + "static/nowhere.js")
    assert [each for each in problems if "404" in each]
    problems.clear()


def test_pages_cannot_load_from_elsewhere(home: Page, problems: list[str]) -> None:
    with pytest.raises(Error, match="Failed to fetch"):
        home.evaluate("() => fetch('http://localhost:9/')")
    assert [each for each in problems if "Content Security Policy" in each]
    problems.clear()
