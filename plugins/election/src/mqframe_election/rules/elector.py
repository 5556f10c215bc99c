"""One broker's part in the elections of its group, as a machine without clock, engine or broker.

From the opening of a lease until that is lost is a *session*; `...` is what `turns` does in it. A state names
the call that is under way. `?`: an action that is not always needed; `<x>`: what several rows end with,
written once. What no row names cannot happen in that state.

    state        event               when                   next          actions
    new          started                                    opening       open
    opening      opened                                     checking      read
    opening      opened              its time is too short  leaving       trouble, end calls, leave
    opening      unanswered, failed                         resting       trouble
    checking     saw                 its number is its own  entering      log?, announce
    checking     saw                 another broker has it  leaving       log?, trouble, end calls, leave
    checking     unanswered, failed                         leaving       trouble, end calls, leave
    entering     done                                       <turns>
    entering     unanswered, failed                         leaving       trouble, end calls, leave
    taking part  <of turns>                                 <turns>
    taking part  due                                        <turns>       renew?
    taking part  resigned                                   <turns>       trouble
    taking part  lease gone                                 <turns>
    taking part  renewed                                    taking part   report
    taking part  reported                                   taking part
    taking part  not renewed                                taking part   trouble
    <turns>                          they go on             taking part   ...
    <turns>                          over, while it leads   ending        ..., end calls, answer?, log, follow
    <turns>                          over                   leaving       ..., trouble, end calls, leave
    ending       done                                       leaving       leave
    ending       unanswered, failed                         leaving       trouble, leave
    leaving      done                                       resting
    leaving      unanswered, failed                         resting       trouble
    resting      due                                        opening       open
    resting      failed                                     resting       trouble
    <any>        rang                                       the same
    <any>        resigned                                   the same      trouble
    <any>        hand over                                  the same      answer
    <any>        looked                                     the same      log?
    <any>        stopped                                    stopped       end calls?, leave?
    stopped      <any>                                      stopped
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final

import msgspec

from mqframe.core.errors import SettingError
from mqframe_election.rules import actions, events
from mqframe_election.rules.ability import Abdication
from mqframe_election.rules.group import GroupView
from mqframe_election.rules.lease import Lease, LeaseTimes
from mqframe_election.rules.lease_renewal import LeaseRenewal
from mqframe_election.rules.limits import RETRY_SECONDS, ElectionLimits
from mqframe_election.rules.member import ElectionMember
from mqframe_election.rules.outbox import Outbox
from mqframe_election.rules.states import State, TurnState
from mqframe_election.rules.term import LeaderTerm
from mqframe_election.rules.turns import Turns


class Elector:
    """Of the broker numbered `me` of the group `group`. `words`: as of `ElectionMember`.

    `state`; `view`: what the engine held last; `turns`: of its session, `None` outside of one.
    """

    def __init__(self, me: int, group: str, limits: ElectionLimits, words: Callable[[], str]) -> None:
        self.state = State.NEW
        self.view: GroupView | None = None
        self.turns: Turns | None = None
        self._me = ElectionMember(me, group, limits, words, Abdication())
        self._limits = limits
        self._out = Outbox()
        self._renewal = LeaseRenewal(limits.renew)
        self._lease: Lease | None = None
        self._until = inf
        self._sent = 0.0
        self._saying = ""
        self._is_open = self._is_lost = False

    @property
    def due(self) -> float:
        """When a `Due` is to be handed in, seconds; infinite: not before something else happens."""
        return min(self._until, self._renewal.due, inf if self.turns is None else self.turns.due)

    @property
    def trouble(self) -> str:
        """Why the group cannot be looked after at the moment; empty normally."""
        return self._out.trouble

    @property
    def term(self) -> LeaderTerm | None:
        """Of this broker, while it leads or is about to."""
        return None if self.turns is None else self.turns.term

    def on(self, event: events.Event, moment: events.Moment) -> list[actions.Action]:
        """What is to be done after `event`, in this order; nothing once stopped.

        Raises `KeyError` for what cannot happen in this state: a mistake of the caller.
        """
        if self.state is State.STOPPED:
            return []
        self._out.begin(moment)
        step = _ANYWHERE.get(type(event)) or _STEPS[self.state, type(event)]
        step(self, event)
        return self._out.take()

    def _go(self, state: State, call: actions.MainAction) -> None:
        self.state, self._until = state, inf
        self._out.do(call)

    # The beginning of a session

    def _open(self, event: events.Event) -> None:
        self._sent = self._out.moment.now
        self._go(State.OPENING, actions.Open(self._limits.lease))

    def _opened(self, event: events.Opened) -> None:
        self._is_open, self._is_lost = True, False
        try:
            times = LeaseTimes(event.seconds, self._limits.renew, self._limits.margin)
        except SettingError as problem:
            self._end(str(problem))
            return
        self._lease = Lease(times, self._sent)
        self._go(State.CHECKING, actions.Read())

    def _checked(self, event: events.Saw) -> None:
        self._look(event)
        mine, other = self._out.moment.mine, event.view.replicas.get(self._me.number)
        if other is not None and other.store != mine.store:
            self._end(
                f"replication.id = {self._me.number} of {self._me.group} is that of another broker, at"
                f" {other.address}: give each broker of the group a number of its own"
            )
            return
        self._saying = mine.unable
        self._go(State.ENTERING, actions.Announce(msgspec.structs.replace(mine, ready=0)))

    def _entered(self, event: events.Done) -> None:
        assert self._lease is not None
        self.turns = Turns(self._me, self._lease, self._saying, self._out)
        self._renewal.rest(self._out.moment.now)
        self.state = State.TAKING_PART
        if self._is_lost:
            self.turns.lose()
        self._turn(event)

    # Within a session, and its end

    def _turn(self, event: events.Event) -> None:
        assert self.turns is not None
        if isinstance(event, events.Saw):
            self.view = event.view
        self.turns.on(event)
        self._look_whether_over()

    def _look_whether_over(self) -> None:
        if self.turns is not None and self.turns.state is TurnState.OVER:
            self._end(self.turns.problem)

    def _lose(self) -> None:
        self._is_lost = True
        if self.turns is not None:
            self.turns.lose()
            self._look_whether_over()

    def _end(self, problem: str) -> None:
        self._out.show(problem)
        turns, self.turns = self.turns, None
        self._renewal.end()
        self._out.do(actions.EndCalls())
        if turns is not None and turns.term is not None:
            turns.depose(TurnState.OVER)
            self.state = State.ENDING
        else:
            self._leave()

    def _ended(self, event: events.Event) -> None:
        self._leave()

    def _not_ended(self, event: events.Unanswered | events.Failed) -> None:
        # What the broker cannot become now it becomes when the group is looked at again.
        self._out.show(event.problem)
        self._leave()

    def _leave(self) -> None:
        self._is_open = False
        self._go(State.LEAVING, actions.Leave())

    def _fail(self, event: events.Unanswered | events.Failed) -> None:
        self._end(event.problem)

    def _rest(self, event: events.Event) -> None:
        self.state, self._until = State.RESTING, self._out.moment.now + RETRY_SECONDS

    def _rest_in_trouble(self, event: events.Unanswered | events.Failed) -> None:
        self._out.show(event.problem)
        self._rest(event)

    def _stop(self, event: events.Stopped) -> None:
        if self._is_open:
            self._out.do(actions.EndCalls())
            self._out.do(actions.Leave())
        self._renewal.end()
        self.state, self._until, self.turns = State.STOPPED, inf, None

    # The renewal of the lease

    def _renewed(self, event: events.Renewed) -> None:
        assert self._lease is not None
        assert self.turns is not None
        self._renewal.succeeded(self._lease)
        self._renewal.said = self.turns.note.unable
        self._out.do(actions.Report(self.turns.note))

    def _reported(self, event: events.Reported) -> None:
        assert self.turns is not None
        self.turns.said_unable = self._renewal.said
        self._renewal.rest(self._out.moment.now)

    def _not_renewed(self, event: events.NotRenewed) -> None:
        self._out.show(event.problem)
        self._renewal.rest(self._out.moment.now)

    def _lease_gone(self, event: events.LeaseGone) -> None:
        self._lose()

    def _due(self, event: events.Due) -> None:
        if self._renewal.due <= event.at:
            self._renewal.send(self._out.moment.now)
            self._out.do(actions.Renew())
        self._turn(event)

    # From outside

    def _ring(self, event: events.Rang) -> None:
        if self.turns is not None:
            self._turn(event)

    def _hand_over(self, event: events.HandOver) -> None:
        if self.turns is None:
            self._out.do(actions.Answer("this broker does not lead, it takes no part in elections for now"))
        else:
            self._turn(event)

    def _resign(self, event: events.Resigned) -> None:
        self._out.show(event.problem)
        self._lose()

    def _look(self, event: events.Saw | events.Looked) -> None:
        self.view = event.view
        self._out.unreadable(event.view)


_Step = Callable[[Elector, Any], None]
_ANYWHERE: Final[Mapping[type[events.Event], _Step]] = {
    events.Rang: Elector._ring,
    events.Resigned: Elector._resign,
    events.HandOver: Elector._hand_over,
    events.Looked: Elector._look,
    events.Stopped: Elector._stop,
}
_OF_TURNS: Final[tuple[type[events.Event], ...]] = (
    events.Saw,
    events.Accepted,
    events.Declined,
    events.Led,
    events.Done,
    events.Unanswered,
    events.Failed,
    events.GroupChanged,
    events.WatchLost,
)
_STEPS: Final[dict[tuple[State, type[events.Event]], _Step]] = {
    **{(State.TAKING_PART, kind): Elector._turn for kind in _OF_TURNS},
    (State.NEW, events.Started): Elector._open,
    (State.OPENING, events.Opened): Elector._opened,
    (State.OPENING, events.Unanswered): Elector._rest_in_trouble,
    (State.OPENING, events.Failed): Elector._rest_in_trouble,
    (State.CHECKING, events.Saw): Elector._checked,
    (State.CHECKING, events.Unanswered): Elector._fail,
    (State.CHECKING, events.Failed): Elector._fail,
    (State.ENTERING, events.Done): Elector._entered,
    (State.ENTERING, events.Unanswered): Elector._fail,
    (State.ENTERING, events.Failed): Elector._fail,
    (State.TAKING_PART, events.Due): Elector._due,
    (State.TAKING_PART, events.Renewed): Elector._renewed,
    (State.TAKING_PART, events.Reported): Elector._reported,
    (State.TAKING_PART, events.NotRenewed): Elector._not_renewed,
    (State.TAKING_PART, events.LeaseGone): Elector._lease_gone,
    (State.ENDING, events.Done): Elector._ended,
    (State.ENDING, events.Unanswered): Elector._not_ended,
    (State.ENDING, events.Failed): Elector._not_ended,
    (State.LEAVING, events.Done): Elector._rest,
    (State.LEAVING, events.Unanswered): Elector._rest_in_trouble,
    (State.LEAVING, events.Failed): Elector._rest_in_trouble,
    (State.RESTING, events.Due): Elector._open,
    (State.RESTING, events.Failed): Elector._rest_in_trouble,
}
"""As in the table of the module."""
