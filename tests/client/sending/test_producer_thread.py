"""The blocking producer against an in-process broker: the same results from plain threads."""

import concurrent.futures
import os
import threading

import pytest
from mqframe_testing.cluster import Cluster

from mqframe import Admin, Message, MessageQueue, Producer, ProducerSettings
from mqframe.core.errors import ClosedError, ConnectError, MessageError, RouteError
from mqframe.core.sending.encoding import encode_elements


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        yield running


@pytest.fixture(scope="module")
def admin(cluster):
    with Admin(nameserver=cluster.nameserver) as made:
        yield made


@pytest.fixture
def producer(cluster):
    with Producer("shop", nameserver=cluster.nameserver) as made:
        yield made


def test_send_batch_oneway_and_submit(producer, admin):
    admin.topics.create("all", queues=1)
    queue = MessageQueue("all", "broker-a", 0)
    assert producer.queues("all") == (queue,)
    assert producer.send(Message("all", b"0"), sharding_key="k").queue_offset == 0
    pair = [Message("all", b"1"), Message("all", b"2")]
    assert producer.send_batch(pair).queue_offset == 1
    producer.send_oneway(Message("all", b"3"))
    futures = [producer.submit(Message("all", b"%d" % n)) for n in range(4, 8)]
    results = [future.result(120) for future in futures]
    assert [result.queue_offset for result in results] == [4, 5, 6, 7]
    for n, result in enumerate(results, 4):
        found = admin.messages.by_id(result.offset_message_id)
        assert (found.body, found.message_id) == (b"%d" % n, result.message_id)
    assert producer.send_encoded("all", encode_elements(pair, ["A", "B"]), queue=queue).queue_offset == 8


def test_many_threads_share_one_producer(producer, admin):
    admin.topics.create("threads", queues=4)
    results = []

    def work(name):
        queue = MessageQueue("threads", "broker-a", name)
        results.append([producer.send(Message("threads", b"%d" % n), queue=queue) for n in range(50)])

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in results:
        assert [result.queue_offset for result in each] == list(range(50))
    assert len({result.message_id for each in results for result in each}) == 200


def test_many_threads_submit_each_in_its_order(producer, admin):
    admin.topics.create("submitting", queues=4)
    done = {}

    def work(name):
        futures = [producer.submit(Message("submitting", b"%d" % n), sharding_key=name) for n in range(300)]
        done[name] = [future.result(120) for future in futures]

    threads = [threading.Thread(target=work, args=(f"key-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results in done.values():
        offsets = [result.queue_offset for result in results]
        assert len({result.queue for result in results}) == 1
        assert offsets == sorted(offsets)
    everything = [result for results in done.values() for result in results]
    assert len({(result.queue, result.queue_offset) for result in everything}) == 1200


def test_stop_sends_what_was_submitted(cluster, admin):
    admin.topics.create("last", queues=1)
    with Producer("shop", nameserver=cluster.nameserver) as producer:
        futures = [producer.submit(Message("last", b"x")) for _ in range(100)]
    assert [future.result(0).queue_offset for future in futures] == list(range(100))
    with pytest.raises(ClosedError, match="stopped"):
        producer.submit(Message("last", b"x"))


def test_flush_waits_for_results(producer):
    futures = [producer.submit(Message("flushed", b"x")) for _ in range(50)]
    producer.flush()
    assert all(future.done() for future in futures)


def test_futures_work_with_concurrent_futures(producer):
    futures = [producer.submit(Message("waited", b"x")) for _ in range(20)]
    called = []
    futures[0].add_done_callback(called.append)
    done, pending = concurrent.futures.wait(futures, timeout=120)
    assert (len(done), len(pending)) == (20, 0)
    assert set(concurrent.futures.as_completed(futures, timeout=1)) == set(futures)
    producer.flush()
    assert called == [futures[0]]


def test_errors_are_raised_where_they_belong(cluster, producer):
    with pytest.raises(MessageError):
        producer.send(Message("x", b""))
    with pytest.raises(MessageError):
        producer.submit(Message("a b", b"x"))
    with pytest.raises(ClosedError, match="not started"):
        Producer("g", nameserver=cluster.nameserver).send(Message("x", b"x"))


def test_no_name_server(unused_address):
    settings = ProducerSettings(send_timeout_seconds=1.0)
    with Producer("g", nameserver=unused_address, settings=settings) as producer:
        for send in (producer.send, producer.submit):
            with pytest.raises((RouteError, ConnectError)):
                send(Message("t", b"x"))


@pytest.fixture
def unused_address():
    import socket

    with socket.socket() as deaf:  # it has a port, which nobody else can take meanwhile, and does not listen
        deaf.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{deaf.getsockname()[1]}"


def test_a_forked_child_is_told_to_make_its_own(producer):
    producer.send(Message("forked", b"x"))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            producer.send(Message("forked", b"x"))
        except ClosedError as problem:
            code = 0 if "forked" in str(problem) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert producer.send(Message("forked", b"x")).queue_offset >= 0


def test_stop_in_the_middle_of_the_sends_of_many_threads_leaves_no_future_without_an_end(cluster, admin):
    admin.topics.create("stopping", queues=4)
    for _ in range(10):
        producer = Producer("stopping", nameserver=cluster.nameserver)
        producer.start()
        futures, ends, under_way = [], [], threading.Barrier(9)

        def submit(producer=producer, futures=futures, under_way=under_way, ends=ends):
            mine = [producer.submit(Message("stopping", b"first"))]
            under_way.wait()
            try:
                while True:
                    mine.append(producer.submit(Message("stopping", b"x")))
            except ClosedError:
                ends.append("closed")
            futures += mine

        threads = [threading.Thread(target=submit) for _ in range(8)]
        for thread in threads:
            thread.start()
        under_way.wait()
        assert futures == []
        producer.stop()
        for thread in threads:
            thread.join(120)
        assert ends == ["closed"] * 8
        _, unended = concurrent.futures.wait(futures, 30)
        assert not unended
        stored = sum(future.exception() is None for future in futures)
        refused = {str(future.exception()) for future in futures} - {"None"}
        assert stored >= 8
        assert refused <= {"the producer was stopped; the message was not sent"}


def test_what_is_put_into_the_inbox_of_a_stopped_producer_gets_an_end(cluster, admin):
    admin.topics.create("late", queues=1)
    producer = Producer("late", nameserver=cluster.nameserver)
    producer.start()
    producer.submit(Message("late", b"x")).result(120)
    route = producer._api.pipeline.transport.known_route

    def stop_first(topic):
        producer._api.pipeline.transport.known_route = route
        producer.stop()  # another thread, between the look at the state and the inbox
        producer._awake = True
        return route(topic)

    producer._api.pipeline.transport.known_route = stop_first
    future = producer.submit(Message("late", b"y", wait_store_ok=False))  # alone: compiled code leaves it
    with pytest.raises(ClosedError, match="was not sent"):
        future.result(30)
