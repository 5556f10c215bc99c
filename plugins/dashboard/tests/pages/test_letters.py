"""Dead letters: listed, filtered, shown; and never opened by the dashboard."""

from __future__ import annotations

import threading

import pytest
from mqframe_testing import Cluster

from mqframe import Admin, PushConsumer


@pytest.fixture
def given_up(mqframe_cluster: Cluster, send) -> list[str]:
    """Ids of two messages that the group `shipping` gave up."""
    mqframe_cluster.create_topic("orders", 1)
    ids = [
        send("orders", f"<i>{tag}</i>".encode(), tag, [f"key-{tag}"]).message_id for tag in ("paid", "sent")
    ]
    consumer = PushConsumer("shipping", nameserver=mqframe_cluster.nameserver, consume_from="first")
    done = threading.Semaphore(0)

    def fail(message, context):
        context.delay_level_when_next_consume = -1
        done.release()
        raise ValueError("no")

    consumer.subscribe("orders", "*", fail)
    with consumer, Admin(nameserver=mqframe_cluster.nameserver) as admin:
        for _ in ids:
            assert done.acquire(timeout=30)
        while sum(admin.dead_letters.get("shipping", each) is not None for each in ids) < len(ids):
            pass
    return ids


def test_dead_letters_that_may_not_be_read_stay_closed(browser, mqframe_cluster, given_up):
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        assert admin.dead_letters.close("shipping") == ["broker-a"]
        page = browser.page("/letters", group="shipping")
        assert "may not be read on broker-a" in page
        assert "mqframe dlq open shipping" in page
        assert "&lt;i&gt;paid&lt;/i&gt;" in browser.page("/letter", group="shipping", id=given_up[0])
        assert admin.topics.config("%DLQ%shipping")["broker-a"].perm == 2


def test_dead_letters_are_listed_and_filtered(browser, mqframe_cluster, given_up):
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        admin.dead_letters.open("shipping")
    page = browser.page("/letters", group="shipping")
    assert page.count('href="letter?') == 2
    assert "&lt;i&gt;paid&lt;/i&gt;" in page
    for name, value in (("tag", "paid"), ("key", "key-paid"), ("key", given_up[0])):
        page = browser.page("/letters", group="shipping", **{name: value})
        assert "&lt;i&gt;paid&lt;/i&gt;" in page
        assert "&lt;i&gt;sent&lt;/i&gt;" not in page
    nothing = "group shipping has no such dead letters"
    assert nothing in browser.page("/letters", group="shipping", topic="parcels")
    assert nothing in browser.page("/letters", group="shipping", until="2020-01-01")
    assert "more than these 1" in browser.page("/letters", group="shipping", limit="1")


def test_one_dead_letter_is_shown_closed_or_not(browser, given_up):
    page = browser.page("/letter", group="shipping", id=given_up[1])
    assert "<pre>&lt;i&gt;sent&lt;/i&gt;</pre>" in page
    assert '<th scope="row">original topic</th><td><a href="topic?name=orders">orders</a></td>' in page


def test_groups_are_offered_and_unknown_ones_404(browser, mqframe_cluster):
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        admin.groups.create("shipping")
    assert 'href="letters?group=shipping"' in browser.page("/letters")
    assert "has no such dead letters" in browser.page("/letters", group="shipping")
    assert "did you mean shipping?" in browser.get("/letters", group="shiping").text
    assert browser.get("/letters", group="shiping").status_code == 404
    assert browser.get("/letter", group="shipping", id="none").status_code == 404
