"""Schemas on the page of a topic."""

from __future__ import annotations

import pytest

from mqframe import Admin

HEAD = '{"latest":2,"rule":"full","since":1,"change":2}'
VERSION = '{"number":2,"format":"json","text":"{\\"title\\":\\"<Order>\\"}","name":"Order"}'


def keep(nameserver: str, head: str, version: str) -> None:
    with Admin(nameserver=nameserver) as admin:
        admin.kv.put("MQFRAME_SCHEMAS", "orders", head)
        admin.kv.put("MQFRAME_SCHEMAS/orders", "2", version)


def test_a_topic_shows_the_schema_in_force(browser, mqframe_cluster):
    mqframe_cluster.create_topic("orders", 1)
    assert "Schema:" not in browser.page("/topic", name="orders")
    keep(mqframe_cluster.nameserver, HEAD, VERSION)
    page = browser.page("/topic", name="orders")
    assert "Schema: json Order, version 2, rule full" in page
    assert "&lt;Order&gt;" in page
    keep(mqframe_cluster.nameserver, HEAD, '{"format":"protobuf","text":"CgA=","name":"shop.Order"}')
    assert "Schema: protobuf shop.Order, version 2, rule full" in browser.page("/topic", name="orders")


@pytest.mark.parametrize(
    ("head", "version"),
    [("{", VERSION), ('{"latest":0}', VERSION), ('{"latest":3}', VERSION), (HEAD, "{}"), ("7", "7")],
)
def test_what_is_no_schema_leaves_the_page_as_it_is(browser, mqframe_cluster, head, version):
    mqframe_cluster.create_topic("orders", 1)
    keep(mqframe_cluster.nameserver, head, version)
    page = browser.page("/topic", name="orders")
    assert "Schema:" not in page
    assert "no group reads it" in page
