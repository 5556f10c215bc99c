"""Test messages that are sent in a browser."""

from __future__ import annotations

import base64

import pytest
from parsed_page import ParsedPage


@pytest.fixture
def orders(boss_admin):
    boss_admin.topics.create("orders", queues=1)
    boss_admin.topics.create("own-parcels", queues=1)
    return boss_admin


def test_a_message_is_sent_with_all_that_the_form_has(boss, orders, caplog):
    form = {
        "topic": "orders",
        "tag": "paid",
        "keys": "k1 k2",
        "properties": "colour=dark blue\r\n\r\nsize=a=b\r\n",
        "body": ' {"id": 7}\r\n',
    }
    with caplog.at_level("INFO", "mqframe.audit"):
        answer = boss.fill_in("/message-send", {"topic": "orders"}, **form)
    assert "The message was sent" in answer.text, answer.text
    page = ParsedPage(answer.text)
    message_id = page.facts("To orders")["message"]
    facts = page.facts("To orders")
    assert (facts["status"], facts["broker"], facts["offset"]) == ("SEND_OK", "broker-a", "0")
    assert f"message?topic=orders&id={message_id}" == page.links[message_id]
    found = orders.messages.by_unique_key("orders", message_id)
    assert (found.body, found.tag, found.keys) == (b' {"id": 7}\n', "paid", ["k1", "k2"])
    assert (found.properties["colour"], found.properties["size"]) == ("dark blue", "a=b")
    [line] = [each for each in caplog.records if each.getMessage().startswith("dashboard message-send")]
    assert line.fields["user"] == "boss"
    assert "id" not in line.fields["request"].get("body", "")


def test_any_bytes_may_be_sent(boss, orders):
    body = base64.b64encode(b"\x00\xff\x10").decode()
    answer = boss.fill_in(
        "/message-send", {}, topic="orders", body=f"{body[:2]}\r\n{body[2:]}", kind="base64"
    )
    message_id = ParsedPage(answer.text).facts("To orders")["message"]
    assert orders.messages.by_unique_key("orders", message_id).body == b"\x00\xff\x10"


def test_one_form_is_one_message(boss, orders):
    form = boss.form("/message-send") | {"topic": "orders", "body": "once"}
    first, second = boss.both("/message-send", form)
    assert first.text == second.text
    assert sum(each.max_offset for each in orders.topics.stats("orders").values()) == 1


def test_users_send_with_their_own_keys(clerk, orders):
    answer = clerk.fill_in("/message-send", {}, topic="own-parcels", body="mine")
    assert "The message was sent" in answer.text, answer.text
    answer = clerk.fill_in("/message-send", {}, topic="orders", body="not mine")
    assert answer.status_code == 403, answer.text
    assert "You may not do this" in answer.text
    assert sum(each.max_offset for each in orders.topics.stats("orders").values()) == 0


@pytest.mark.parametrize(
    ("values", "status", "said"),
    [
        ({"topic": ""}, 400, "topic: is missing"),
        ({"topic": "order"}, 404, "there is no topic order; did you mean orders?"),
        ({"topic": "SCHEDULE_TOPIC_XXXX"}, 400, "is of the system; nothing was sent"),
        ({"properties": "colour"}, 400, "properties: &#39;colour&#39; must be name=value"),
        ({"properties": "=x"}, 400, "must be name=value"),
        ({"properties": "\n".join(f"p{n}=1" for n in range(101))}, 400, "101 are too many; at most 100"),
        ({"body": "<b>", "kind": "base64"}, 400, "body: this is no base64"),
        ({"kind": "odd"}, 400, "kind: &#39;odd&#39; is none of text, base64"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_sent(boss, orders, values, status, said):
    answer = boss.fill_in("/message-send", {}, **({"topic": "orders", "body": "x"} | values))
    assert answer.status_code == status, answer.text
    assert said in answer.text
    assert "<b>" not in answer.text
    assert sum(each.max_offset for each in orders.topics.stats("orders").values()) == 0


def test_who_may_only_read_is_offered_nothing_and_refused(browser, mqframe_cluster, send):
    mqframe_cluster.create_topic("orders", 1)
    assert "message-send" not in browser.page("/topic", name="orders")
    assert browser.get("/message-send").status_code == 404
    form = {"topic": "orders", "body": "x"}
    answer = browser.request("POST", "/message-send", data=form, headers={"origin": "http://127.0.0.1"})
    assert answer.status_code == 404
    assert "This dashboard only reads: it was started without --sign-in. Nothing was done." in answer.text


def test_who_is_not_signed_in_or_comes_from_elsewhere_is_refused(person, orders):
    form = {"topic": "orders", "body": "x", "ticket": "t", "token": "t"}
    assert person.post("/message-send", form).status_code == 401
    answer = person.post("/message-send", form, origin="http://evil.example")
    assert answer.status_code == 403
    assert sum(each.max_offset for each in orders.topics.stats("orders").values()) == 0
