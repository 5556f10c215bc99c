"""Schemas of topics: the list, and the versions of one."""

from __future__ import annotations

import pytest
from mqframe_dashboard.pages import schemas
from parsed_page import ParsedPage

from mqframe import Admin

NAMES = "MQFRAME_SCHEMAS"


@pytest.fixture
def kept(mqframe_cluster):
    """Schemas of two topics, and what is none."""
    mqframe_cluster.create_topic("orders", 1)
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        admin.kv.put(NAMES, "orders", '{"latest":2,"rule":"full","since":1,"change":2}')
        admin.kv.put(NAMES, "gone", '{"latest":0,"rule":"none","since":1,"change":3}')
        admin.kv.put(NAMES, "odd", "{")
        admin.kv.put(f"{NAMES}/orders", "1", '{"number":1,"format":"json","text":"{}"}')
        text = '{\\"title\\":\\"<Order>\\"}'
        admin.kv.put(f"{NAMES}/orders", "2", f'{{"number":2,"format":"json","text":"{text}","name":"Order"}}')
        yield admin


def test_topics_with_a_schema_are_listed(browser, kept):
    page = ParsedPage(browser.page("/schemas"))
    assert page.tables["Schemas"] == [
        {"topic": "gone", "version": "none in force", "rule": "none"},
        {"topic": "orders", "version": "2", "rule": "full"},
    ]
    assert page.links["orders"] == "schemas?topic=orders"
    assert ParsedPage(browser.page("/schemas", sort="-rule", find="o")).column("Schemas", "topic") == [
        "gone",
        "orders",
    ]


def test_all_versions_of_a_topic_are_shown_the_newest_first(browser, kept):
    html = browser.page("/schemas", topic="orders")
    page = ParsedPage(html)
    assert page.facts("Schema")["in force"] == "version 2"
    assert page.facts("Schema")["rule"] == f"full: {schemas.RULES['full']}"
    assert html.index("Version 2: json Order") < html.index("Version 1: json")
    assert "&lt;Order&gt;" in html
    assert ParsedPage(browser.page("/topic", name="orders")).links["All versions"] == "schemas?topic=orders"


def test_what_is_not_in_force_or_lost_is_told(browser, kept):
    assert "no schema any more" in browser.page("/schemas", topic="gone")
    kept.kv.delete(f"{NAMES}/orders", "2")
    assert "Name servers have lost version 2; set it again." in browser.page("/schemas", topic="orders")


def test_a_topic_without_a_schema_says_how_to_set_one(browser, mqframe_cluster):
    mqframe_cluster.create_topic("orders", 1)
    assert "no topic has a schema" in browser.page("/schemas")
    answer = browser.get("/schemas", topic="orders")
    assert answer.status_code == 404
    assert "topic orders never had a schema; mqframe schema set orders FILE gives it one" in answer.text
    assert browser.get("/schemas", topic="order").status_code == 404


def test_without_the_plugin_the_page_says_what_to_install(browser, monkeypatch):
    monkeypatch.setattr(schemas, "find_spec", lambda name: None)
    page = browser.page("/schemas")
    assert "bodies are not decoded" in page
    assert "pip install &#34;mqframe-plugin-schemas[json,avro,protobuf]&#34;" in page
