"""Runs an `Elector`: what it decides is done with the engine and the broker, and how that ended is told it.

No decisions are made here. The calls of the main line are made by `run`, one after the other; the renewal of
the lease and the watch are tasks beside it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from math import inf
from typing import Final, Protocol, assert_never

from mqframe.core.clock import Timer
from mqframe.core.errors import CoordinationError, FixError, MqframeError
from mqframe.hooks.interfaces.coordination import Coordination, GroupPlace
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock
from mqframe.trouble import Trouble
from mqframe_election.rules import actions, events
from mqframe_election.rules.claiming import forcing
from mqframe_election.rules.elector import Elector
from mqframe_election.rules.group import (
    GroupState,
    GroupView,
    LeaderNote,
    ReplicaNote,
    decode_view,
    encode_note,
)
from mqframe_election.rules.limits import ElectionLimits
from mqframe_election.rules.sync_set import SyncSet
from mqframe_election.rules.term import LeaderTerm

log = get_logger("replication")
_LEVELS: Final = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class ReplicaRole(Protocol):
    """What a broker does when it, or another one, leads. Calls come one at a time, and are waited for."""

    def note(self, ready: int) -> ReplicaNote:
        """What it says of itself; `ready`: up to which epoch it follows nobody any more."""

    def unable_now(self) -> str:
        """Why it cannot store at the moment, a sentence; empty: it can."""

    async def lead(self, term: LeaderTerm) -> SyncSet:
        """Lead. Returns once the log is open for it; the set to look after. Raises what prevents it."""

    async def follow(self, leader: LeaderNote | None, epoch: int) -> None:
        """Follow `leader`, who leads in `epoch`; `None`: nobody for now, and acknowledge nothing."""

    def take_messages(self, heir: int) -> None:
        """Take none from now on, for the broker `heir` is to lead next; 0: take them again."""

    def stop_storing(self) -> None:
        """Its term is over: store, acknowledge and confirm nothing more, from now on."""

    def left_set(self) -> None:
        """The recorded set is without this broker: nobody counts on what it acknowledged."""


class ElectionService:
    """Runs until it is cancelled. `place`: the group, and which of it `replica` is."""

    def __init__(
        self,
        coordination: Coordination,
        place: GroupPlace,
        replica: ReplicaRole,
        clock: LoopClock,
        limits: ElectionLimits,
    ) -> None:
        self._coordination = coordination
        self._place = place
        self._replica = replica
        self._clock = clock
        self._elector = Elector(place.member, place.broker, limits, lambda: secrets.token_hex(8))
        self._calls: asyncio.Queue[actions.MainAction] = asyncio.Queue()
        self._beside: set[asyncio.Future[None]] = set()
        self._timer: Timer | None = None
        self._due = inf
        self._trouble = Trouble(log, clock.monotonic, level=logging.ERROR)
        self._handed: asyncio.Future[int] | None = None

    # What the broker is told

    @property
    def trouble(self) -> str:
        """Why the group cannot be looked after at the moment; empty normally."""
        return self._elector.trouble

    @property
    def seen(self) -> GroupState | None:
        """What the engine held last."""
        return None if self._elector.view is None else self._elector.view.state

    @property
    def brokers(self) -> dict[int, str]:
        """As of `GroupView`; empty before the engine was read."""
        return {} if self._elector.view is None else self._elector.view.brokers

    # What the broker tells

    def ring(self) -> None:
        """Look at the group soon: acknowledgements, or connections, changed what the set should be."""
        self._hand(events.Rang())

    def resign(self, problem: MqframeError) -> None:
        """Leave, and begin anew: this broker cannot go on as what it is."""
        self._hand(events.Resigned(str(problem)))

    async def force(self, *, accept_loss: bool) -> GroupState:
        """Have this broker lead with what it has, upon an operator's word. The state before that.

        Without `accept_loss` nothing is changed. Raises `FixError` where that is not needed, and
        `CoordinationError`.
        """
        view = await self._read()
        self._hand(events.Looked(view))
        before, after = forcing(self._place.member, view, self._replica.note(0))
        if accept_loss:
            log.warning("an operator forces an election", note=after.note)
            if not await self._coordination.force(self._place, encode_note(after), view.version):
                raise CoordinationError("the group has changed meanwhile; look again", maybe_stored=False)
            self._replica.left_set()
            self.ring()
        return before

    async def hand_over(self, to: int, seconds: float) -> int:
        """Give up the lead for the broker `to`, 0: any other in sync, within `seconds`; who is to lead next.

        Raises `FixError` where it stays with this broker, which says why.
        """
        if self._handed is not None:
            raise FixError("this broker hands over its lead already; look who leads, and ask again")
        asked: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._handed = asked
        try:
            self._hand(events.HandOver(to, seconds))
            return await asked
        finally:
            self._handed = None

    # The main line

    async def run(self) -> None:
        """Take part in elections until cancelled; the engine is told that the broker leaves."""
        try:
            self._hand(events.Started())
            while True:
                await self._make(await self._calls.get())
        finally:
            while not self._calls.empty():
                self._calls.get_nowait()
            self._hand(events.Stopped())
            self._answer(actions.Answer("this broker stops"))
            while not self._calls.empty():
                await self._call(self._calls.get_nowait())

    async def _make(self, call: actions.MainAction) -> None:
        try:
            self._hand(await self._call(call))
        except MqframeError as problem:
            self._hand(events.Failed(str(problem)))
        except Exception as problem:  # isolation boundary: this broker is to take part again
            log.exception("elections failed")
            self._hand(events.Failed(repr(problem)))

    async def _call(self, call: actions.MainAction) -> events.Event:
        """How `call` ended. Raises what stands in its way, but for an engine that does not answer."""
        try:
            if isinstance(call, actions.Lead):
                return events.Led(await self._replica.lead(call.term))
            if isinstance(call, actions.Follow):
                await self._replica.follow(call.leader, call.epoch)
                return events.Done()
            return await self._ask(call)
        except CoordinationError as problem:
            return events.Unanswered(str(problem))

    async def _ask(self, call: actions.EngineCall) -> events.Event:
        engine = self._coordination
        match call:
            case actions.Open(seconds):
                return events.Opened(await engine.start(self._place, seconds))
            case actions.Read():
                return events.Saw(await self._read())
            case actions.Announce(note):
                await engine.announce(encode_note(note))
            case actions.Claim(state, leader, version):
                return _written(await engine.claim(encode_note(state), encode_note(leader), version))
            case actions.Change(state, version):
                return _written(await engine.change(encode_note(state), version))
            case actions.StepDown():
                await engine.step_down()
            case actions.Leave():
                await self._leave()
            case _:
                assert_never(call)
        return events.Done()

    async def _read(self) -> GroupView:
        return decode_view(*await self._coordination.read())

    async def _leave(self) -> None:
        try:
            await self._coordination.step_down()
            await self._coordination.stop()
        except CoordinationError as problem:
            log.warning("the engine was not told that this broker leaves", problem=str(problem))

    # The lines beside it

    async def _make_beside(self, call: actions.SideAction) -> None:
        try:
            self._hand(await self._ask_beside(call))
        except CoordinationError as problem:
            self._hand(_not_done(call, str(problem)))
        except Exception as problem:  # isolation boundary: this line goes on
            log.exception("elections failed")
            self._hand(_not_done(call, repr(problem)))

    async def _ask_beside(self, call: actions.SideAction) -> events.Event:
        engine = self._coordination
        match call:
            case actions.Renew():
                return events.Renewed() if await engine.renew() else events.LeaseGone()
            case actions.Report(note):
                await engine.announce(encode_note(note))
                return events.Reported()
            case actions.Watch():
                await engine.changed()
                return events.GroupChanged()
            case _:
                assert_never(call)

    # What the elector is told, and says

    def _hand(self, event: events.Event) -> None:
        """Tell the elector of `event`, and do what follows. Raises what the broker cannot do at once."""
        replica = self._replica
        moment = events.Moment(self._clock.monotonic(), replica.note(0), replica.unable_now())
        decided = self._elector.on(event, moment)
        self._set_timer()
        for action in decided:
            self._do(action)

    def _do(self, action: actions.Action) -> None:
        match action:
            case actions.EndCalls():
                for each in self._beside:
                    each.cancel()
            case actions.StopStoring():
                self._replica.stop_storing()
            case actions.StopTaking(to):
                self._replica.take_messages(to)
            case actions.TakeAgain():
                self._replica.take_messages(0)
            case actions.Answer():
                self._answer(action)
            case actions.LeftSet():
                self._replica.left_set()
            case actions.Log(level, event, values):
                log.log(_LEVELS[level], event, **values)
            case actions.ShowTrouble(problem):
                self._show(problem)
            case actions.Renew() | actions.Report() | actions.Watch():
                task = asyncio.ensure_future(self._make_beside(action))
                self._beside.add(task)
                task.add_done_callback(self._beside.discard)
            case _:
                self._calls.put_nowait(action)

    def _answer(self, answer: actions.Answer) -> None:
        if self._handed is None or self._handed.done():
            return  # who asked has gone
        if answer.problem:
            self._handed.set_exception(FixError(answer.problem))
        else:
            self._handed.set_result(answer.to)

    def _show(self, problem: str) -> None:
        if problem:
            event = "the group of this broker cannot be looked after"
            self._trouble.note(event, kind=problem, may_pass=True, problem=problem)
        else:
            self._trouble.over("the group of this broker is looked after again")

    def _set_timer(self) -> None:
        due = self._elector.due
        if due == self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due, self._timer = due, None
        if due < inf:
            self._timer = self._clock.call_later(due - self._clock.monotonic(), self._time)

    def _time(self) -> None:
        due, self._due, self._timer = self._due, inf, None
        self._hand(events.Due(due))


def _written(version: int) -> events.Event:
    return events.Accepted(version) if version else events.Declined()


def _not_done(call: actions.SideAction, problem: str) -> events.Event:
    return events.WatchLost() if isinstance(call, actions.Watch) else events.NotRenewed(problem)
