"""Every page of the dashboard, of Apache's servers and of ours."""

from __future__ import annotations

import threading

import pytest

from interop.dashboards import check_pages
from interop.servers import Servers
from mqframe import Admin, Message, Producer, PushConsumer


@pytest.fixture
def client_id(servers: Servers, topic: str):
    """A member of the group `dashboard_readers`, which has consumed one message of `topic`."""
    got = threading.Event()
    with Admin(nameserver=servers.nameserver) as admin:
        admin.groups.create("dashboard_readers")
    consumer = PushConsumer("dashboard_readers", nameserver=servers.nameserver, consume_from="first")
    consumer.subscribe(topic, "paid", lambda message: got.set())
    with Producer(group="dashboard_shop", nameserver=servers.nameserver) as producer, consumer:
        producer.send(Message(topic, b"<b>hello</b>", "paid", ["first"]))
        assert got.wait(60)
        yield consumer.client_id


def test_pages_show_what_servers_tell(servers: Servers, topic: str, client_id: str) -> None:
    group, broker = "dashboard_readers", servers.broker_name
    wanted = {
        "/": [broker, servers.broker],
        f"/broker?name={broker}": ["brokerVersionDesc", "putTps"],
        "/replication": [broker, servers.broker],
        f"/topics?find={topic}": [f">{topic}</a>"],
        f"/topic?name={topic}": ["<td>" + broker, '<td class="number">3</td>'],
        f"/groups?find={group}": [f">{group}</a>"],
        f"/group?name={group}": [f"<td>{client_id}</td>", "<td>TAG</td><td>paid</td>"],
        f"/messages?topic={topic}&key=first": ["&lt;b&gt;hello&lt;/b&gt;"],
        f"/messages?topic={topic}&since=2020-01-01": ["&lt;b&gt;hello&lt;/b&gt;"],
        f"/letters?group={group}": ["has no such dead letters"],
        "/clients": [f"<td>{client_id}</td>", "<td>dashboard_shop</td>"],
        f"/configuration?name={broker}": ["brokerClusterName"],
    }
    check_pages(servers.nameserver, wanted)
