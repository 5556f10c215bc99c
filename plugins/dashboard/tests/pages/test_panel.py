"""Pages that other distributions bring."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_dashboard import panels
from mqframe_dashboard.pages.panel import title_of
from parsed_page import ParsedPage


async def limits(admin: Any, query: Any) -> list[tuple[str, Any]]:
    brokers = await admin.cluster.masters()
    return [("Limits", [{"broker": each, "of": query.get("name", ""), "evil": "<b>"} for each in brokers])]


@pytest.fixture(autouse=True)
def offered(monkeypatch) -> None:
    names = ("page.send_quotas", "topic.quotas", "cluster.quotas")
    entries = [SimpleNamespace(name=name, load=lambda: limits) for name in names]
    monkeypatch.setattr(panels, "entry_points", lambda group: entries if group == panels.GROUP else [])


def test_a_page_of_another_distribution_is_in_the_navigation_and_shown(browser, mqframe_cluster):
    mqframe_cluster.create_topic("orders", 1)
    first = ParsedPage(browser.page("/"))
    assert first.links["Send quotas"] == "panel?name=send_quotas"
    assert first.tables["Limits"] == [{"broker": "broker-a", "of": "", "evil": "<b>"}]
    html = browser.page("/panel", name="send_quotas")
    page = ParsedPage(html)
    assert page.title == "Send quotas"
    assert page.tables["Limits"] == [{"broker": "broker-a", "of": "send_quotas", "evil": "<b>"}]
    assert '<a href="panel?name=send_quotas" aria-current="page">' in html
    assert "<b>" not in html
    topic = ParsedPage(browser.page("/topic", name="orders"))
    assert topic.tables["Limits"][0]["of"] == "orders"


def test_a_page_that_nobody_brings_is_404(browser):
    for query in ({"name": "send_quota"}, {}):
        answer = browser.get("/panel", **query)
        assert answer.status_code == 404
    assert "did you mean send_quotas?" in browser.get("/panel", name="send_quota").text


def test_names_are_words_in_the_navigation():
    assert title_of("send_quotas") == "Send quotas"
