"""A member of a consumer group: what is to be done when it joins, leaves, and hears of a change.

    state     event                 then      to be done
    NEW       join                  JOINED    the steps of `JOINING` that its kind has, in this order
    JOINED    subscriptions         -         heartbeat, rebalance; without listeners: queues given up at once
    JOINED    members, routes       -         rebalance; routes: the retry topic's is looked for besides
    JOINED    subscription unknown  -         heartbeat, unless one is under way
    JOINED    connection lost       -         the lock of the queue is doubted
    JOINED    locks lost            -         the queues are given up without a commit, rebalance
    JOINED    queues assigned       -         others are given up, new ones are pulled
    JOINED    offsets reset         -         a seek in each assigned queue, then the offsets are saved
    any       leave                 LEFT      the steps of `LEAVING` that undo what was begun
    LEFT      anything              -         nothing

One heartbeat is under way at a time. A change of subscriptions meanwhile causes another one, since the first
may have left without it; a broker that does not know the member learns of it by the one under way.
Sources: DefaultMQPushConsumerImpl, DefaultLitePullConsumerImpl, RebalanceImpl (lockAll),
MQClientInstance.resetOffset.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import Final, NamedTuple

import attrs

from mqframe.core.consuming.flow_control import wants_heartbeat
from mqframe.core.errors import ConnectionLost
from mqframe.core.messages.message import MessageQueue


class Do(Enum):
    """One thing that is to be done."""

    # joining
    LOAD_OFFSETS = "load_offsets"
    LOOK_UP_TOPICS = "look_up_topics"
    CHECK_FILTERS = "check_filters"
    REGISTER = "register"
    READ_GROUP_CONFIG = "read_group_config"
    START_LISTENERS = "start_listeners"
    START_TIMERS = "start_timers"
    ATTACH_HOOKS = "attach_hooks"
    SERVE_OPERATORS = "serve_operators"
    START_REBALANCE = "start_rebalance"
    # while joined
    FIND_RETRY_ROUTE = "find_retry_route"
    HEARTBEAT = "heartbeat"
    ANNOUNCE = "announce"
    """Look up the topics, heartbeat, then rebalance."""
    REBALANCE = "rebalance"
    ASSIGN = "assign"
    GIVE_UP = "give_up"
    """Commit and let go of the queues."""
    FORGET = "forget"
    """Let go of the queues without a commit."""
    DOUBT_LOCK = "doubt_lock"
    SEEK = "seek"
    SAVE_OFFSETS = "save_offsets"
    # leaving
    STOP_SERVING_OPERATORS = "stop_serving_operators"
    STOP_RETRY_ROUTE = "stop_retry_route"
    STOP_REBALANCE = "stop_rebalance"
    STOP_PULLS = "stop_pulls"
    STOP_LISTENERS = "stop_listeners"
    STOP_TIMERS = "stop_timers"
    GIVE_UP_ALL = "give_up_all"
    DETACH_HOOKS = "detach_hooks"
    STOP_HEARTBEATS = "stop_heartbeats"
    UNREGISTER = "unregister"
    CLOSE_OFFSETS = "close_offsets"


class QueueAction(NamedTuple):
    """Something to be done with `queues`; `offset`: where a seek goes to."""

    do: Do
    queues: tuple[MessageQueue, ...] = ()
    offset: int = 0


@attrs.frozen(kw_only=True)
class MemberKind:
    """What a member does. `rebalances`: its queues come by rebalances, else the application assigns them;
    `listens`: listeners are called; `ordered`: in the order of queues, under locks; `retries`: failed
    messages come back by the retry topic."""

    rebalances: bool = True
    listens: bool = False
    ordered: bool = False
    retries: bool = False


class _State(Enum):
    NEW = "new"
    JOINED = "joined"
    LEFT = "left"


class _Heartbeat(Enum):
    NONE = "none"
    UNDER_WAY = "under way"
    AGAIN = "again"


JOINING: Final[tuple[tuple[Do, str], ...]] = (
    (Do.LOAD_OFFSETS, ""),
    (Do.LOOK_UP_TOPICS, ""),
    (Do.CHECK_FILTERS, "rebalances"),
    (Do.SERVE_OPERATORS, ""),  # whoever finds it in its group can ask it
    (Do.REGISTER, ""),
    (Do.READ_GROUP_CONFIG, "ordered"),
    (Do.START_LISTENERS, "listens"),
    (Do.START_TIMERS, "listens"),
    (Do.ATTACH_HOOKS, ""),
    (Do.START_REBALANCE, "rebalances"),
    (Do.FIND_RETRY_ROUTE, "retries"),
)
"""The steps of joining in their order, each with the trait that a member needs for it."""
LEAVING: Final[tuple[tuple[Do, Do], ...]] = (
    (Do.STOP_SERVING_OPERATORS, Do.SERVE_OPERATORS),
    (Do.STOP_RETRY_ROUTE, Do.FIND_RETRY_ROUTE),
    (Do.STOP_REBALANCE, Do.START_REBALANCE),
    (Do.STOP_PULLS, Do.REGISTER),
    (Do.STOP_LISTENERS, Do.START_LISTENERS),
    (Do.STOP_TIMERS, Do.START_TIMERS),
    (Do.GIVE_UP_ALL, Do.REGISTER),
    (Do.DETACH_HOOKS, Do.ATTACH_HOOKS),
    (Do.STOP_HEARTBEATS, Do.REGISTER),
    (Do.UNREGISTER, Do.REGISTER),
    (Do.CLOSE_OFFSETS, Do.LOAD_OFFSETS),
)
"""The steps of leaving in their order, each with the step of joining after which it is needed."""


class GroupMember:
    """The state machine. Every event returns what is to be done, in this order."""

    __slots__ = ("_begun", "_heartbeat", "_kind", "_state")

    def __init__(self, kind: MemberKind) -> None:
        self._kind = kind
        self._state = _State.NEW
        self._begun: set[Do] = set()
        self._heartbeat = _Heartbeat.NONE

    @property
    def joined(self) -> bool:
        """Whether the member joins or has joined, and has not left."""
        return self._state is _State.JOINED

    def join(self) -> Iterator[Do]:
        """The steps of joining; each counts as begun when it is returned, and is undone by `leave`."""
        if self._state is _State.NEW:
            self._state = _State.JOINED
            for do, trait in JOINING:
                if self.joined and (not trait or getattr(self._kind, trait)):
                    self._begun.add(do)
                    yield do

    def leave(self) -> tuple[Do, ...]:
        """The steps of leaving: what undoes that which was begun. Nothing the second time."""
        left = self._state is _State.LEFT
        self._state = _State.LEFT
        return () if left else tuple(do for do, begun in LEAVING if begun in self._begun)

    # Heartbeats

    def heartbeat_ended(self) -> tuple[QueueAction, ...]:
        """The heartbeat that was under way has reached all brokers, or failed."""
        again = self._heartbeat is _Heartbeat.AGAIN
        self._heartbeat = _Heartbeat.NONE
        return self._beat() if again else ()

    def subscription_unknown(self) -> tuple[QueueAction, ...]:
        """A broker does not know the member or its subscriptions (any more)."""
        return self._beat() if self._heartbeat is _Heartbeat.NONE else ()

    def pull_failed(self, queue: MessageQueue, problem: Exception) -> tuple[QueueAction, ...]:
        """A pull of `queue` raised `problem`."""
        if wants_heartbeat(problem):
            return self.subscription_unknown()
        if isinstance(problem, ConnectionLost) and self._kind.ordered and self.joined:
            return (QueueAction(Do.DOUBT_LOCK, (queue,)),)
        return ()

    # Queues

    def subscriptions_changed(
        self, owned: Iterable[MessageQueue], topics: Collection[str]
    ) -> tuple[QueueAction, ...]:
        """The subscribed topics are `topics` now, or the filter of one changed; `owned`: queues that we have.

        Where listeners are called the rebalance gives queues up, after what was consumed was collected.
        """
        if not self.joined:
            return ()
        if self._kind.listens:
            return (*self._beat(), QueueAction(Do.REBALANCE))
        gone = tuple(queue for queue in owned if queue.topic not in topics)
        announce = (QueueAction(Do.ANNOUNCE),)
        return (QueueAction(Do.GIVE_UP, gone), *announce) if gone else announce

    def members_changed(self) -> tuple[QueueAction, ...]:
        """Members came or went."""
        return (QueueAction(Do.REBALANCE),) if self.joined and self._kind.rebalances else ()

    def routes_changed(self) -> tuple[QueueAction, ...]:
        """Queues or brokers of a topic in use changed."""
        found = self.members_changed()
        return (*found, QueueAction(Do.FIND_RETRY_ROUTE)) if self.joined and self._kind.retries else found

    def queues_assigned(
        self, owned: Collection[MessageQueue], queues: Collection[MessageQueue]
    ) -> tuple[QueueAction, ...]:
        """The application assigned exactly `queues`; `owned`: those that were assigned before."""
        if not self.joined:
            return ()
        gone = tuple(sorted(set(owned).difference(queues)))
        new = tuple(sorted(set(queues).difference(owned)))
        actions = ((Do.GIVE_UP, gone), (Do.ASSIGN, new))
        return tuple(QueueAction(do, which) for do, which in actions if which)

    def locks_lost(self, queues: Iterable[MessageQueue]) -> tuple[QueueAction, ...]:
        """Another member has the lock of `queues`; how far the group is in them is for that one to say."""
        if not self.joined:
            return ()
        return QueueAction(Do.FORGET, tuple(queues)), QueueAction(Do.REBALANCE)

    def offsets_reset(
        self, owned: Iterable[MessageQueue], topic: str, offsets: Mapping[MessageQueue, int]
    ) -> tuple[QueueAction, ...]:
        """An operator set `offsets` of queues of `topic`; `owned`: queues that we have."""
        mine = [queue for queue in owned if queue.topic == topic and queue in offsets]
        if not (mine and self.joined):
            return ()
        seeks = (QueueAction(Do.SEEK, (queue,), offsets[queue]) for queue in mine)
        return (*seeks, QueueAction(Do.SAVE_OFFSETS))

    def _beat(self) -> tuple[QueueAction, ...]:
        if not self.joined:
            return ()
        if self._heartbeat is _Heartbeat.NONE:
            self._heartbeat = _Heartbeat.UNDER_WAY
            return (QueueAction(Do.HEARTBEAT),)
        self._heartbeat = _Heartbeat.AGAIN
        return ()
