"""What an allocation strategy would change in a group: who owns which queue now, and who would then.

Pure: members and what they hold are handed in. All members are asked as each of them would ask itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import attrs

from mqframe.core.consuming.rebalance import Allocate, my_queues
from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue


@attrs.frozen
class QueuePlan:
    """One queue. `now` and `then`: the client ids of its owners, sorted; one each where all is well.

    `known`: whether `now` can be relied on; where a member does not say what it holds, a queue without an
    owner may be its.
    """

    queue: MessageQueue
    now: tuple[str, ...]
    then: tuple[str, ...]
    known: bool = True

    @property
    def moves(self) -> bool | None:
        """Whether it has other owners then; `None`: nobody can tell."""
        return self.now != self.then if self.known else None


@attrs.frozen
class TopicPlan:
    """The queues of one topic, sorted. `basis`: what the strategy says that its split rests on besides."""

    topic: str
    queues: tuple[QueuePlan, ...]
    basis: str = ""


@attrs.frozen(kw_only=True)
class AllocationPlan:
    """What would be if all members of `group` had the allocation strategy `strategy`.

    `now` and `then`: client ids of the members, sorted; `silent`: why a member did not say what it holds;
    `topics`: by name; `problems`: what is wrong now, and what would be, one line each; `conflicts`: those of
    them that the strategy would cause.
    """

    group: str
    strategy: str
    now: tuple[str, ...]
    then: tuple[str, ...]
    silent: Mapping[str, str]
    topics: tuple[TopicPlan, ...]
    problems: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()

    @property
    def queues(self) -> tuple[QueuePlan, ...]:
        """The queues of all topics."""
        return tuple(queue for topic in self.topics for queue in topic.queues)

    @property
    def moved(self) -> int:
        """How many queues would move, of those of which it is known."""
        return sum(queue.moves is True for queue in self.queues)

    @property
    def unknown(self) -> int:
        """How many queues may be held by members that do not say so."""
        return sum(queue.moves is None for queue in self.queues)

    @property
    def before(self) -> dict[str, int | None]:
        """How many queues each member has now; `None` where it does not say."""
        counts = _counts(self.now, (queue.now for queue in self.queues))
        return {client: None if client in self.silent else count for client, count in counts.items()}

    @property
    def after(self) -> dict[str, int]:
        """How many queues each member would have."""
        return _counts(self.then, (queue.then for queue in self.queues))


def plan_topic(
    allocate: Allocate,
    strategy: str,
    group: str,
    topic: str,
    queues: Iterable[MessageQueue],
    members: Collection[str],
    held: Mapping[str, Collection[MessageQueue]],
    *,
    all_answered: bool = True,
) -> TopicPlan:
    """Ask for each of `members`; `held`: what each member that says so has now.

    A queue that is not among `queues` is there, too, when somebody holds it or would get it. Raises
    `FixError` when the strategy fails; it names `strategy`, the topic and the member.
    """
    all_queues = sorted(set(queues))
    then: dict[MessageQueue, list[str]] = {queue: [] for queue in all_queues}
    for client in sorted(set(members)):
        try:
            given = my_queues(allocate, group, client, all_queues, members)
        except Exception as problem:  # isolation boundary: a strategy is foreign code
            raise FixError(
                f"allocation strategy {strategy} fails for topic {topic}, member {client}: "
                f"{type(problem).__name__}: {problem}"
            ) from problem
        for queue in given:
            then.setdefault(queue, []).append(client)
    now: dict[MessageQueue, list[str]] = {}
    for client, has in sorted(held.items()):
        for queue in has:
            if queue.topic == topic:
                now.setdefault(queue, []).append(client)
    return TopicPlan(
        topic,
        tuple(
            QueuePlan(
                queue,
                tuple(now.get(queue, ())),
                tuple(then.get(queue, ())),
                known=all_answered or queue in now,
            )
            for queue in sorted(then.keys() | now.keys())
        ),
    )


def conflicts(plan: TopicPlan, strategy: str, queues: Collection[MessageQueue]) -> Iterator[str]:
    """What is wrong with the split of `strategy`; `queues`: those that the topic has."""
    for each in plan.queues:
        if each.queue not in queues:
            if each.then:
                yield f"{strategy} gives {named(each.queue)}, which does not exist, to {', '.join(each.then)}"
        elif not each.then:
            yield f"nobody would own {named(each.queue)} by {strategy}"
        elif len(each.then) > 1:
            yield f"{', '.join(each.then)} would all own {named(each.queue)} by {strategy}"


def faults_of_now(plan: TopicPlan) -> Iterator[str]:
    """What is not as it should be now; while queues move it is so for a moment."""
    for each in plan.queues:
        if not each.now and each.known:
            yield f"nobody owns {named(each.queue)} now"
        elif len(each.now) > 1:
            yield f"{', '.join(each.now)} all own {named(each.queue)} now"


def named(queue: MessageQueue) -> str:
    """A queue for people to read."""
    return f"{queue.topic}/{queue.broker_name}/{queue.queue_id}"


def _counts(clients: Sequence[str], owners: Iterable[tuple[str, ...]]) -> dict[str, int]:
    counts = dict.fromkeys(clients, 0)
    for each in owners:
        for client in each:
            counts[client] = counts.get(client, 0) + 1
    return counts
