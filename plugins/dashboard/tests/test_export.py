"""Dead letters as JSON lines."""

from __future__ import annotations

import json
import re

import pytest
from mqframe_dashboard.export import IDS_MAX

from mqframe import Admin, Message, Producer

COUNT = 75


@pytest.fixture
def letters(mqframe_cluster) -> list[str]:
    """Ids of dead letters of `shipping`, sent there by hand: every third has a body that is no text."""
    with (
        Admin(nameserver=mqframe_cluster.nameserver) as admin,
        Producer(group="shop", nameserver=mqframe_cluster.nameserver) as producer,
    ):
        admin.groups.create("shipping")
        admin.topics.create("%DLQ%shipping", queues=1)
        return [
            producer.send(
                Message(
                    "%DLQ%shipping",
                    b"\xff\x00" if number % 3 == 0 else f"<b>{number}</b>\n".encode(),
                    "paid" if number % 2 else "sent",
                    [f"key-{number}"],
                    {"shop": "x"},
                )
            ).message_id
            for number in range(COUNT)
        ]


def rows(browser, **query):
    answer = browser.request("GET", "/export", params=query)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_all_are_written_in_order_as_lines(browser, letters):
    found = rows(browser, group="shipping")
    assert [each["message_id"] for each in found] == letters
    assert [each["queue_offset"] for each in found] == list(range(COUNT))
    assert found[0]["body_encoding"] == "base64"
    assert (found[1]["body"], found[1]["body_encoding"]) == ("<b>1</b>\n", "text")
    assert {each["group"] for each in found} == {"shipping"}
    assert found[0]["keys"] == ["key-0"]


def test_filters_and_ids_choose(browser, letters):
    assert [each["message_id"] for each in rows(browser, group="shipping", tag="paid")] == letters[1::2]
    chosen = [letters[3], letters[70]]
    assert [each["message_id"] for each in rows(browser, group="shipping", id=chosen)] == chosen
    by_place = rows(browser, group="shipping")[5]["dead_letter"]
    assert [each["message_id"] for each in rows(browser, group="shipping", id=by_place)] == [letters[5]]
    assert rows(browser, group="shipping", until="2020-01-01") == []
    since = rows(browser, group="shipping")[40]["stored_ms"]
    assert letters[40] in [each["message_id"] for each in rows(browser, group="shipping", since=since)]


def test_some_are_ticked_and_exported(browser, letters, mqframe_cluster):
    page = browser.page("/choose", group="shipping", tag="paid")
    assert 'action="export" method="get"' in page
    assert 'name="token"' not in page
    found = re.findall('name="id" value="([^"]+)"', page)
    assert len(found) == COUNT // 2
    assert [each["message_id"] for each in rows(browser, group="shipping", id=found[1])] == [letters[3]]
    assert "has no such dead letters" in browser.page("/choose", group="shipping", tag="none")
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        admin.dead_letters.close("shipping")
    assert "mqframe dlq open shipping" in browser.page("/choose", group="shipping")


def test_it_is_a_download(browser, letters):
    headers = browser.get("/export", group="shipping").headers
    assert headers["content-type"] == "application/x-ndjson"
    assert headers["content-disposition"] == 'attachment; filename="dead-letters.jsonl"'
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_what_cannot_be_exported_is_told(browser, mqframe_cluster, letters):
    assert browser.get("/export").status_code == 400
    assert browser.get("/export", group="shiping").status_code == 404
    assert browser.get("/export", group="shipping", since="soon").status_code == 400
    many = [str(number) for number in range(IDS_MAX + 1)]
    assert "too many" in browser.get("/export", group="shipping", id=many).text
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        admin.groups.create("idle")
        assert rows(browser, group="idle") == []
        admin.dead_letters.close("shipping")
    answer = browser.get("/export", group="shipping")
    assert answer.status_code == 409
    assert "may not be read on broker-a" in answer.text
    assert "mqframe dlq open shipping" in answer.text
