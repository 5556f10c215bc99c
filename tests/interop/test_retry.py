"""Failed messages and dead letters between Java and Python, on our broker and on Apache's."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from mqframe_testing import Cluster
from real_time import until

from interop.foreign import ForeignClient
from interop.servers import Servers
from mqframe import Admin, ClientSettings, ConsumeResult, ConsumerSettings, Message, Producer, PushConsumer
from mqframe.core.messages.message import ReceivedMessage

pytestmark = pytest.mark.proves("retry")

StartJava = Callable[..., ForeignClient]

SHORT_LEVELS = " ".join(["1s"] * 18)
OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER


@pytest.fixture
def quick() -> Iterator[Cluster]:
    """Our broker, with delay levels of a second."""
    with Cluster(store={"delay_levels": SHORT_LEVELS}) as running:
        running.create_topic("orders", 2)
        yield running


def send(nameserver: str, topic: str, count: int) -> dict[str, str]:
    """Send numbered messages; their ids by body."""
    ids = {}
    with Producer("interop", nameserver=nameserver) as producer:
        for n in range(count):
            message = Message(topic, b"%d" % n, tag="paid", keys=[f"key{n}"], properties={"number": f"{n}"})
            ids[f"{n}"] = producer.send(message).message_id
    return ids


class Failing:
    """A Python member that fails each message `failures` times; keeps (topic, body, returns, id) of all."""

    def __init__(
        self, nameserver: str, group: str, topic: str, failures: int, level: int = 0, maximum: int = -1
    ) -> None:
        self._both = threading.Lock()
        self._got: list[tuple[str, bytes, int, str]] = []
        self._failures = failures
        self._level = level
        self.consumer = PushConsumer(
            group,
            nameserver=nameserver,
            consume_from="first",
            settings=ConsumerSettings(max_reconsume_times=maximum, rebalance_seconds=0.5),
            client=ClientSettings(persist_offsets_seconds=0.1),
        )
        self.consumer.subscribe(topic, "*", self.listen)

    def listen(self, messages: list[ReceivedMessage], context: object) -> ConsumeResult:
        (message,) = messages
        context.delay_level_when_next_consume = self._level  # type: ignore[attr-defined]
        with self._both:
            self._got.append((message.topic, message.body, message.reconsume_times, message.message_id))
        return LATER if message.reconsume_times < self._failures else OK

    @property
    def got(self) -> list[tuple[str, bytes, int, str]]:
        with self._both:
            return list(self._got)


def test_what_a_java_consumer_fails_comes_again_and_dies(java: StartJava, quick: Cluster) -> None:
    ids = send(quick.nameserver, "orders", 4)
    client = java("Retry", "consume", quick.nameserver, "orders", "jgroup", "99", "0", "2")
    got = client.take("got", 12)
    client.finish()
    seen = [(body, int(times)) for _, _, body, times, *_ in got]
    assert Counter(seen) == Counter((f"{n}", times) for n in range(4) for times in range(3))
    for _, topic, body, times, message_id, tag, keys, number, _, retry in got:
        assert (topic, message_id, tag, keys, number) == ("orders", ids[body], "paid", f"key{body}", body)
        assert (retry == "orders") is (int(times) > 0)
    with Admin(nameserver=quick.nameserver) as admin:
        until(lambda: len(admin.dead_letters.list("jgroup")) == 4)
    dead = java("Retry", "dead", quick.nameserver, "jgroup").take("dead", 4)
    assert {(body, int(times), retry) for _, _, body, times, *_, retry in dead} == {
        (f"{n}", 3, "orders") for n in range(4)
    }
    assert {message_id for _, _, _, _, message_id, *_ in dead} == set(ids.values())


def test_a_java_listener_gives_messages_up_at_once_and_an_operator_sends_them_again(
    java: StartJava, quick: Cluster
) -> None:
    send(quick.nameserver, "orders", 2)
    client = java("Retry", "consume", quick.nameserver, "orders", "jgroup", "1", "-1", "16")
    client.take("got", 2)
    with Admin(nameserver=quick.nameserver) as admin:
        until(lambda: len(admin.dead_letters.list("jgroup")) == 2)
        letters = admin.dead_letters.list("jgroup", key="key1")
        assert [(each.topic, each.message.body) for each in letters] == [("orders", b"1")]
        assert [each.result is not None for each in admin.dead_letters.resend(letters)] == [True]
    (again,) = client.take("got", 1)
    assert again[1:4] == ["orders", "1", "0"]
    client.finish()


def test_java_and_python_in_one_group_take_each_others_failures(java: StartJava, quick: Cluster) -> None:
    ours = Failing(quick.nameserver, "mixed", "orders", 1)

    def owned() -> int:
        return sum(queue.topic == "orders" for queue in ours.consumer.queues)

    with ours.consumer:
        until(lambda: owned() == 2)
        # Whoever comes last never has a queue of the other's, so that no message comes to both.
        client = java("Retry", "consume", quick.nameserver, "orders", "mixed", "1", "0", "16")
        client.take("started", 1)
        until(lambda: owned() == 1)
        ids = send(quick.nameserver, "orders", 40)
        theirs: list[list[str]] = []

        def complete() -> bool:
            theirs.extend(client.waiting("got"))
            return len(theirs) + len(ours.got) >= 80

        until(complete)
        both = [(topic, body.decode(), times, key) for topic, body, times, key in ours.got]
        both += [(topic, body, int(times), key) for _, topic, body, times, key, *_ in theirs]
        assert Counter(both) == Counter(
            ("orders", body, times, key) for body, key in ids.items() for times in (0, 1)
        )
        # Each had a queue of its own, and the one retry queue went to one of them.
        assert {times for _, _, times, _ in ours.got} >= {0}
        assert {int(each[3]) for each in theirs} >= {0}
        client.finish()


def test_what_a_python_consumer_fails_comes_again_and_dies(servers: Servers, topic: str) -> None:
    group = f"{servers.broker_name}-fails"
    ids = send(servers.nameserver, topic, 4)
    ours = Failing(servers.nameserver, group, topic, 99, level=1, maximum=2)
    with ours.consumer:
        until(lambda: len(ours.got) >= 12)
        expected = Counter((topic, b"%d" % n, t, ids[f"{n}"]) for n in range(4) for t in range(3))
        assert Counter(ours.got) == expected
        with Admin(nameserver=servers.nameserver) as admin:
            until(lambda: admin.dead_letters.open(group) is not None and dead(admin, group) == 4)
            letters = admin.dead_letters.list(group)
            assert {(each.topic, each.message.reconsume_times) for each in letters} == {(topic, 3)}
            assert {each.unique_key for each in letters} == set(ids.values())
            sent = admin.dead_letters.resend(letters[:1])
            assert sent[0].result is not None
            until(lambda: len(ours.got) > 12)
            assert ours.got[12] == (topic, letters[0].message.body, 0, letters[0].unique_key)
            until(lambda: admin.dead_letters.resend(letters[:1])[0].result is None)


def dead(admin: Admin, group: str) -> int:
    """How many dead letters can be read."""
    admin.dead_letters.open(group)
    return len(admin.dead_letters.list(group))
