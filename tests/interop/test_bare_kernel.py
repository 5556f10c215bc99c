"""The kernel without other distributions, with Java and Python clients: it sends, stores, shares, retries."""

from __future__ import annotations

import threading
from importlib.metadata import EntryPoint

import pytest
from mqframe_testing import Cluster
from real_time import until

from mqframe import AnswerError, Message, PluginManager, Producer, PushConsumer


def nothing_installed() -> list[EntryPoint]:
    return []


@pytest.mark.proves("consuming")
def test_java_and_python_clients_work_with_it(java) -> None:
    plugins = PluginManager(nothing_installed)
    with Cluster(plugins=plugins, store={"delay_levels": "1s 1s 1s"}) as cluster:
        cluster.create_topic("orders", queues=4)
        others = java("consume", cluster.nameserver, "orders", "java_group", "*", "clustering")
        others.take("started", 1)
        got: list[str] = []
        failed, done = set[str](), threading.Event()
        consumer = PushConsumer(
            group="python_group", nameserver=cluster.nameserver, consume_from="first", plugins=plugins
        )

        @consumer.on("orders")
        def handle(message) -> None:
            if message.properties["number"] == "3" and not failed:
                failed.add(message.message_id)
                raise ValueError("not yet")  # it comes again by a delay level
            got.append(message.properties["number"])
            if len(got) == 20:
                done.set()

        with consumer, Producer("shop", nameserver=cluster.nameserver, plugins=plugins) as producer:
            for number in range(20):
                message = Message("orders", b"x", properties={"number": str(number)})
                producer.send(message, sharding_key=f"customer-{number % 3}")
            assert done.wait(60)
            assert sorted(got, key=int) == [str(number) for number in range(20)]
            assert got[-1] == "3"
            by_java = others.take("got", 20)
            assert sorted((line[6] for line in by_java), key=int) == [str(number) for number in range(20)]
            lines = java("send", cluster.nameserver, "orders", "sync", "5", "keyed", "5").finish()
            assert [line[:2] for line in lines] == [["sent", "SEND_OK"]] * 10
            until(lambda: len(got) == 30)
        others.finish()


def test_what_it_does_not_have_is_refused_with_what_to_install() -> None:
    plugins = PluginManager(nothing_installed)
    with Cluster(plugins=plugins) as cluster:
        cluster.create_topic("orders", queues=1)
        with Producer("shop", nameserver=cluster.nameserver, plugins=plugins) as producer:
            with pytest.raises(AnswerError, match="pip install mqframe-plugin-delay"):
                producer.send(Message("orders", b"x"), delay=5)
            assert producer.send(Message("orders", b"x"), delay_level=1).queue_offset == 0
