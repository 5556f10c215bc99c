"""What official gRPC clients that sign may do at a door with access control, and what they are refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interop.grpc.clients import ClientError, Clients
from interop.grpc.conftest import StartProgram
from interop.grpc.doors import Door

pytestmark = pytest.mark.proves("users")

SECRET = "secret78"


@pytest.fixture
def door(guarded_door: Door) -> Door:
    return guarded_door


@pytest.fixture
def user(door: Door, name: str) -> str:
    """Who may send to the test's topic and receive from it, in the test's group."""
    with door.admin() as admin:
        door.create_topic(name)
        door.create_topic(f"{name}_of_others")
        admin.users.create(name, SECRET)
        admin.policies.set(name, [f"Topic:{name}"], actions=["Pub", "Sub"])
        admin.policies.set(name, [f"Group:{name}"], actions=["Sub"])
    return name


@pytest.fixture
def clients(language: str, door: Door, programs: StartProgram, user: str) -> Iterator[Clients]:
    """Clients of that user."""
    made = Clients(programs(language), door, {"access_key": user, "secret_key": SECRET})
    yield made
    made.end()


def refused(error: ClientError, clients: Clients) -> bool:
    """Whether it tells of missing rights, where its client tells why anything failed."""
    return error.code == 40100 if clients.language == "java" else True


def test_what_a_user_may(clients: Clients, name: str) -> None:
    producer = clients.producer(name)
    simple = clients.simple(name, {name: "*"})
    producer.send(name, "simple")
    [got] = simple.take(1)
    assert got.text == "simple"
    simple.ack(got)
    push = clients.push(name, {name: "*"})
    simple.close()
    producer.send(name, "pushed")
    assert [message.text for message in push.take(1)] == ["pushed"]


def test_what_a_user_may_not(clients: Clients, name: str) -> None:
    others = f"{name}_of_others"
    with pytest.raises(ClientError) as error:
        clients.producer(others).send(others, "refused")
    assert refused(error.value, clients)
    with pytest.raises(ClientError) as error:
        clients.simple(name, {others: "*"}).receive()
    assert refused(error.value, clients)


def test_who_signs_with_other_keys(clients: Clients, door: Door, user: str, name: str) -> None:
    for wrong in ({"secret_key": "secret79"}, {"access_key": "nobody"}):
        other = Clients(clients.program, door, {"access_key": user, "secret_key": SECRET, **wrong})
        with pytest.raises(ClientError) as error:
            other.producer(name).send(name, "refused")
        assert refused(error.value, clients)
        other.end()
