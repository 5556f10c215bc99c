"""Topics and their queues."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_admin.bodies import TopicTotal
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.html import page_html
from mqframe_dashboard.pages.topics import topics_page
from mqframe_dashboard.query import Query
from mqframe_dashboard.sampling import Samples
from parsed_page import ParsedPage
from real_time import until

from mqframe import Admin
from mqframe.core.cluster.route_bodies import ClusterInfo


def listed(browser, **query):
    """The rows of the list, by topic."""
    return {row["topic"]: row for row in ParsedPage(browser.page("/topics", **query)).tables["Topics"]}


def test_topics_are_listed_with_what_they_hold(open_browser, mqframe_cluster, send):
    mqframe_cluster.create_topic("orders", 3)
    for number in range(4):
        send("orders", str(number).encode())
    browser = open_browser(mqframe_cluster.nameserver)
    rows = listed(browser)
    assert (rows["orders"]["queues"], rows["orders"]["messages"]) == ("3", "4")
    assert "SCHEDULE_TOPIC_XXXX" not in rows
    assert "broker-a" not in rows
    assert {"SCHEDULE_TOPIC_XXXX", "broker-a"} <= listed(browser, all="1").keys()


def test_retries_and_dead_letters_are_folded_into_their_groups(browser, mqframe_cluster):
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        admin.groups.create("billing")
        for topic in (
            "orders",
            "%RETRY%billing",
            "%DLQ%billing",
            "%RETRY%billing_orders",
            "%RETRY%billing_2",
        ):
            admin.topics.create(topic, queues=1)
        admin.groups.create("billing_2")
    assert listed(browser).keys() == {"orders"}
    assert len(listed(browser, own="1")) == 5
    page = ParsedPage(browser.page("/group", name="billing"))
    found = {row["topic"]: row["kind"] for row in page.tables["Retries and dead letters"]}
    assert found == {
        "%DLQ%billing": "dead letters",
        "%RETRY%billing": "retries",
        "%RETRY%billing_orders": "retries",
    }
    dead = ParsedPage(browser.page("/topic", name="%DLQ%billing"))
    assert dead.links["Dead letters of billing"] == "letters?group=billing"
    retries = ParsedPage(browser.page("/topic", name="%RETRY%billing"))
    assert retries.links["Group billing"] == "group?name=billing"


def test_the_list_is_filtered_sorted_and_paged_by_its_address(open_browser, mqframe_cluster, send):
    for number in range(5):
        mqframe_cluster.create_topic(f"orders-{number}", number + 1)
    mqframe_cluster.create_topic("parcels", 1)
    send("orders-1", b"x")
    browser = open_browser(mqframe_cluster.nameserver)
    assert list(listed(browser, find="ORDERS", sort="-queues")) == [f"orders-{n}" for n in (4, 3, 2, 1, 0)]
    assert next(iter(listed(browser, sort="-messages"))) == "orders-1"
    page = ParsedPage(browser.page("/topics", find="orders", rows="2", page="2", sort="-topic"))
    assert [row["topic"] for row in page.tables["Topics"]] == ["orders-2", "orders-1"]
    assert page.sorts == {"topic": "descending"}
    assert "3 to 4 of 5 topics, page 2 of 3." in page.text
    assert page.links["Next"] == "topics?find=orders&sort=-topic&rows=2&page=3"
    assert "no topic has this in its name" in browser.page("/topics", find="<b>")
    answer = browser.get("/topics", sort="<b>")
    assert answer.status_code == 400
    assert "sort: &#39;&lt;b&gt;&#39; is none of topic, queues, messages, in_per_s" in answer.text


class ManyTopics:
    """A cluster of one broker with 20,000 topics; counts what it is asked."""

    def __init__(self) -> None:
        self.totals_of = {f"topic-{number:05}": TopicTotal(8, number, number) for number in range(20_000)}
        self.asked: list[str] = []
        self.topics = self.cluster = self.brokers = self

    def __getattribute__(self, name: str) -> Any:
        if name in ("masters", "info", "totals", "list", "stats", "runtime"):
            self.asked.append(name)
        return super().__getattribute__(name)

    async def masters(self) -> Any:
        return {"broker-a": "a:1"}

    async def info(self) -> Any:
        return ClusterInfo()

    async def totals(self, address: str) -> Any:
        return self.totals_of

    async def list(self) -> Any:
        return sorted(self.totals_of)

    async def stats(self, topic: str) -> Any:
        raise AssertionError("no topic is asked for by itself")

    async def runtime(self, address: str) -> Any:
        return {}


@pytest.mark.parametrize(
    ("query", "first", "rows"),
    [
        ({}, "topic-00000", 50),
        ({"sort": "-messages", "rows": "20"}, "topic-19999", 20),
        ({"find": "-01", "page": "20"}, "topic-01950", 50),
        ({"page": "400"}, "topic-19950", 50),
    ],
)
async def test_twenty_thousand_topics_take_a_handful_of_questions(query, first, rows):
    admin: Any = ManyTopics()
    asking = Asking(admin, admin)
    page = await topics_page(asking, Samples(asking, 10.0), Query(query))
    found = ParsedPage(page_html(page, "/topics")).column("Topics", "topic")
    assert (found[0], len(found)) == (first, rows)
    assert len(admin.asked) <= 6


def test_rates_are_sampled_over_time(open_browser, mqframe_cluster, send):
    mqframe_cluster.create_topic("orders", 1)
    browser = open_browser(mqframe_cluster.nameserver, interval=1e-6)
    assert "no data yet" in browser.page("/topics")
    send("orders", b"x")
    until(lambda: '<svg class="curve"' in browser.page("/topics"))
    page = browser.page("/topic", name="orders")
    assert '<svg class="chart"' in page
    assert "Messages a second over the last " in page
    assert "no data yet" not in page


def test_a_topic_shows_its_queues_and_groups(browser, mqframe_cluster, send):
    mqframe_cluster.create_topic("orders", 2)
    send("orders", b"x")
    send("orders", b"y")
    page = ParsedPage(browser.page("/topic", name="orders"))
    rows = page.tables["Queues"]
    assert [(row["broker"], row["queue"], row["min offset"]) for row in rows] == [
        ("broker-a", "0", "0"),
        ("broker-a", "1", "0"),
    ]
    assert page.facts("Totals")["messages"] == "2"
    assert "no group reads it" in page.text
    assert "There is no data yet" in page.text
    assert page.links["Messages"] == "messages?topic=orders"


def test_unknown_topics_are_404_and_say_what_was_meant(browser, mqframe_cluster):
    mqframe_cluster.create_topic("orders", 1)
    answer = browser.get("/topic", name="order")
    assert answer.status_code == 404
    assert "there is no topic order; did you mean orders?" in answer.text
    odd = browser.get("/topic", name="<script>alert(1)</script>\x00")
    assert odd.status_code == 404
    assert "<script>" not in odd.text
