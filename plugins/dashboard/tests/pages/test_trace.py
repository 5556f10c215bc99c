"""The way of a message."""

from __future__ import annotations

import threading

from mqframe_dashboard.pages.trace import NOTHING
from parsed_page import ParsedPage
from real_time import until

from mqframe import Message, Producer, PushConsumer


def test_a_message_that_nobody_traced_says_how_to(browser, mqframe_cluster, send):
    mqframe_cluster.create_topic("orders", 1)
    sent = send("orders", b"x")
    page = ParsedPage(browser.page("/trace", id=sent.message_id))
    assert " ".join(NOTHING.split()) in " ".join(page.text.split())
    assert "Way" not in page.text.split()
    # It says so of one that is stored, too, and shows when that was.
    page = ParsedPage(browser.page("/trace", id=sent.message_id, topic="orders"))
    assert page.column("All that was told", "what") == ["stored"]
    assert "Name the id" in browser.page("/trace")


def test_what_was_traced_is_drawn(browser, mqframe_cluster):
    mqframe_cluster.create_topic("orders", 1)
    nameserver = mqframe_cluster.nameserver
    got = threading.Semaphore(0)
    with Producer("shop", nameserver=nameserver, send_hooks=["trace"]) as producer:
        sent = producer.send(Message("orders", b"x", "paid"))
    consumer = PushConsumer("billing", nameserver=nameserver, consume_from="first", consume_hooks=["trace"])
    consumer.subscribe("orders", "*", lambda message: got.release())
    with consumer:
        assert got.acquire(timeout=60)
    told = ["consumed", "produced", "stored"]
    until(lambda: told == sorted(parts(browser, sent.message_id)))
    html = browser.page("/trace", id=sent.message_id)
    assert html.count('<rect class="ok"') == 3
    page = ParsedPage(html)
    rows = {row["what"]: row for row in page.tables["All that was told"]}
    assert rows["produced"]["by"].startswith("shop at ")
    assert rows["consumed"]["by"].startswith("billing at ")
    assert rows["stored"]["by"] == "broker-a"
    assert page.links["The message"].startswith("message?topic=orders&id=")
    page = ParsedPage(browser.page("/message", topic="orders", id=sent.message_id))
    assert page.links["Its way: trace"] == f"trace?id={sent.message_id}&topic=orders"


def parts(browser, message_id):
    page = ParsedPage(browser.page("/trace", id=message_id))
    return page.column("All that was told", "what") if "All that was told" in page.tables else []
