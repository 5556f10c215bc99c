"""Messages by id, key and time; and that nothing of theirs is taken for HTML."""

from __future__ import annotations

import json
from base64 import b64encode
from importlib.util import find_spec

import pytest
from mqframe_testing import Cluster

from mqframe import Admin

EVIL = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def orders(mqframe_cluster: Cluster) -> None:
    mqframe_cluster.create_topic("orders", 2)


def test_messages_are_found_by_either_id(browser, send):
    sent = send("orders", b"hello", "paid", ["k1"], {"colour": "blue"})
    for wanted in (sent.message_id, sent.offset_message_id):
        page = browser.page("/message", topic="orders", id=wanted)
        assert "<pre>hello</pre>" in page
        assert "Body: text, 5 bytes" in page
        assert '<th scope="row">tag</th><td>paid</td>' in page
        assert '<th scope="row">colour</th><td>blue</td>' in page
        assert sent.message_id in browser.page("/messages", topic="orders", id=wanted)


def test_messages_are_found_by_key(browser, send):
    send("orders", b"first", "", ["a", "b"])
    send("orders", b"second", "", ["b"])
    page = browser.page("/messages", topic="orders", key="a")
    assert "<td>first</td>" in page
    assert "<td>second</td>" not in page
    assert "<td>second</td>" in browser.page("/messages", topic="orders", key="b")
    assert "nothing found" in browser.page("/messages", topic="orders", key="c")


def test_messages_are_found_by_time(browser, send):
    for text in (b"one", b"two", b"three"):
        send("orders", text)
    page = browser.page("/messages", topic="orders", since="2020-01-01")
    assert [f"<td>{each}</td>" in page for each in ("one", "two", "three")] == [True, True, True]
    assert "nothing found" in browser.page("/messages", topic="orders", until="2020-01-01")
    assert "nothing found" in browser.page("/messages", topic="orders", since="9000-01-01")
    few = browser.page("/messages", topic="orders", limit="2")
    assert few.count('href="message?') == 2
    assert "There may be more than these 2." in few


def test_nothing_of_a_message_is_taken_for_html(browser, send):
    sent = send("orders", EVIL.encode(), EVIL, [EVIL], {EVIL: EVIL})
    for page in (
        browser.page("/messages", topic="orders"),
        browser.page("/messages", topic="orders", key=EVIL),
        browser.page("/message", topic="orders", id=sent.message_id),
    ):
        assert "<script>" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_what_is_no_text_is_base64_and_marked(browser, send):
    body = b"\x00\xff<script>"
    sent = send("orders", body)
    page = browser.page("/message", topic="orders", id=sent.message_id)
    assert f"<pre>{b64encode(body).decode()}</pre>" in page
    assert "Body: base64, 10 bytes" in page
    assert "<td>base64</td>" in browser.page("/messages", topic="orders")


def test_secrets_in_properties_are_masked(browser, send):
    sent = send("orders", b"x", properties={"authToken": "hush"})
    assert "hush" not in browser.page("/message", topic="orders", id=sent.message_id)


@pytest.mark.parametrize("wanted", ["0", "x" * 1000, "'\"<script>\x00", "7F000001" + "0" * 24, "F" * 32])
def test_odd_ids_are_404(browser, wanted):
    for path in ("/message", "/messages"):
        answer = browser.get(path, topic="orders", id=wanted)
        assert answer.status_code == 404
        assert "topic orders has no message" in answer.text
        assert "<script>" not in answer.text


def test_searches_that_make_no_sense_are_refused(browser):
    assert "Name a topic" in browser.page("/messages")
    assert browser.get("/messages", topic="order").status_code == 404
    assert browser.get("/messages", topic="orders", limit="201").status_code == 400
    assert browser.get("/messages", topic="orders", since="2", until="1").status_code == 400


@pytest.fixture
def avro(mqframe_cluster: Cluster) -> None:
    """The topic has a schema in Avro: a record of one long."""
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    version = json.dumps({"number": 1, "format": "avro", "text": json.dumps(schema), "name": "Order"})
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        admin.kv.put("MQFRAME_SCHEMAS", "orders", '{"latest":1,"rule":"backward","since":1,"change":1}')
        admin.kv.put("MQFRAME_SCHEMAS/orders", "1", version)


@pytest.mark.skipif(find_spec("mqframe_schemas") is None, reason="mqframe-plugin-schemas is not installed")
def test_bodies_are_decoded_by_the_schema_of_the_topic(browser, send, avro):
    sent = send("orders", b"\x0e")
    page = browser.page("/message", topic="orders", id=sent.message_id)
    assert "Body, decoded by the schema of the topic" in page
    assert "<pre>{\n  &#34;id&#34;: 7\n}</pre>" in page
    assert "Body: base64, 1 bytes" in page
    assert "<td>{ &#34;id&#34;: 7 }</td><td>schema</td>" in browser.page("/messages", topic="orders")
    odd = send("orders", b"\xff" * 20)
    page = browser.page("/message", topic="orders", id=odd.message_id)
    assert "decoded by the schema" not in page
    assert "Body: base64, 20 bytes" in page
