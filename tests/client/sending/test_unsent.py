"""The end of a process that stopped no producer: what was submitted is stored, or its count is told."""

import gc
import subprocess
import sys
import weakref

import pytest
from mqframe_testing.cluster import Cluster

from mqframe import Admin, Producer

BEGIN = """
import os, sys
from mqframe import AsyncProducer, Message, Producer
def work():
    producer = Producer("shop", nameserver=sys.argv[1])
    producer.start()
    producer.queues("ends")
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(1000):
        producer.submit(Message("ends", b"%d" % n))
"""
THREADS = BEGIN + "work()\n"
FORK = BEGIN + "work()\nif (child := os.fork()):\n    os.waitpid(child, 0)\n"
CHILD = (
    BEGIN
    + """
import multiprocessing
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join()
"""
)
STUCK = """
from concurrent.futures import Future
from mqframe.client.sending.unsent import Unfinished, keep
class Stuck(Unfinished):
    future = Future()
    def begin_rest(self):
        return self.future, 0.001
    def tell_rest(self):
        print("told", self.future.cancelled())
keep(Stuck())
keep(Stuck())
"""
LOOP = """
import asyncio, sys
from mqframe import AsyncProducer, Message, ProducerSettings
async def work():
    slow = ProducerSettings(linger_seconds=30)
    producer = AsyncProducer("shop", nameserver=sys.argv[1], settings=slow)
    await producer.start()
    for n in range(100):
        await producer.submit(Message("ends", b"%d" % n))
asyncio.run(work())
"""


@pytest.fixture
def cluster():
    with Cluster() as running:
        with Admin(nameserver=running.nameserver) as admin:
            admin.topics.create("ends", queues=4)
        yield running


def run(program, cluster, before_end=lambda: None):
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", program, cluster.nameserver]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        if program is not LOOP:
            assert process.stdout.readline() == "ready\n"
            before_end()
        _, told = process.communicate("go\n")
    assert process.returncode == 0
    return told


def stored(cluster):
    with Admin(nameserver=cluster.nameserver) as admin:
        return sum(offsets.max_offset - offsets.min_offset for offsets in admin.topics.stats("ends").values())


@pytest.mark.parametrize("program", [THREADS, FORK, CHILD])
def test_what_was_submitted_is_stored_once_when_the_process_ends(cluster, program):
    told = run(program, cluster)
    assert stored(cluster) == 1000
    assert "no result" not in told
    assert "not sent" not in told


def test_what_could_not_be_sent_at_the_end_is_told_with_its_count(cluster):
    told = run(THREADS, cluster, cluster.stop_broker)
    assert "not sent before the end" in told
    assert "messages=1000" in told
    assert "ResourceWarning: 1000 messages" in told


def test_a_loop_that_ends_without_stop_tells_what_it_left(cluster):
    told = run(LOOP, cluster)
    assert "messages=100" in told
    assert "ResourceWarning: 100 messages" in told
    assert stored(cluster) == 0


def test_the_end_waits_no_longer_than_it_is_told_to():
    ended = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, check=True)
    assert ended.stdout == "told True\n" * 2


def test_a_producer_that_was_stopped_is_not_kept(cluster):
    producer = Producer("shop", nameserver=cluster.nameserver)
    producer.start()
    producer.stop()
    left = weakref.ref(producer)
    del producer
    gc.collect()
    assert left() is None
