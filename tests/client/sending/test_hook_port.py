"""Messages of hooks leave as the producer group that the hook asks for."""

from __future__ import annotations

from mqframe_testing.cluster import Cluster

from mqframe import Admin, Message, Producer, SendHook
from mqframe.hooks.interfaces import HookPort, SendContext


class Telling(SendHook):
    """Sends a message of its own after each send."""

    def __init__(self) -> None:
        self.port: HookPort | None = None

    def attach(self, port: HookPort) -> None:
        self.port = port

    def after(self, context: SendContext) -> None:
        assert self.port is not None
        assert self.port.send(Message("told", b"sent"))


class Named(Telling):
    producer_group = "AUDIT"


class Reading(SendHook):
    """Begins by reading what name servers keep, and fails after that."""

    def __init__(self) -> None:
        self.read: list[list[dict[str, str]]] = []

    async def attach(self, port: HookPort) -> None:
        self.read += [await port.values("colours"), await port.values("sizes")]
        raise OSError("disk full")


def test_a_producer_starts_when_its_hooks_have_read_what_they_need() -> None:
    with Cluster() as one, Cluster() as other, Admin(nameserver=one.nameserver) as admin:
        admin.kv.put("colours", "sky", "blue")
        both, hook = f"{one.nameserver};{other.nameserver}", Reading()
        with Producer(group="shop", nameserver=both, send_hooks=[hook]):
            assert hook.read == [[{"sky": "blue"}, {}], [{}, {}]]


def test_the_name_of_the_group_comes_from_the_hook() -> None:
    with Cluster() as cluster:
        cluster.create_topic("orders")
        cluster.create_topic("told")
        hooks = (Telling(), Named())
        with (
            Producer(group="shop", nameserver=cluster.nameserver, send_hooks=hooks) as producer,
            Admin(nameserver=cluster.nameserver) as admin,
        ):
            producer.send(Message("orders", b"body"))
            for name in ("_INNER_HOOK_PRODUCER-PRODUCE-shop", "AUDIT-PRODUCE-shop"):
                # A producer is announced beside its first send.
                asked = (admin.members.producers(name).connection_set for _ in range(1000))
                found = next(filter(None, asked))
                assert [each.client_id for each in found] == [producer.client_id]
