"""Groups: lag, owners, members and subscriptions."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest
from mqframe_dashboard.pages.groups import differences, own_topics
from mqframe_testing import Cluster
from parsed_page import ParsedPage
from real_time import until

from mqframe import Admin, ClientSettings, PushConsumer
from mqframe.core.consuming.running_info import ConsumerRunningInfo
from mqframe.core.filtering.bodies import SubscriptionData


@pytest.fixture
def shipping(mqframe_cluster: Cluster, send):
    """The group `shipping` has consumed two messages, and is online."""
    mqframe_cluster.create_topic("orders", 1)
    got = threading.Semaphore(0)
    send("orders", b"1", "paid")
    send("orders", b"2", "paid")
    consumer = PushConsumer("shipping", nameserver=mqframe_cluster.nameserver, consume_from="first")
    consumer.subscribe("orders", "paid || sent", lambda message: got.release())
    with consumer:
        for _ in range(2):
            assert got.acquire(timeout=30)
        yield consumer


def test_groups_are_listed_with_their_lag(browser, mqframe_cluster, shipping, send):
    shipping.stop()
    send("orders", b"3", "paid")
    page = browser.page("/groups")
    assert '<a href="group?name=shipping">shipping</a></td><td class="number">1</td>' in page
    assert "CID_RMQ_SYS_TRANS" not in page


def test_a_group_shows_owners_members_and_subscriptions(browser, shipping):
    row = f"<td>{shipping.client_id}</td>"
    # Owner of a queue and member, and owner of the retries, whose topic is made once the group has joined.
    until(lambda: browser.page("/group", name="shipping").count(row) == 3)
    page = browser.page("/group", name="shipping")
    assert '<a href="topic?name=orders">orders</a></td><td>TAG</td><td>paid || sent</td>' in page
    assert '<th scope="row">members</th><td>1</td>' in page
    assert 'href="letters?group=shipping"' in page


def test_unknown_groups_are_404_and_say_what_was_meant(browser, mqframe_cluster):
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        admin.groups.create("shipping")
    answer = browser.get("/group", name="shiping")
    assert answer.status_code == 404
    assert "there is no group shiping; did you mean shipping?" in answer.text
    assert "it has consumed nothing yet" in browser.page("/group", name="shipping")


def test_a_broker_that_does_not_answer_is_told(mqframe_cluster_factory, open_browser, monkeypatch):
    cluster: Cluster = mqframe_cluster_factory(2)
    browser = open_browser(cluster.nameserver)

    async def fails(self, address):
        from mqframe.core.errors import ConnectError

        raise ConnectError("gone <b>")

    monkeypatch.setattr("mqframe_admin.client.brokers.AsyncBrokerAdmin.progress", fails)
    page = browser.page("/groups")
    assert page.count("did not tell how far its groups are: gone &lt;b&gt;") == 2


def test_groups_are_filtered_sorted_and_paged_by_the_address(browser, mqframe_cluster):
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        for name in ("billing-1", "billing-2", "billing-3", "shipping"):
            admin.groups.create(name)
    page = ParsedPage(browser.page("/groups", find="bill", sort="-group", rows="2"))
    assert page.column("Groups", "group") == ["billing-3", "billing-2"]
    assert "1 to 2 of 3 groups, page 1 of 2." in page.text
    assert page.links["Next"] == "groups?find=bill&sort=-group&rows=2&page=2"
    assert ParsedPage(browser.page("/groups")).sorts == {"lag": "descending"}
    assert "TOOLS_CONSUMER" in ParsedPage(browser.page("/groups", all="1")).column("Groups", "group")


def test_topics_of_a_group_are_those_of_its_retries_and_dead_letters():
    topics = {"orders", "%RETRY%g", "%DLQ%g", "%RETRY%g_orders", "%RETRY%g+orders", "%RETRY%g_2", "%RETRY%h"}
    topics |= {"%RETRY%g_parcels", "parcels"}
    assert own_topics(topics, "g", {"g", "g_2", "g_parcels"}) == [
        "%DLQ%g",
        "%RETRY%g",
        "%RETRY%g+orders",
        "%RETRY%g_orders",
    ]
    assert own_topics(topics, "none", set()) == []


def test_members_that_subscribe_differently_are_named(browser, mqframe_cluster):
    mqframe_cluster.create_topic("orders", 2)
    with ExitStack() as stack:
        for name, tags in (("<dock-1>", "paid"), ("dock-2", "sent")):
            consumer = PushConsumer(
                "shipping",
                nameserver=mqframe_cluster.nameserver,
                client=ClientSettings(instance_name=name),
            )
            consumer.subscribe("orders", tags, lambda message: None)
            stack.enter_context(consumer)
        page = browser.page("/group", name="shipping")
        while "in different ways" not in page:
            page = browser.page("/group", name="shipping")
    assert "Members subscribe to orders in different ways" in page
    assert "sent by 127.0.0.1@dock-2" in page
    assert "paid by 127.0.0.1@&lt;dock-1&gt;" in page
    assert "subscribe to %RETRY%shipping" not in page


def test_members_differ_by_expression_and_by_topic():
    def info(**topics: str) -> ConsumerRunningInfo:
        wanted = [SubscriptionData(topic, sub_string=text) for topic, text in topics.items()]
        return ConsumerRunningInfo(subscription_set=wanted)

    assert differences({}) == []
    assert differences({"a": info(t="x"), "b": info(t="x")}) == []
    [line] = differences({"a": info(t="x", u="*"), "b": info(t="x")})
    assert line.endswith("may miss messages: * by a; nothing by b")
