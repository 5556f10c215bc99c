"""Every page of the dashboard, of each version's servers; what a version lacks is said there."""

from __future__ import annotations

import threading

from interop.dashboards import check_pages
from interop.foreign_programs import OLDER
from interop.servers import Servers
from mqframe import (
    Admin,
    Message,
    Producer,
    PushConsumer,
    SubscriptionGroupConfig,
    TransactionListener,
    TransactionOutcome,
    TransactionProducer,
)

GROUP = "dashboard_readers"


class Undecided(TransactionListener):
    def execute_local_transaction(self, message: object, arg: object) -> TransactionOutcome:
        return TransactionOutcome.UNKNOWN

    def check_local_transaction(self, message: object) -> TransactionOutcome:
        return TransactionOutcome.UNKNOWN


def test_dashboard(version: str, servers: Servers, topic: str, admin: Admin, producer: Producer) -> None:
    broker, timers = servers.broker_name, version != OLDER
    got = threading.Event()
    admin.groups.create(SubscriptionGroupConfig(GROUP, retry_max_times=0))
    producer.send(Message(topic, b"<b>hello</b>", "paid", ["first"]))
    later = producer.send(Message(topic, b"later"), delay_level=18)
    in_time = producer.send(Message(topic, b"in time"), delay=3600) if timers else None

    def refuse(message: object) -> None:
        got.set()
        raise ValueError

    consumer = PushConsumer(GROUP, nameserver=servers.nameserver, consume_from="first")
    consumer.subscribe(topic, "paid", refuse)
    transactions = TransactionProducer("dashboard_till", Undecided(), nameserver=servers.nameserver)
    with consumer, transactions:
        half = transactions.send_in_transaction(Message(topic, b"half", keys=["half"]))
        assert got.wait(60)
        delayed = [f">{later.message_id}</a>", "level 18 (2 h)"]
        delayed += [f">{in_time.message_id}</a>", "given time"] if in_time else ["has delay levels alone"]
        wanted = {
            "/": [broker, servers.broker, version.replace(".", "_")],
            f"/broker?name={broker}": ["brokerVersionDesc", "putTps"],
            "/topics": [f">{topic}</a>"],
            f"/topic?name={topic}": ["<td>" + broker, '<td class="number">3</td>'],
            "/groups": [f">{GROUP}</a>"],
            f"/group?name={GROUP}": [f"<td>{consumer.client_id}</td>", "<td>TAG</td><td>paid</td>"],
            f"/messages?topic={topic}&key=first": ["&lt;b&gt;hello&lt;/b&gt;"],
            f"/messages?topic={topic}&since=2020-01-01": ["&lt;b&gt;hello&lt;/b&gt;"],
            "/delayed": delayed,
            f"/message?topic=SCHEDULE_TOPIC_XXXX&id={later.message_id}": ["REAL_TOPIC"],
            "/halves": [f">{half.message_id}</a>", "<td>dashboard_till</td>", "<td>half</td>"],
            "/letters": [f">{GROUP}</a>"],
            "/clients": [f"<td>{consumer.client_id}</td>", "<td>dashboard_till</td>"],
            f"/configuration?name={broker}": ["brokerClusterName"],
        }
        check_pages(servers.nameserver, wanted)
    admin.dead_letters.open(GROUP)
    check_pages(servers.nameserver, {f"/letters?group={GROUP}": ["&lt;b&gt;hello&lt;/b&gt;", ">" + topic]})
