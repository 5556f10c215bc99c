"""A broker's part in its group from one look to the next, while it has a lease: it leads, follows, or claims.

A state names the call that is under way. `?`: an action that is not always needed; `<x>`: what several rows
end with, written once. What no row names cannot happen in that state.

    state          event               when                        next           actions
    new            done                                            <turn>         watch
    waiting        rang, group changed                             <turn>
    waiting        watch lost                                      waiting
    waiting        lost                                            <turn>
    waiting        hand over           it leads                    <turn>         answer?
    waiting        hand over           it does not                 waiting        answer
    waiting        due                 long enough, or the watch's <turn>
    waiting        failed              the broker, at once         over
    waiting        due                 not yet                     waiting        watch?
    telling        done                                            looking        read
    looking        saw                 it leads                    <leader>       log?, watch?
    looking        saw                 it does not                 <other>        log?, watch?, left set?
    following      done                                            <end of turn>
    halting        done                                            declaring      announce
    declaring      done                                            looking again  read
    looking again  saw                 somebody leads, or it left  <end of turn>  log?, watch?
    looking again  saw                 nobody leads still          <choice>       log?, watch?
    claiming       accepted                                        <won>
    claiming       declined                                        <end of turn>
    withdrawing    done                                            <end of turn>
    taking over    led                                             <end of turn>
    taking over    unanswered, failed                              giving back    step down
    giving back    done                                            over
    giving back    unanswered, failed                              over
    changing       accepted            the set                     <end of turn>  log
    changing       accepted            who comes next              abdicating     log, answer, ..., step down
    changing       declined                                        <end of turn>
    abdicating     done                                            deposing       answer?, log, follow
    abdicating     unanswered                                      <end of turn>
    deposing       done                                            <end of turn>
    <call>         unanswered                                      <end of turn>
    <call>         failed                                          over
    <call>         rang, group changed                             the same
    <call>         watch lost                                      the same
    <call>         lost                                            the same
    <call>         hand over                                       the same       answer?
    <call>         due                                             the same       watch?

    <turn>                             the lease is lost           over
    <turn>                             it can store, or not, anew  telling        announce
    <turn>                             else                        looking        read
    <leader>                           claim or place in set gone  deposing       answer?, log, follow
    <leader>                           others can store, not it    abdicating     log, stop storing, step down
    <leader>                           the set is to change        changing       change
    <leader>                           it hands over, and may not  <end of turn>  take again?, answer
    <leader>                           it hands over, newly        <end of turn>  stop taking
    <leader>                           it hands over, all is there changing       change
    <leader>                           else                        <end of turn>
    <other>                            a claim of its own stands   <won>
    <other>                            somebody leads              following      follow
    <other>                            nobody leads, newly         halting        follow
    <other>                            nobody leads still          <choice>
    <choice>                           it may claim                claiming       claim
    <choice>                           else                        <end of turn>
    <won>                              the lease is trusted        taking over    log, lead
    <won>                              else                        withdrawing    step down
    <end of turn>                      it rang meanwhile           <turn>         trouble?, watch?
    <end of turn>                      else                        waiting        trouble?, watch?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final

import msgspec

from mqframe_election.rules import actions, events
from mqframe_election.rules.group import GroupState, GroupView, LeaderNote, ReplicaNote
from mqframe_election.rules.group_watch import GroupWatch, WatchState
from mqframe_election.rules.leading import Leading
from mqframe_election.rules.lease import Lease
from mqframe_election.rules.member import ElectionMember
from mqframe_election.rules.outbox import Outbox
from mqframe_election.rules.seeking import Seeking
from mqframe_election.rules.states import TurnState
from mqframe_election.rules.term import LeaderTerm

_LOST: Final = "the lease of this broker was lost; it opens another one"


class Turns:
    """Of the broker `me`, with `lease`. What it decides goes to `out`.

    `state`; `term`: of this broker, while it leads or is about to; `said_unable`: why it cannot store, as it
    announced last; `problem`: why it is over, once it is.
    """

    def __init__(self, me: ElectionMember, lease: Lease, said_unable: str, out: Outbox) -> None:
        self.state = TurnState.NEW
        self.term: LeaderTerm | None = None
        self.said_unable = self._saying = said_unable
        self.problem = ""
        self._me = me
        self._number = me.number
        self._lease = lease
        self._out = out
        self._seeking = Seeking(me.number, me.limits)
        self._watch = GroupWatch()
        self._leading: Leading | None = None
        self._claims: set[str] = set()
        self._claimed = GroupState()
        self._until = inf
        self._is_lost = self._is_rung = self._is_answered = False

    @property
    def due(self) -> float:
        """When a `Due` is to be handed in."""
        return min(self._until, self._watch.due)

    @property
    def note(self) -> ReplicaNote:
        """What this broker says of itself now."""
        return msgspec.structs.replace(self._out.moment.mine, ready=self._seeking.ready)

    def on(self, event: events.Event) -> None:
        """Go on after `event`. Raises `KeyError` for what cannot happen in this state."""
        _STEPS[self.state, type(event)](self, event)

    def lose(self) -> None:
        """The lease is gone, or not to be used any more: that ends with the turn."""
        self._is_lost = True
        self._ring()

    def _go(self, state: TurnState, call: actions.MainAction) -> None:
        self.state, self._until = state, inf
        self._out.do(call)

    # The beginning and the end of a turn

    def _begin(self, event: events.Event) -> None:
        self._watch_group()
        self._turn()

    def _turn(self) -> None:
        if self._is_lost:
            self._give_up(self._out.trouble or _LOST)
            return
        self._is_rung = self._is_answered = False
        if self._out.moment.mine.unable != self.said_unable:
            self._announce(TurnState.TELLING)
        else:
            self._look()

    def _end(self, problem: str = "", again: float = inf) -> None:
        """`again`: after so many seconds at most the next turn begins."""
        self._out.show(problem)
        self._looked()
        if self._is_rung:
            self._turn()
            return
        # A look from time to time, whatever the watch missed.
        seconds = min(self._me.limits.renew, again)
        self.state, self._until = TurnState.WAITING, self._out.moment.now + seconds

    def _give_up(self, problem: str) -> None:
        self.state, self._until, self.problem = TurnState.OVER, inf, problem

    def _ring(self, event: events.Event | None = None) -> None:
        self._is_rung = True
        if self.state is TurnState.WAITING:
            self._turn()

    def _done(self, event: events.Event) -> None:
        self._end()

    def _unanswered(self, event: events.Unanswered) -> None:
        self._end(event.problem)

    def _failed(self, event: events.Failed) -> None:
        self._give_up(event.problem)

    def _refused(self, event: events.Event) -> None:
        """The next look tells what there is instead, and comes at once."""
        self._is_rung = True
        self._end()

    # The look

    def _announce(self, state: TurnState) -> None:
        self._saying = self.note.unable
        self._go(state, actions.Announce(self.note))

    def _announced(self, event: events.Event) -> None:
        self.said_unable = self._saying
        self._look()

    def _look(self) -> None:
        self._go(TurnState.LOOKING, actions.Read())

    def _saw(self, event: events.Saw) -> None:
        self._take(event)
        if self.term is not None:
            self._as_leader(event.view)
        else:
            self._as_other(event.view)

    def _take(self, event: events.Saw) -> None:
        self._is_answered = True
        self._out.unreadable(event.view)
        self._looked()

    # As leader

    def _as_leader(self, view: GroupView) -> None:
        leading = self._leading
        assert leading is not None
        is_mine = view.leader is not None and view.leader.claim in self._claims
        if not is_mine or view.state is None or self._number not in view.state.members:
            self.depose(TurnState.DEPOSING)
        elif (call := leading.look(view)) is None:
            self._end(again=leading.again)
        else:
            gives_up = isinstance(call, actions.StepDown)
            self._go(TurnState.ABDICATING if gives_up else TurnState.CHANGING, call)

    def _changed(self, event: events.Accepted) -> None:
        assert self._leading is not None
        call = self._leading.changed(event.version)
        if call is None:
            self._refused(event)  # what was counted on changed
        else:
            self._go(TurnState.ABDICATING, call)

    def _hand_over(self, event: events.HandOver) -> None:
        if self._leading is None:
            self._out.do(actions.Answer("this broker does not lead, or has only begun to"))
            return
        self._leading.hand_over(event)
        self._ring()

    def _abdicated(self, event: events.Event) -> None:
        self.depose(TurnState.DEPOSING)

    def _not_abdicated(self, event: events.Unanswered) -> None:
        # It may lead still, as the engine says: that ends with the lease.
        self._is_lost = self._is_rung = True
        self._end(event.problem)

    def depose(self, state: TurnState) -> None:
        """End the term of this broker, which follows nobody from then on."""
        assert self.term is not None
        epoch = self.term.state.epoch
        if self._leading is not None:
            self._leading.end()
        self.term = self._leading = None
        self._claims.clear()
        self._out.log("warning", "this broker leads no more", epoch=epoch)
        self._go(state, actions.Follow(None, epoch))

    # As anyone else

    def _as_other(self, view: GroupView) -> None:
        state, leader = view.state, view.leader
        if state is not None and self._number not in state.members:
            self._out.do(actions.LeftSet())
        if leader is None and self._seeking.unled(view, self._out.moment.now):
            self._go(TurnState.HALTING, actions.Follow(None, view.epoch))
        elif leader is None:
            self._choose(view)
        elif state is not None and leader.claim in self._claims:
            self._take_over(state, view.version)
        else:
            self._seeking.led()
            # A claim of this broker's last life ends with the lease that it had then.
            followed = None if leader.id == self._number else leader
            self._go(TurnState.FOLLOWING, actions.Follow(followed, view.epoch))

    def _halted(self, event: events.Event) -> None:
        self._seeking.halted()
        self._announce(TurnState.DECLARING)

    def _declared(self, event: events.Event) -> None:
        self.said_unable = self._saying
        self._go(TurnState.LOOKING_AGAIN, actions.Read())

    def _saw_again(self, event: events.Saw) -> None:
        self._take(event)
        if event.view.leader is not None or self._number not in event.view.replicas:
            self._refused(event)
        else:
            self._choose(event.view)

    def _choose(self, view: GroupView) -> None:
        choice = self._seeking.choose(view, self._lease, self._out.moment.now)
        if choice.claim is None:
            self._end(choice.why, choice.again)
            return
        mine, word = self._out.moment.mine, self._me.words()
        self._claims.add(word)
        self._claimed = choice.claim
        leader = LeaderNote(self._number, choice.claim.epoch, mine.address, mine.replication_address, word)
        self._go(TurnState.CLAIMING, actions.Claim(choice.claim, leader, view.version))

    def _won(self, event: events.Accepted) -> None:
        self._is_rung = True
        self._take_over(self._claimed, event.version)

    def _take_over(self, state: GroupState, version: int) -> None:
        if not self._lease.is_trusted(self._out.moment.now):
            self._go(TurnState.WITHDRAWING, actions.StepDown())
            return
        self._out.log("info", "this broker leads", epoch=state.epoch, members=state.members)
        self.term = LeaderTerm(state, version, self._lease)
        self._seeking.led()
        self._go(TurnState.TAKING_OVER, actions.Lead(self.term))

    def _led(self, event: events.Led) -> None:
        self._leading = Leading(self._me, event.members, self._out)
        self._end()

    def _not_led(self, event: events.Unanswered | events.Failed) -> None:
        self.problem = event.problem
        self._go(TurnState.GIVING_BACK, actions.StepDown())

    def _gave_back(self, event: events.Event) -> None:
        self._give_up(self.problem)

    # The watch, and time

    def _group_changed(self, event: events.Event) -> None:
        self._watch.changed()
        self._ring()

    def _watch_lost(self, event: events.Event) -> None:
        self._watch.failed(self._out.moment.now)

    def _looked(self) -> None:
        if self._watch.looked(self._out.moment.now, is_answered=self._is_answered):
            self._watch_group()

    def _watch_group(self) -> None:
        self._watch.watches()
        self._out.do(actions.Watch())

    def _due(self, event: events.Due) -> None:
        if self._watch.due <= event.at:
            if self._watch.state is WatchState.FAILED:
                self._group_changed(event)
            else:
                self._watch_group()
        if self._until <= event.at:
            self._ring()


_Step = Callable[[Turns, Any], None]
_BETWEEN: Final = (TurnState.NEW, TurnState.WAITING, TurnState.OVER)
_BESIDE: Final[Mapping[type[events.Event], _Step]] = {
    events.Rang: Turns._ring,
    events.GroupChanged: Turns._group_changed,
    events.WatchLost: Turns._watch_lost,
    events.Due: Turns._due,
    events.HandOver: Turns._hand_over,
}
_CALL: Final[Mapping[type[events.Event], _Step]] = {
    **_BESIDE,
    events.Unanswered: Turns._unanswered,
    events.Failed: Turns._failed,
}
_STEPS: Final[dict[tuple[TurnState, type[events.Event]], _Step]] = {
    **{(state, kind): step for state in TurnState if state not in _BETWEEN for kind, step in _CALL.items()},
    **{(TurnState.WAITING, kind): step for kind, step in _BESIDE.items()},
    (TurnState.NEW, events.Done): Turns._begin,
    (TurnState.WAITING, events.Failed): Turns._failed,
    (TurnState.TELLING, events.Done): Turns._announced,
    (TurnState.LOOKING, events.Saw): Turns._saw,
    (TurnState.FOLLOWING, events.Done): Turns._done,
    (TurnState.HALTING, events.Done): Turns._halted,
    (TurnState.DECLARING, events.Done): Turns._declared,
    (TurnState.LOOKING_AGAIN, events.Saw): Turns._saw_again,
    (TurnState.CLAIMING, events.Accepted): Turns._won,
    (TurnState.CLAIMING, events.Declined): Turns._refused,
    (TurnState.WITHDRAWING, events.Done): Turns._done,
    (TurnState.TAKING_OVER, events.Led): Turns._led,
    (TurnState.TAKING_OVER, events.Unanswered): Turns._not_led,
    (TurnState.TAKING_OVER, events.Failed): Turns._not_led,
    (TurnState.GIVING_BACK, events.Done): Turns._gave_back,
    (TurnState.GIVING_BACK, events.Unanswered): Turns._gave_back,
    (TurnState.GIVING_BACK, events.Failed): Turns._gave_back,
    (TurnState.CHANGING, events.Accepted): Turns._changed,
    (TurnState.CHANGING, events.Declined): Turns._refused,
    (TurnState.ABDICATING, events.Done): Turns._abdicated,
    (TurnState.ABDICATING, events.Unanswered): Turns._not_abdicated,
    (TurnState.DEPOSING, events.Done): Turns._done,
}
"""As in the table of the module."""
