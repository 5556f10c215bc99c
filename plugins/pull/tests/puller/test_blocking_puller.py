"""Plain pulls from plain threads, on a real broker in this process."""

from __future__ import annotations

import threading

import pytest
from mqframe_pull.puller.blocking_puller import Puller
from mqframe_testing.cluster import Cluster

from mqframe.client.sending.blocking_producer import Producer
from mqframe.client.settings import ClientSettings
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.pull import PullStatus
from mqframe.core.errors import AnswerError, BodyUnreadable, FixError, RetryError, RouteError, SettingError
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.core.storage.record import decode_records


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        running.create_topic("facts", 2)
        with Producer("shop", nameserver=running.nameserver) as producer:
            for n in range(20):
                queue = MessageQueue("facts", "broker-a", n % 2)
                producer.send(Message("facts", b"%d" % n, "even" if n % 4 == 0 else "odd"), queue=queue)
        yield running


def test_reads_every_queue_from_many_threads(cluster) -> None:
    found: dict[int, list[bytes]] = {}

    def read(puller: Puller, queue: MessageQueue) -> None:
        offset, end, bodies = puller.min_offset(queue), puller.max_offset(queue), []
        while offset < end:
            result = puller.pull(queue, offset, 3)
            bodies += [message.body for message in result.messages]
            offset = result.next_offset
        found[queue.queue_id] = bodies

    with Puller(nameserver=cluster.nameserver) as puller:
        queues = puller.queues("facts")
        assert queues == [MessageQueue("facts", "broker-a", n) for n in range(2)]
        threads = [threading.Thread(target=read, args=(puller, queue)) for queue in queues]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {q: [b"%d" % n for n in range(q, 20, 2)] for q in range(2)}


@pytest.mark.parametrize("checks", [True, False])
def test_a_body_with_a_wrong_crc_is_not_read_where_settings_say_so(cluster, checks) -> None:
    settings = ClientSettings(nameserver=cluster.nameserver, check_body_crc=checks)
    with Puller(client=settings) as puller:
        message = puller.pull(MessageQueue("facts", "broker-a", 0), 0).messages[0]
    message.body_crc ^= 1
    if not checks:
        assert message.body == b"0"
        return
    with pytest.raises(BodyUnreadable, match="changed since it was stored"):
        message.body  # noqa: B018


def test_outcomes(cluster) -> None:
    queue = MessageQueue("facts", "broker-a", 0)
    with Puller("readers", nameserver=cluster.nameserver) as puller:
        even = puller.pull(queue, 0, 32, "even")
        assert [m.body for m in even.messages] == [b"0", b"4", b"8", b"12", b"16"]
        assert puller.pull(queue, 0, 32, "neither").status is PullStatus.NO_MATCHED_MSG
        assert puller.pull(queue, 10).status is PullStatus.NO_NEW_MSG
        assert puller.pull(queue, 10, wait=0.05).status is PullStatus.NO_NEW_MSG
        beyond = puller.pull(queue, 11)
        assert (beyond.status, beyond.next_offset) == (PullStatus.OFFSET_ILLEGAL, 10)
        first = puller.pull(queue, 0, 1).messages[0]
        assert puller.offset_at(queue, first.store_timestamp) == 0
        assert puller.offset_at(queue, first.store_timestamp + 3_600_000) == 10


def test_several_pulls_at_once(cluster) -> None:
    queue = MessageQueue("facts", "broker-a", 0)
    with Puller("jobs", nameserver=cluster.nameserver) as puller:
        found = puller.pull_all_raw(queue, [(0, 4), (4, 4), (8, 4), (12, 4)], bulk=True)
        offsets = [[m.queue_offset for m in decode_records(one.records)] for one in found]
        assert offsets == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], []]
        assert [one.next_offset for one in found] == [4, 8, 10, 10]
        assert found[3].status is PullStatus.OFFSET_ILLEGAL
        assert puller.pull_raw(queue, 0, 4) == found[0]
        even = puller.pull_all_raw(queue, [(0, 32)], "even")
        assert [m.body for m in decode_records(even[0].records)] == [b"0", b"4", b"8", b"12", b"16"]
        with pytest.raises(AnswerError, match="9"):
            puller.pull_all_raw(MessageQueue("facts", "broker-a", 9), [(0, 4)])
        with pytest.raises(FixError, match="-1"):
            puller.pull_all_raw(queue, [(0, 4), (-1, 4)])


def test_pulls_behind_one_that_failed_for_now_are_left_out(cluster, monkeypatch) -> None:
    queue = MessageQueue("facts", "broker-a", 0)
    with Puller("jobs", nameserver=cluster.nameserver) as puller:
        invoke_all = puller._remoting.invoke_all

        def busy(number: int):
            def invoke(*arguments, **named):
                answers = invoke_all(*arguments, **named)
                answers[number].code = ResponseCode.SYSTEM_BUSY
                return answers

            return invoke

        asked = [(0, 4), (4, 4), (8, 4)]
        monkeypatch.setattr(puller._remoting, "invoke_all", busy(1))
        assert [one.next_offset for one in puller.pull_all_raw(queue, asked)] == [4]
        monkeypatch.setattr(puller._remoting, "invoke_all", busy(0))
        with pytest.raises(RetryError):
            puller.pull_all_raw(queue, asked)


def test_offsets_of_a_group_are_kept_by_the_broker(cluster) -> None:
    queue = MessageQueue("facts", "broker-a", 1)
    with Puller("keepers", nameserver=cluster.nameserver) as puller:
        puller.pull(queue, 0)
        assert puller.committed(queue) is None
        puller.commit(queue, 7)
        assert puller.committed(queue) == 7
        puller.commit(queue, 2)
        assert puller.committed(queue) == 2
    with (
        Puller("unheard_of", nameserver=cluster.nameserver) as puller,
        pytest.raises(AnswerError) as caught,
    ):
        puller.commit(queue, 7)
    assert caught.value.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST


def test_numbers_that_make_no_sense_are_refused_before_anything_is_sent() -> None:
    queue = MessageQueue("facts", "broker-a", 1)
    with Puller(nameserver="127.0.0.1:1") as puller:
        with pytest.raises(FixError, match="offset -1 is negative"):
            puller.pull(queue, -1)
        with pytest.raises(FixError, match="max_messages is 0"):
            puller.pull(queue, 0, 0)
        with pytest.raises(FixError, match="offset -1 is negative"):
            puller.commit(queue, -1)
        with pytest.raises(FixError, match="names no tag"):
            puller.pull(queue, 0, 1, "||")


def test_errors_say_what_is_wrong(cluster, monkeypatch) -> None:
    with Puller(nameserver=cluster.nameserver) as puller:
        with pytest.raises(RouteError, match="no route to topic nowhere"):
            puller.queues("nowhere")
        with pytest.raises(RouteError, match="names no broker broker-z"):
            puller.max_offset(MessageQueue("facts", "broker-z", 0))
    with (
        Puller(client=ClientSettings(nameserver="127.0.0.1:1", patience_seconds=0)) as puller,
        pytest.raises(RouteError, match="no name server answered"),
    ):
        puller.queues("facts")
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    with pytest.raises(SettingError, match="name server"):
        Puller()
