"""The suite of allocation strategies: a good one passes, each faulty one is caught by its check."""

from __future__ import annotations

from typing import ClassVar

import pytest
from faults import caught_by
from mqframe_testing.conformance import AllocationConformance

from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import AllocationStrategy

STRANGER = MessageQueue("nowhere", "broker-z", 0)


class Turns(AllocationStrategy):
    """Deals the queues out in turns."""

    wire_name = "TURNS"

    def allocate(self, group, client_id, queues, clients):
        if client_id not in clients:
            return []
        return list(queues[clients.index(client_id) :: len(clients)])


class TestAllocation(AllocationConformance):
    def make(self) -> AllocationStrategy:
        return Turns()


class Nameless(Turns):
    wire_name = ""


class Inventive(Turns):
    """Gives out a queue that does not exist."""

    def allocate(self, group, client_id, queues, clients):
        given = super().allocate(group, client_id, queues, clients)
        return [*given, STRANGER] if clients[:1] == [client_id] else given


class Doubling(Turns):
    """Names each queue twice."""

    def allocate(self, group, client_id, queues, clients):
        return super().allocate(group, client_id, queues, clients) * 2


class Greedy(Turns):
    """Gives everything to every member."""

    def allocate(self, group, client_id, queues, clients):
        return list(queues) if client_id in clients else []


class Stingy(Turns):
    """Leaves the last queue out."""

    def allocate(self, group, client_id, queues, clients):
        return super().allocate(group, client_id, queues[:-1], clients)


class Moody(Turns):
    """Answers depend on how many strategies were made before."""

    made: ClassVar[int] = 0

    def __init__(self):
        Moody.made += 1
        self.reverse = bool(Moody.made % 2)

    def allocate(self, group, client_id, queues, clients):
        given = super().allocate(group, client_id, queues, clients)
        return given[::-1] if self.reverse else given


class Remembering(Turns):
    """Prefers the first members that it was ever asked about."""

    def __init__(self):
        self.known = None

    def allocate(self, group, client_id, queues, clients):
        self.known = self.known or len(clients)
        given = super().allocate(group, client_id, queues, clients)
        return given[::-1] if self.known != len(clients) else given


class Hospitable(Turns):
    """Has something for strangers."""

    def allocate(self, group, client_id, queues, clients):
        return super().allocate(group, client_id if client_id in clients else clients[0], queues, clients)


class Reversing(Turns):
    """Turns its argument around."""

    def allocate(self, group, client_id, queues, clients):
        given = super().allocate(group, client_id, queues, clients)
        clients.sort(reverse=True)
        return given


class Lending(Turns):
    """Hands out the list that it was handed, where there is one member."""

    def allocate(self, group, client_id, queues, clients):
        if list(clients) == [client_id]:
            return queues
        return super().allocate(group, client_id, queues, clients)


class Separate(Turns):
    """Each member looks at the lags of its own moment."""

    def __init__(self):
        self.first = 0

    async def prepare(self, port, group, topic, queues, clients):
        self.first = sum((await port.lags(topic)).values())

    def allocate(self, group, client_id, queues, clients):
        turn = self.first % len(clients)
        return super().allocate(group, client_id, queues, [*clients[turn:], *clients[:turn]])


class Helpless(Turns):
    """Gives nothing before it has seen something."""

    def __init__(self):
        self.blind = False

    async def prepare(self, port, group, topic, queues, clients):
        self.blind = True
        await port.notes("anything")
        self.blind = False

    def allocate(self, group, client_id, queues, clients):
        return [] if self.blind else super().allocate(group, client_id, queues, clients)


@pytest.mark.parametrize(
    ("faulty", "check"),
    [
        (Nameless, "test_has_a_wire_name"),
        (Inventive, "test_gives_only_queues_that_exist_and_none_twice_to_a_member"),
        (Doubling, "test_gives_only_queues_that_exist_and_none_twice_to_a_member"),
        (Greedy, "test_every_queue_has_one_owner"),
        (Stingy, "test_every_queue_has_one_owner"),
        (Moody, "test_the_same_question_has_the_same_answer"),
        (Remembering, "test_earlier_questions_leave_no_trace"),
        (Hospitable, "test_a_stranger_gets_nothing"),
        (Reversing, "test_the_arguments_stay_as_they_are"),
        (Lending, "test_the_arguments_stay_as_they_are"),
        (Separate, "test_members_that_looked_agree"),
        (Helpless, "test_who_can_look_at_nothing_decides_all_the_same"),
    ],
)
def test_a_faulty_strategy_is_caught(faulty: type[AllocationStrategy], check: str) -> None:
    class Suite(AllocationConformance):
        def make(self) -> AllocationStrategy:
            return faulty()

    assert check in caught_by(Suite)


@pytest.mark.parametrize(
    ("strategy", "permission"), [(Greedy, {"exclusive": False}), (Stingy, {"covers_all": False})]
)
def test_what_a_strategy_does_on_purpose_can_be_permitted(
    strategy: type[AllocationStrategy], permission: dict[str, bool]
) -> None:
    class Suite(AllocationConformance):
        def make(self) -> AllocationStrategy:
            return strategy()

    for name, value in permission.items():
        setattr(Suite, name, value)
    assert caught_by(Suite) == []


def test_the_questions_have_fewer_as_many_and_more_queues_than_clients() -> None:
    suite = AllocationConformance()
    shapes = list(suite.shapes())
    assert {(len(queues) > len(clients)) - (len(queues) < len(clients)) for queues, clients in shapes} == {
        -1, 0, 1,
    }  # fmt: skip
    for queues, clients in shapes:
        assert queues == sorted(set(queues))
        assert clients == sorted(set(clients))
