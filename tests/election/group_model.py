"""Electors of a group, the engine and their logs, in a time that a test moves.

Calls take `DELAY_SECONDS` each way, unless their member is cut off from the engine, stands still or ends.
What has to hold whatever happens is asserted after each event.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Literal

from attrs import define, field
from election.state_tables import Checker
from mqframe_election.rules import actions, events
from mqframe_election.rules.elector import Elector
from mqframe_election.rules.group import GroupState, GroupView, LeaderNote, ReplicaNote
from mqframe_election.rules.limits import ElectionLimits
from mqframe_election.rules.states import State
from mqframe_election.rules.sync_set import SetLimits, SyncSet

LIMITS = ElectionLimits(lease=5, renew=1.5, margin=1, patience=1, first=2, members_min=1)
SET_LIMITS = SetLimits(LIMITS.members_min, lag_seconds=2, away_seconds=1)
DELAY_SECONDS = 0.01
ANSWER_SECONDS_MAX = 1.0
COPY_SECONDS = 0.1
LEAD_SECONDS = 0.2

Fate = Literal["answered", "lost", "done", "late"]
"""Of a call: it is answered; it never gets there; it takes effect, and its answer is lost; it takes effect
when the member reaches the engine again."""
Answer = Callable[[], events.Event]


@define
class Lease:
    member: int
    seconds: float
    until: float


class Engine:
    """As `Coordination` says, by its own clock, which is the time of the test."""

    def __init__(self) -> None:
        self.state: GroupState | None = None
        self.version = 0
        self.leader: tuple[LeaderNote, int] | None = None
        self.replicas: dict[int, tuple[ReplicaNote, int]] = {}
        self.leases: dict[int, Lease] = {}
        self.changes = 0
        self._numbers = count(1)

    def expire(self, now: float) -> None:
        for number in [number for number, lease in self.leases.items() if lease.until <= now]:
            self.revoke(number)

    def grant(self, member: int, seconds: float, now: float) -> int:
        number = next(self._numbers)
        self.leases[number] = Lease(member, seconds, now + seconds)
        return number

    def revoke(self, lease: int) -> None:
        if self.leases.pop(lease, None) is not None:
            self.changes += 1
            self.step_down(lease)
            self.replicas = {n: each for n, each in self.replicas.items() if each[1] != lease}

    def renew(self, lease: int, now: float) -> bool:
        found = self.leases.get(lease)
        if found is not None:
            found.until = now + found.seconds
        return found is not None

    def read(self) -> GroupView:
        leader = None if self.leader is None else self.leader[0]
        return GroupView(self.state, self.version, leader, {n: r for n, (r, _) in self.replicas.items()}, {})

    def announce(self, lease: int, note: ReplicaNote) -> bool:
        if lease in self.leases:
            self.changes += 1
            self.replicas = {**self.replicas, note.id: (note, lease)}
        return lease in self.leases

    def claim(self, lease: int, call: actions.Claim) -> int:
        if self.leader is not None or self.version != call.version or lease not in self.leases:
            return 0
        assert self.state is None or call.state.epoch > self.state.epoch
        self.leader = call.leader, lease
        return self.write(call.state)

    def change(self, lease: int, call: actions.Change) -> int:
        leads = self.leader is not None and self.leader[1] == lease
        return self.write(call.state) if leads and self.version == call.version else 0

    def write(self, state: GroupState) -> int:
        self.state = state
        self.version += 1
        self.changes += 1
        return self.version

    def step_down(self, lease: int) -> None:
        if self.leader is not None and self.leader[1] == lease:
            self.leader = None
            self.changes += 1


@define(eq=False)
class Broker:
    """One member: its elector and its log, a list of records. `rate`: of its clock; `life`: how often it was
    started; `asked`: how many wait for an answer to a handing over, `answers`: what was answered so far."""

    number: int
    rate: float
    elector: Elector
    life: int = 0
    is_running: bool = False
    stands_until: float = 0.0
    fate: Fate = "answered"
    lease: int = 0
    seen: int = -1
    log: list[int] = field(factory=list)
    epoch: int = 0
    confirmed: int = 0
    unable: str = ""
    fails: bool = False
    members: SyncSet | None = None
    follows: LeaderNote | None = None
    connected: set[int] = field(factory=set)
    main: actions.MainAction | None = None
    beside: dict[type, int] = field(factory=dict)
    late: list[Callable[[], object]] = field(factory=list)
    takes: bool = True
    asked: int = 0
    answers: list[str] = field(factory=list)


class Group:
    """`count` brokers, whose clocks run at these `rates`. Asserts after each event:

    - at most one broker leads by its lease, and the engine's lease lives as long as it does so;
    - what was acknowledged is in the log of whoever leads;
    - one call of the main line is under way at a time, and one of each kind beside it;
    - who was stopped does nothing any more.
    """

    def __init__(self, rates: tuple[float, ...]) -> None:
        self.now = 0.0
        self.engine = Engine()
        self.checker = Checker()
        self.acknowledged: list[int] = []
        self.terms: list[tuple[int, int]] = []
        self._records = count(1)
        self._words = (f"w{number}" for number in count(1))
        self._order = count()
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self.brokers = {
            number: Broker(number, rate, self._elector(number)) for number, rate in enumerate(rates, 1)
        }
        self._later(COPY_SECONDS, self._copy)

    def _elector(self, number: int) -> Elector:
        return Elector(number, "b", LIMITS, self._words.__next__)

    # Time

    def _later(self, seconds: float, call: Callable[[], object]) -> None:
        heappush(self._queue, (self.now + seconds, next(self._order), call))

    def pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        while self._queue and self._queue[0][0] <= end:
            self.now, _, call = heappop(self._queue)
            self.engine.expire(self.now)
            call()
            self._check()
        self.now = end

    def local(self, broker: Broker) -> float:
        return 1000.0 * broker.number + self.now * broker.rate

    # What happens to a broker

    def start(self, broker: Broker) -> None:
        if not broker.is_running:
            broker.elector = self._elector(broker.number)
            broker.is_running, broker.lease, broker.seen = True, 0, -1
            self._hand(broker, events.Started())

    def kill(self, broker: Broker) -> None:
        broker.is_running, broker.life = False, broker.life + 1
        broker.main, broker.members, broker.follows = None, None, None
        broker.beside.clear()
        broker.connected.clear()
        broker.asked = 0

    def stop(self, broker: Broker) -> None:
        if broker.is_running:
            self._hand(broker, events.Stopped())
            assert self.on(broker, events.Rang()) == []
            assert broker.elector.due == inf
            if broker.fate == "answered":
                self.engine.revoke(broker.lease)
            self.kill(broker)

    def stand_still(self, broker: Broker, seconds: float) -> None:
        broker.stands_until = max(broker.stands_until, self.now + seconds)

    def reach(self, broker: Broker, fate: Fate) -> None:
        """From now on what `broker` asks of the engine is answered, or not."""
        broker.fate = fate
        if fate == "answered":
            late, broker.late = broker.late, []
            for each in late:
                self.engine.expire(self.now)
                each()

    def tell(self, broker: Broker, event: events.Event) -> None:
        if broker.is_running:
            self._when_up(broker, broker.life, lambda: self._hand(broker, event))

    # Electors

    def on(self, broker: Broker, event: events.Event) -> list[actions.Action]:
        note = ReplicaNote(
            broker.number, broker.epoch, len(broker.log), broker.confirmed, 0, True, f"s{broker.number}",
            f"h:{broker.number}", f"h:1{broker.number}", broker.unable,
        )  # fmt: skip
        moment = events.Moment(self.local(broker), note, broker.unable)
        return self.checker.on(broker.elector, event, moment)

    def _hand(self, broker: Broker, event: events.Event) -> None:
        broker.asked += isinstance(event, events.HandOver)
        for action in self.on(broker, event):
            self._do(broker, action)
        due, life = broker.elector.due, broker.life
        if due < inf:
            wait = max(0.0, (due - self.local(broker)) / broker.rate)
            self._later(wait, lambda: self._when_up(broker, life, lambda: self._due(broker, due)))

    def _due(self, broker: Broker, due: float) -> None:
        if broker.elector.due == due:
            self._hand(broker, events.Due(due))

    def _when_up(self, broker: Broker, life: int, call: Callable[[], object]) -> None:
        """`call`, once `broker` does not stand still; never in another life of it."""
        if broker.life != life:
            return
        if broker.stands_until > self.now:
            self._later(broker.stands_until - self.now, lambda: self._when_up(broker, life, call))
        else:
            call()

    def _do(self, broker: Broker, action: actions.Action) -> None:
        match action:
            case actions.EndCalls():
                broker.beside.clear()
            case actions.StopStoring():
                self._stop_leading(broker)
            case actions.StopTaking():
                broker.takes = False
            case actions.TakeAgain():
                broker.takes = True
            case actions.Answer(problem, to):
                assert broker.asked > 0, "an answer that nobody waits for"
                broker.asked -= 1
                broker.answers.append(problem or f"{to} comes next")
            case actions.LeftSet() | actions.Log() | actions.ShowTrouble():
                pass
            case actions.Renew() | actions.Report() | actions.Watch():
                line = actions.Watch if isinstance(action, actions.Watch) else actions.Renew
                assert line not in broker.beside, "two calls of one line"
                broker.beside[line] = number = next(self._order)
                self._begin(broker, action, lambda event: self._beside_done(broker, line, number, event))
            case _:
                self._do_main(broker, action)

    def _do_main(self, broker: Broker, action: actions.MainAction) -> None:
        if isinstance(action, actions.Open | actions.Leave):
            assert not broker.beside, "a lease begins, or ends, while it is used"
        if broker.elector.state is not State.STOPPED:
            assert broker.main is None, f"{action} while {broker.main} is under way"
            broker.main = action
            self._begin(broker, action, lambda event: self._main_done(broker, event))

    def _main_done(self, broker: Broker, event: events.Event) -> None:
        broker.main = None
        self._hand(broker, event)

    def _beside_done(self, broker: Broker, line: type, number: int, event: events.Event) -> None:
        if broker.beside.get(line) == number:
            del broker.beside[line]
            self._hand(broker, event)

    # Calls

    def _begin(self, broker: Broker, call: actions.Action, then: Callable[[events.Event], object]) -> None:
        life = broker.life

        def answered(event: events.Event) -> None:
            self._when_up(broker, life, lambda: then(event))

        if isinstance(call, actions.Follow):
            failed = broker.fails
            self._follow(broker, call)
            self._later(
                DELAY_SECONDS, lambda: answered(events.Failed("it fails") if failed else events.Done())
            )
        elif isinstance(call, actions.Lead):
            self._later(
                LEAD_SECONDS, lambda: self._when_up(broker, life, lambda: then(self._lead(broker, call)))
            )
        elif isinstance(call, actions.Watch):
            self._watch(broker, life, broker.lease, answered)
        else:
            self._ask(broker, call, answered)

    def _ask(self, broker: Broker, call: actions.Action, answered: Callable[[events.Event], object]) -> None:
        effect, fate = self._effect(broker, call), broker.fate
        if fate == "answered":
            self._later(DELAY_SECONDS, lambda: self._answer(effect(), answered))
            return
        if fate == "done":
            self._later(DELAY_SECONDS, effect)
        elif fate == "late":
            broker.late.append(effect)
        problem: events.Event = events.Unanswered("no answer")
        if isinstance(call, actions.Renew | actions.Report):
            problem = events.NotRenewed("no answer")
        elif isinstance(call, actions.Leave):
            problem = events.Done()
        self._later(ANSWER_SECONDS_MAX / broker.rate, lambda: answered(problem))

    def _answer(self, event: events.Event, answered: Callable[[events.Event], object]) -> None:
        self._later(DELAY_SECONDS, lambda: answered(event))

    def _effect(self, broker: Broker, call: actions.Action) -> Answer:
        engine, lease = self.engine, broker.lease
        gone = events.Unanswered("the lease is gone")
        match call:
            case actions.Open(seconds):
                return lambda: self._open(broker, seconds)
            case actions.Read():
                return lambda: self._read(broker)
            case actions.Announce(note):
                return lambda: events.Done() if engine.announce(lease, note) else gone
            case actions.Report(note):
                lost = events.NotRenewed("the lease is gone")
                return lambda: events.Reported() if engine.announce(lease, note) else lost
            case actions.Renew():
                return lambda: events.Renewed() if engine.renew(lease, self.now) else events.LeaseGone()
            case actions.Claim():
                return lambda: self._claim(broker, lease, call)
            case actions.Change():
                return lambda: _written(engine.change(lease, call))
            case actions.StepDown():
                return lambda: self._plainly(lambda: engine.step_down(lease))
            case actions.Leave():
                return lambda: self._plainly(lambda: engine.revoke(lease))
        raise AssertionError(call)

    def _plainly(self, effect: Callable[[], object]) -> events.Event:
        effect()
        return events.Done()

    def _open(self, broker: Broker, seconds: float) -> events.Event:
        self.engine.revoke(broker.lease)
        broker.lease = self.engine.grant(broker.number, seconds, self.now)
        return events.Opened(seconds)

    def _read(self, broker: Broker) -> events.Event:
        broker.seen = self.engine.changes
        return events.Saw(self.engine.read())

    def _claim(self, broker: Broker, lease: int, call: actions.Claim) -> events.Event:
        version = self.engine.claim(lease, call)
        if version:
            has = broker.log[: len(self.acknowledged)]
            assert has == self.acknowledged, f"{broker.number} leads, and lacks what was acknowledged"
        return _written(version)

    def _watch(
        self, broker: Broker, life: int, lease: int, answered: Callable[[events.Event], object]
    ) -> None:
        if broker.life != life or broker.lease != lease:
            return
        if broker.fate != "answered":
            self._later(ANSWER_SECONDS_MAX, lambda: answered(events.WatchLost()))
        elif broker.seen != self.engine.changes:
            self._later(DELAY_SECONDS, lambda: answered(events.GroupChanged()))
        else:
            self._later(5 * DELAY_SECONDS, lambda: self._watch(broker, life, lease, answered))

    # Logs

    def _lead(self, broker: Broker, call: actions.Lead) -> events.Event:
        if broker.fails:
            return events.Failed("it fails")
        state = call.term.state
        self.terms.append((state.epoch, broker.number))
        broker.epoch, broker.follows, broker.takes = state.epoch, None, True
        broker.members = SyncSet(state, call.term.version, len(broker.log), SET_LIMITS, self.local(broker))
        return events.Led(broker.members)

    def _follow(self, broker: Broker, call: actions.Follow) -> None:
        self._stop_leading(broker)
        for each in self.brokers.values():
            if broker.number in each.connected and (call.leader is None or each.number != call.leader.id):
                self._disconnect(each, broker)
        broker.follows = call.leader

    def _stop_leading(self, broker: Broker) -> None:
        broker.members = None
        broker.connected.clear()

    def _disconnect(self, leader: Broker, follower: Broker) -> None:
        leader.connected.discard(follower.number)
        if leader.members is not None:
            leader.members.left(follower.number, self.local(leader))

    def _copy(self) -> None:
        """A message comes to each leader, and its log to who follows it; what all have is acknowledged."""
        for leader in self.brokers.values():
            if leader.members is not None and leader.is_running and leader.stands_until <= self.now:
                self._serve(leader, leader.members)
        self._later(COPY_SECONDS, self._copy)

    def _serve(self, leader: Broker, members: SyncSet) -> None:
        now = self.local(leader)
        if self.leads(leader) and members.has_enough and leader.takes and not leader.unable:
            leader.log.append(next(self._records))
        for follower in self.brokers.values():
            if not self._reads(follower, leader):
                if follower.number in leader.connected:
                    self._disconnect(leader, follower)
                continue
            if follower.number not in leader.connected:
                leader.connected.add(follower.number)
                members.joined(follower.number, now, is_clean=True)
            follower.log, follower.epoch = list(leader.log), leader.epoch
            follower.confirmed = leader.confirmed
            members.acknowledged(follower.number, len(leader.log), len(leader.log), now)
        end = min(len(leader.log), members.least)
        if self.leads(leader) and end > leader.confirmed:
            leader.confirmed = members.counted_on = end
        if self.leads(leader):
            self._acknowledge(leader.log[: leader.confirmed])
        members.confirm(leader.confirmed)
        if members.pending is not None or members.wanted(len(leader.log), now) is not None:
            self._hand(leader, events.Rang())

    def _reads(self, follower: Broker, leader: Broker) -> bool:
        followed = follower.follows
        is_up = follower.is_running and follower.stands_until <= self.now and not follower.unable
        return (
            is_up and followed is not None and (followed.id, followed.epoch) == (leader.number, leader.epoch)
        )

    def _acknowledge(self, records: list[int]) -> None:
        shorter = min(len(records), len(self.acknowledged))
        assert records[:shorter] == self.acknowledged[:shorter], "two leaders have acknowledged"
        if len(records) > shorter:
            self.acknowledged = records

    # What has to hold

    def leads(self, broker: Broker) -> bool:
        """Whether `broker` is sure to lead, as it believes."""
        term = broker.elector.term
        return (
            broker.is_running
            and broker.members is not None
            and term is not None
            and term.lease.is_trusted(self.local(broker))
        )

    def leaders(self) -> list[Broker]:
        return [broker for broker in self.brokers.values() if self.leads(broker)]

    def _check(self) -> None:
        sure = self.leaders()
        assert len(sure) <= 1, f"{[broker.number for broker in sure]} lead at {self.now}"
        for broker in sure:
            assert broker.lease in self.engine.leases, f"{broker.number} outlives its lease at {self.now}"


def _written(version: int) -> events.Event:
    return events.Accepted(version) if version else events.Declined()
