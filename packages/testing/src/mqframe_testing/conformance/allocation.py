"""Conformance suite of allocation strategies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import AllocationStrategy
from mqframe_testing.allocation_ports import SharedView
from mqframe_testing.manual_clock import ManualClock

Shape = tuple[list[MessageQueue], list[str]]


class AllocationConformance:
    """Every queue has one owner, and all members agree on who.

    Set `covers_all` to False for a strategy that leaves queues out on purpose, and `exclusive` to False for
    one that may give a queue to several members. Override `shapes` where names must have a special form.
    `rounds`: after how many rounds of 20 s members that look before they decide have seen the same.
    """

    covers_all = True
    exclusive = True
    group = "conformance"
    rounds = 12

    def make(self) -> AllocationStrategy:
        """A fresh strategy; those of one group are configured alike."""
        raise NotImplementedError

    def shapes(self) -> Iterator[Shape]:
        """Pairs of sorted queues and sorted clients: fewer, as many, and more queues than clients."""
        for queue_count, client_count in ((1, 1), (1, 3), (4, 4), (4, 7), (8, 3), (16, 5), (33, 2)):
            yield self.queues(queue_count), self.clients(client_count)

    def queues(self, count: int) -> list[MessageQueue]:
        """`count` queues of one topic over two brokers, sorted."""
        names = ("room-a@broker-a", "room-b@broker-b")
        return sorted(MessageQueue("orders", names[i % 2], i // 2) for i in range(count))

    def clients(self, count: int) -> list[str]:
        """`count` client ids, sorted."""
        rooms = ("room-a", "room-b")
        return sorted(f"{rooms[i % 2]}-10.0.0.{i}@{4000 + i}#{i}" for i in range(count))

    def split(self, queues: Sequence[MessageQueue], clients: Sequence[str]) -> dict[str, list[MessageQueue]]:
        """What each client gets, each asked through a strategy of its own."""
        return {client: self.make().allocate(self.group, client, queues, clients) for client in clients}

    def test_has_a_wire_name(self) -> None:
        """`wire_name` is a text."""
        name = self.make().wire_name
        assert isinstance(name, str)
        assert name

    def test_gives_only_queues_that_exist_and_none_twice_to_a_member(self) -> None:
        """A member's list is free of doubles and of strangers' queues."""
        for queues, clients in self.shapes():
            for got in self.split(queues, clients).values():
                assert set(got) <= set(queues)
                assert len(set(got)) == len(got)

    def test_every_queue_has_one_owner(self) -> None:
        """Nothing is left out, nothing is consumed by two, but for what the attributes allow."""
        for queues, clients in self.shapes():
            self.check(queues, self.split(queues, clients))

    def check(self, queues: Sequence[MessageQueue], split: Mapping[str, Sequence[MessageQueue]]) -> None:
        """Fails where a queue has no owner, or several, and the attributes do not allow it."""
        owners = Counter(queue for got in split.values() for queue in got)
        if self.exclusive:
            assert [queue for queue, count in owners.items() if count > 1] == []
        if self.covers_all:
            assert sorted(owners) == queues

    def test_the_same_question_has_the_same_answer(self) -> None:
        """One strategy asked twice, and another configured alike, agree."""
        for queues, clients in self.shapes():
            one, other = self.make(), self.make()
            for client in clients:
                first = one.allocate(self.group, client, queues, clients)
                assert one.allocate(self.group, client, queues, clients) == first
                assert other.allocate(self.group, client, queues, clients) == first

    def test_earlier_questions_leave_no_trace(self) -> None:
        """Members come and go; what was asked before does not matter."""
        used = self.make()
        for queues, clients in self.shapes():
            for client in clients:
                fresh = self.make().allocate(self.group, client, queues, clients)
                assert used.allocate(self.group, client, queues, clients) == fresh

    def test_a_stranger_gets_nothing(self) -> None:
        """A client id that is not among the clients."""
        for queues, clients in self.shapes():
            assert self.make().allocate(self.group, f"{clients[0]}-stranger", queues, clients) == []

    def test_the_arguments_stay_as_they_are(self) -> None:
        """The lists belong to the caller."""
        for queues, clients in self.shapes():
            queues_before, clients_before = list(queues), list(clients)
            got = self.make().allocate(self.group, clients[0], queues, clients)
            got.clear()
            assert queues == queues_before
            assert clients == clients_before

    def test_members_that_looked_agree(self) -> None:
        """Each member looks by itself before each round; once all have seen the same they agree."""
        for queues, clients in self.shapes():
            lags = {queue: 977 * place % 50_000 for place, queue in enumerate(queues)}
            members = asyncio.run(self.looked(queues, clients, SharedView(ManualClock(), lags, 2)))
            self.check(queues, self.asked(members, queues, clients))

    def test_who_can_look_at_nothing_decides_all_the_same(self) -> None:
        """No name server and no broker answers: `prepare` may raise an `MqframeError`; nothing is lost."""
        for queues, clients in self.shapes():
            shared = SharedView(ManualClock(), dict.fromkeys(queues, 5))
            shared.all_away({queue.broker_name for queue in queues})
            members = asyncio.run(self.looked(queues, clients, shared))
            self.check(queues, self.asked(members, queues, clients))

    def asked(
        self,
        members: Mapping[str, AllocationStrategy],
        queues: Sequence[MessageQueue],
        clients: Sequence[str],
    ) -> dict[str, list[MessageQueue]]:
        """What each of `members` says of itself."""
        return {
            client: strategy.allocate(self.group, client, queues, clients)
            for client, strategy in members.items()
        }

    async def looked(
        self, queues: Sequence[MessageQueue], clients: Sequence[str], shared: SharedView
    ) -> dict[str, AllocationStrategy]:
        """The strategies of all members after `rounds` rounds; lags are others each time that one looks."""
        members = {client: self.make() for client in clients}
        ports = {client: shared.port(client) for client in clients}
        for _ in range(self.rounds):
            for client, strategy in members.items():
                with suppress(MqframeError):
                    await strategy.prepare(ports[client], self.group, queues[0].topic, queues, clients)
                # Whoever looks next sees other lags.
                shared.lags = {queue: (3 * lag + 77) % 50_000 for queue, lag in shared.lags.items()}
            assert isinstance(shared.clock, ManualClock)
            await shared.clock.aadvance(20.0)
        return members
