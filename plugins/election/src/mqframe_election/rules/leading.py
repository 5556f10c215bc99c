"""What a leader does with its lead: it looks after the set, and gives the lead up (election.md §4, §8, §9).

A lead that is handed over goes in four steps. Until the last one the leader may take messages again:

    what holds                                              then
    an operator asked, and the other broker may lead        take no messages from now on
    all that the log has is confirmed                       have the engine hold who comes next
    it does                                                 answer, store nothing more, step down
    the other may not lead, or it takes too long            take messages again, answer with the reason
"""

from __future__ import annotations

from math import inf
from typing import Final

import attrs

from mqframe.core.errors import FixError
from mqframe_election.rules import actions, events
from mqframe_election.rules.ability import successor, successors
from mqframe_election.rules.group import GroupState, GroupView
from mqframe_election.rules.member import ElectionMember
from mqframe_election.rules.outbox import Outbox
from mqframe_election.rules.sync_set import SyncSet

_LOOK_SECONDS: Final = 0.05
"""While the lead is handed over, so often it is looked whether all is confirmed."""


@attrs.define
class _Handing:
    """`to`: the broker that is to lead, 0: any; `until`: when that is given up, seconds; `has_stopped`:
    nothing is taken any more."""

    to: int
    until: float
    has_stopped: bool = False


class Leading:
    """Of the leader `me` in one term. `members`: its set; what is done at once goes to `out`."""

    def __init__(self, me: ElectionMember, members: SyncSet, out: Outbox) -> None:
        self.members = members
        self._me = me
        self._out = out
        self._handing: _Handing | None = None

    @property
    def again(self) -> float:
        """After so many seconds at most the group is to be looked at again."""
        return inf if self._handing is None else _LOOK_SECONDS

    def hand_over(self, event: events.HandOver) -> None:
        """An operator wants another broker to lead. Looks see to it from now on."""
        if self._handing is not None:
            self._out.do(actions.Answer("this broker hands over its lead already"))
        else:
            self._handing = _Handing(event.to, self._out.moment.now + event.seconds)

    def end(self) -> None:
        """The term is over."""
        if self._handing is not None:
            self._handing = None
            self._out.do(actions.Answer("this broker leads no more, and handed its lead to nobody"))

    def look(self, view: GroupView) -> actions.Change | actions.StepDown | None:
        """What `view`, in which this broker leads, asks for; `None`: nothing now."""
        members, moment = self.members, self._out.moment
        assert view.state is not None
        if view.version != members.version:
            # What was sent without an answer took effect, or nothing that was sent still can.
            members.settled(view.state, view.version)
        members.unable = frozenset(n for n, note in view.replicas.items() if note.unable) - {self._me.number}
        keeping_up = members.keeping_up(moment.mine.end, moment.now)
        others = successors(members.state, view.replicas, keeping_up, self._me.limits.members_min)
        if self._me.abdication.is_due(moment.unable, others, moment.now):
            return self._abdicate(others)
        wanted = members.pending or members.wanted(moment.mine.end, moment.now)
        if wanted is None and self._handing is not None:
            wanted = self._hand(self._handing, view, keeping_up)
        if wanted is None:
            return None
        # Without an answer it stays pending, and is sent again with the version as it is read then: so
        # the first one either was this version's change, or can be none any more.
        members.sent(wanted)
        return actions.Change(wanted, members.version)

    def changed(self, version: int) -> actions.StepDown | None:
        """The change took effect, as `version`. What follows; `None`: nothing but the next look."""
        wanted = self.members.pending
        assert wanted is not None
        self.members.settled(wanted, version)
        if self._handing is None or not wanted.preferred:
            self._out.log("info", "the set in sync changed", members=wanted.members, epoch=wanted.epoch)
            return None
        self._handing = None
        self._out.log("info", "this broker hands over the lead", to=wanted.preferred, epoch=wanted.epoch)
        self._out.do(actions.Answer("", wanted.preferred))
        self._out.do(actions.StopStoring())
        return actions.StepDown()

    def _abdicate(self, others: tuple[int, ...]) -> actions.StepDown:
        """Give up the lead, and only then stop what leads: a disk that does not answer may hold that up."""
        self._out.log(
            "error", "this broker gives up the lead, for it cannot store",
            problem=self._out.moment.unable, others=", ".join(map(str, others)),
        )  # fmt: skip
        self._out.do(actions.StopStoring())
        return actions.StepDown()

    def _hand(self, handing: _Handing, view: GroupView, keeping_up: tuple[int, ...]) -> GroupState | None:
        """The state that names who comes next, once that one has all; `None`: not yet, or not at all."""
        moment, state = self._out.moment, self.members.state
        try:
            to = successor(handing.to, state, view.replicas, keeping_up)
        except FixError as problem:
            self._keep(handing, str(problem))
            return None
        if moment.now >= handing.until:
            self._keep(
                handing,
                f"broker {to} was not handed the lead: what the log has up to {moment.mine.end} was not"
                f" confirmed in time, but up to {moment.mine.confirmed}; see mqframe replica status",
            )
            return None
        if not handing.has_stopped:
            # What is on its way into the log shows at the next look.
            handing.has_stopped = True
            self._out.do(actions.StopTaking(to))
            return None
        return state.preferring(to) if moment.mine.confirmed >= moment.mine.end else None

    def _keep(self, handing: _Handing, problem: str) -> None:
        self._handing = None
        if handing.has_stopped:
            self._out.do(actions.TakeAgain())
        self._out.do(actions.Answer(problem))
