"""Producers and consumers that are online."""

from __future__ import annotations

from mqframe import Admin, ClientSettings, Message, Producer, PushConsumer
from mqframe.core.errors import ConnectError


def test_nobody_is_online(browser):
    page = browser.page("/clients")
    assert "no producer is online" in page
    assert "no consumer is online" in page


def test_clients_and_subscriptions_are_listed_and_escaped(browser, mqframe_cluster):
    mqframe_cluster.create_topic("orders", 1)
    evil = ClientSettings(instance_name="<script>x</script>")
    nameserver = mqframe_cluster.nameserver
    consumer = PushConsumer("shipping", nameserver=nameserver, client=evil)
    consumer.subscribe("orders", "paid", lambda message: None)
    with Producer(group="shop", nameserver=nameserver, client=evil) as producer, consumer:
        producer.send(Message("orders", b"x"))
        page = browser.page("/clients")
        while "no consumer is online" in page or "no producer is online" in page:
            page = browser.page("/clients")
    assert "<script>" not in page
    assert page.count("&lt;script&gt;x&lt;/script&gt;") == 2
    assert "<td>shop</td>" in page
    assert '<a href="topic?name=orders">orders</a></td><td>TAG</td><td>paid</td>' in page


def test_what_brokers_do_not_tell_is_said(browser, mqframe_cluster, monkeypatch):
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        admin.groups.create("shipping")

    async def fails(self, *arguments):
        raise ConnectError("gone")

    monkeypatch.setattr("mqframe_admin.client.brokers.AsyncBrokerAdmin.call", fails)
    monkeypatch.setattr("mqframe_admin.client.members.AsyncMemberAdmin.consumers", fails)
    page = browser.page("/clients")
    assert "broker-a does not tell its producers: gone" in page
    assert "members of shipping: gone" in page
