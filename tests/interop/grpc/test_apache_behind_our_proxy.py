"""Official gRPC clients at `mqframe proxy` before Apache's brokers: of 5.x, which do all, and of 4.9."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from real_time import until

from interop.apache import Apache
from interop.conftest import java_class_path
from interop.foreign_programs import LATEST, NEWEST, OLDER
from interop.grpc import test_official_clients
from interop.grpc.apache_proxy import CONF
from interop.grpc.clients import ClientError, Clients
from interop.grpc.conftest import MAIN_WAYS, StartProgram
from interop.grpc.doors import Door
from interop.grpc.our_proxy import OurProxy
from interop.grpc.test_official_clients import TEXT, UNICODE, stored

pytestmark = pytest.mark.long
LANGUAGES = ("java", "python")
REFUSED_SECONDS_MAX = 20.0
"""A refusal comes at once, but on a busy machine; receives that wait would be answered later than that."""


@pytest.fixture(scope="module", params=[NEWEST, LATEST])
def door(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """Our proxy before a broker of 5.x."""
    home = tmp_path_factory.mktemp("apache")
    with (
        Apache(java_class_path(request.param), home, conf=CONF) as broker,
        OurProxy(broker.servers.nameserver, apache=True) as proxy,
    ):
        yield proxy.door


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    """Whose clients are tested."""
    found: str = request.param
    return found


@pytest.fixture
def name(request: pytest.FixtureRequest, language: str) -> str:
    """For a test's topic and group, which no other test has."""
    way = request.node.callspec.params.get("way", request.node.originalname)
    return f"{language}_{way}".replace("test_", "")


@pytest.mark.parametrize("way", sorted(MAIN_WAYS))
def test_what_clients_do_at_a_door_of_ours_they_do_before_brokers_of_5(
    way: str, clients: Clients, door: Door, name: str
) -> None:
    getattr(test_official_clients, way)(clients, door, name)


@pytest.fixture(scope="module")
def proxy_before_4(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurProxy]:
    """Our proxy before a broker of 4.9."""
    home = tmp_path_factory.mktemp("apache")
    with (
        Apache(java_class_path(OLDER), home) as broker,
        OurProxy(broker.servers.nameserver, apache=True) as proxy,
    ):
        yield proxy


class TestBefore4:
    """A broker of 4.9 takes messages; it has no pops, without which nobody consumes over gRPC."""

    @pytest.fixture
    def door(self, proxy_before_4: OurProxy, name: str) -> Door:
        """Our proxy before it, with the test's topic, whose type it cannot know."""
        door = proxy_before_4.door
        with door.admin() as admin:
            admin.topics.create(name, queues=4)
            until(lambda: name in admin.topics.list())
        return door

    def test_it_takes_messages(self, clients: Clients, door: Door, name: str) -> None:
        sent = clients.producer(name).send(name, TEXT, tag="tag", keys=["key"], properties=UNICODE)
        [message] = stored(door, name)
        assert (message.body.decode(), message.tag, message.keys) == (TEXT, "tag", ["key"])
        assert message.properties.items() >= UNICODE.items()
        assert message.message_id == sent["id"]

    def test_messages_of_a_group_lie_in_one_queue(self, clients: Clients, door: Door, name: str) -> None:
        producer = clients.producer(name)
        for number in range(8):
            producer.send(name, f"{number}", group="a")
        found = stored(door, name)
        assert [message.body for message in found] == [b"%d" % number for number in range(8)]
        assert len({message.queue_id for message in found}) == 1

    def test_transactions_are_asked_about(self, clients: Clients, door: Door, name: str) -> None:
        producer = clients.producer(name, checker=True)
        ended = producer.send(name, "ended", transaction=True)
        producer.end_transaction(ended["id"], "commit")
        until(lambda: [message.body for message in stored(door, name)] == [b"ended"])
        for check in ("commit", "rollback"):
            producer.send(name, check, properties={"check": check}, transaction=True)
        decided: set[tuple[str, str]] = set()
        while len(decided) < 2:
            got, decision = producer.checked()
            decided.add((got.text, decision))
        assert decided == {("commit", "commit"), ("rollback", "rollback")}
        until(lambda: {message.body for message in stored(door, name)} == {b"ended", b"commit"})

    def test_delays_are_refused(self, clients: Clients, door: Door, name: str) -> None:
        with pytest.raises(ClientError) as refused:
            clients.producer(name).send(name, "later", delay_ms=60_000)
        check_refusal(refused.value, clients)
        assert stored(door, name) == []

    def test_simple_consumers_are_told(self, clients: Clients, door: Door, name: str) -> None:
        clients.producer(name).send(name, "there")
        consumer = clients.simple(name, {name: "*"})
        for _ in range(3):
            begun = time.monotonic()
            with pytest.raises(ClientError) as refused:
                consumer.receive()
            check_refusal(refused.value, clients)
            assert time.monotonic() - begun < REFUSED_SECONDS_MAX
        consumer.close()

    def test_push_consumers_get_nothing(
        self, clients: Clients, door: Door, name: str, proxy_before_4: OurProxy
    ) -> None:
        """They ask again and again; it goes on serving, and says why in its log."""
        producer, consumer = clients.producer(name), clients.push(name, {name: "*"})
        producer.send(name, "before")
        assert consumer.within(5) == []
        producer.send(name, "after")
        assert consumer.close() < REFUSED_SECONDS_MAX
        assert {message.body for message in stored(door, name)} == {b"before", b"after"}
        assert proxy_before_4.process.poll() is None

    @pytest.mark.parametrize("language", ["java"])
    def test_it_says_so_once_and_ends_in_good_order(
        self, language: str, programs: StartProgram, proxy_before_4: OurProxy, name: str
    ) -> None:
        with OurProxy(proxy_before_4.door.nameserver, apache=True) as proxy:
            clients = Clients(programs(language), proxy.door)
            for topic in (name, f"{name}_2"):
                with proxy.door.admin() as admin:
                    admin.topics.create(topic, queues=1)
                    until(lambda topic=topic: topic in admin.topics.list())
                clients.producer(topic).send(topic, "there")
                with pytest.raises(ClientError):
                    clients.simple(topic, {topic: "*"}).receive()
            clients.end()
            [line] = proxy.end().splitlines()
        assert "broker is older than 5.0" in line


def check_refusal(error: ClientError, clients: Clients) -> None:
    """It names the reason, where a client shows the door's words."""
    if clients.language == "java":
        assert error.code == 50100
        assert "older than 5.0" in error.text
