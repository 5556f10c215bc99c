"""A cluster that goes away, comes back, or does not answer, as somebody sees who has a page open."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from pkgutil import resolve_name

import pytest
from mqframe_dashboard.asking import Asking
from playwright.sync_api import Page, expect


def test_a_page_says_that_the_broker_is_away_and_comes_back(page: Page, serve, mqframe_cluster) -> None:
    page.goto(serve(mqframe_cluster.nameserver) + "groups?all=1")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Groups")
    mqframe_cluster.stop_broker(0)
    expect(heading).to_have_text("The cluster cannot be asked")
    expect(page.locator("main")).to_contain_text("no master of any broker is registered")
    expect(page.locator("main")).to_contain_text("The cluster answered last at")
    mqframe_cluster.start_broker(0)
    expect(heading).to_have_text("Groups")
    expect(page.get_by_role("link", name="TOOLS_CONSUMER")).to_be_visible()


@pytest.fixture
def impatient(monkeypatch) -> None:
    """Dashboards wait a second for each answer, instead of five."""
    monkeypatch.setattr("mqframe_dashboard.app.Asking", partial(Asking, seconds=1.0))


def test_a_cluster_that_does_not_answer_is_waited_for_so_long(
    page: Page, impatient, serve, mqframe_cluster, monkeypatch
) -> None:
    slow = threading.Event()
    slow.set()
    info = "mqframe_admin.client.calls.AdminCalls.cluster_info"
    answer = resolve_name(info)

    async def cluster_info(self):
        while slow.is_set():
            await asyncio.sleep(0.05)
        return await answer(self)

    monkeypatch.setattr(info, cluster_info)
    page.goto(serve(mqframe_cluster.nameserver))
    expect(page.get_by_role("heading", level=1)).to_have_text("The cluster does not answer")
    expect(page.locator("main")).to_contain_text("no answer to cluster info within 1 s")
    slow.clear()
    expect(page.get_by_role("link", name="broker-a")).to_be_visible()


def test_one_slow_broker_does_not_hide_the_others(
    page: Page, impatient, serve, mqframe_cluster_factory, monkeypatch
) -> None:
    cluster = mqframe_cluster_factory(2)
    name = "mqframe_admin.client.brokers.AsyncBrokerAdmin.runtime"
    answer = resolve_name(name)
    slow = cluster.cluster.brokers[1].address

    async def runtime(self, address):
        if address == slow:
            await asyncio.sleep(60)
        return await answer(self, address)

    monkeypatch.setattr(name, runtime)
    page.goto(serve(cluster.nameserver))
    rows = page.get_by_role("row")
    expect(rows.filter(has_text="broker-b")).to_contain_text("no answer to broker runtime within 1 s")
    expect(rows.filter(has_text="broker-a")).to_contain_text("%")
