"""A program that configures no logging reads nothing as long as all is well, and what failed otherwise."""

from __future__ import annotations

import subprocess
import sys

WELL = """
import threading
from mqframe import LitePullConsumer, Message, Producer, PushConsumer, RetryError, SimpleConsumer
from mqframe_testing.cluster import Cluster

lock, seen, many = threading.Lock(), [], threading.Semaphore(0)

def handle(message):
    many.release()

def take(count):
    for _ in range(count):
        assert many.acquire(timeout=60)

def member(cluster, group="billing", **options):
    made = PushConsumer(group, nameserver=cluster.nameserver, consume_from="first", **options)
    made.subscribe("orders", "*", handle)
    made.start()
    return made

def send(producer):
    while True:
        try:
            producer.send(Message("orders", b"x"))
            return
        except RetryError:  # the broker is away
            threading.Event().wait(0.05)

with Cluster() as cluster:
    cluster.create_topic("orders", 4)
    with Producer("shop", nameserver=cluster.nameserver) as producer:
        members = [member(cluster), member(cluster, "tracking", ordered=True)]
        lite = LitePullConsumer("polling", nameserver=cluster.nameserver, consume_from="first")
        lite.subscribe("orders")
        lite.start()
        simple = SimpleConsumer("popping", nameserver=cluster.nameserver, consume_from="first")
        simple.subscribe("orders")
        simple.start()
        for _ in range(4):
            send(producer)
        take(8)
        assert lite.poll(60)
        simple.ack_batch(simple.receive())
        member(cluster).stop()
        cluster.restart_broker()
        send(producer)
        take(2)
        for each in (*members, lite, simple):
            each.stop()
print("well")
"""
FAILS = """
import threading
from mqframe import Message, Producer, PushConsumer
from mqframe_testing.cluster import Cluster

with Cluster() as cluster:
    cluster.create_topic("orders", 1)
    with Producer("shop", nameserver=cluster.nameserver) as producer:
        producer.send(Message("orders", b"tea"))
    consumer = PushConsumer("billing", nameserver=cluster.nameserver, consume_from="first")
    met = threading.Event()

    @consumer.on("orders")
    def bill(message):
        met.set()
        raise ValueError("no price for tea")

    with consumer:
        assert met.wait(60)
"""


def run(script: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_start_rebalance_restart_and_stop_say_nothing() -> None:
    assert run(WELL) == ("well\n", "")


def test_what_fails_is_read_with_its_traceback() -> None:
    _, said = run(FAILS)
    lines = said.splitlines()
    assert lines[0].startswith(
        "messages were not consumed outcome='exception' problem='ValueError: no price for tea'"
    )
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: no price for tea"
    assert "in bill" in said
