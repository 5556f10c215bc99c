"""What a leader does with its lead; whole stories of it are in turns.txt."""

from __future__ import annotations

from math import inf

from mqframe_election.rules import actions, events
from mqframe_election.rules.ability import Abdication
from mqframe_election.rules.group import GroupState, GroupView, LeaderNote, ReplicaNote
from mqframe_election.rules.leading import Leading
from mqframe_election.rules.limits import ElectionLimits
from mqframe_election.rules.member import ElectionMember
from mqframe_election.rules.outbox import Outbox
from mqframe_election.rules.sync_set import SetLimits, SyncSet

LIMITS = ElectionLimits(lease=5, renew=1.5, margin=1, patience=1, first=5, members_min=1)
STATE = GroupState(epoch=4, leader=1, members=(1, 2), known=(1, 2))


def note(number: int, *, confirmed: int = 0) -> ReplicaNote:
    return ReplicaNote(number, 4, 700, confirmed, 0, True, f"s{number}", "h:1", "h:2")


VIEW = GroupView(STATE, 3, LeaderNote(1, 4, "h:1", "h:2", "w"), {1: note(1), 2: note(2)}, {})


class Led:
    """The broker 1 leads, and 2 has all of its log, which ends at 700."""

    def __init__(self) -> None:
        self.out = Outbox()
        members = SyncSet(STATE, 3, 700, SetLimits(1, lag_seconds=5, away_seconds=1), 0)
        members.joined(2, 0, is_clean=True)
        members.acknowledged(2, 700, 700, 0)
        me = ElectionMember(1, "b", LIMITS, lambda: "w", Abdication())
        self.leading = Leading(me, members, self.out)

    def at(self, now: float, *, confirmed: int = 0) -> Leading:
        """A step begins, up to `confirmed` of the log."""
        self.out.begin(events.Moment(now, note(1, confirmed=confirmed)))
        return self.leading


def test_a_quiet_leader_wants_nothing() -> None:
    led = Led()
    assert led.at(0.5).look(VIEW) is None
    assert led.leading.again == inf
    assert led.out.take() == []


def test_it_gives_up_the_lead_only_when_the_engine_holds_who_comes_next() -> None:
    led = Led()
    led.at(0.5).hand_over(events.HandOver(2, 5))
    assert led.leading.look(VIEW) is None
    assert led.out.take() == [actions.StopTaking(2)]
    assert led.leading.again < 1
    assert led.at(0.6, confirmed=699).look(VIEW) is None
    change = led.at(0.7, confirmed=700).look(VIEW)
    assert change == actions.Change(STATE.preferring(2), 3)
    assert led.out.take() == []
    assert led.at(0.8, confirmed=700).changed(4) == actions.StepDown()
    log, *others = led.out.take()
    assert isinstance(log, actions.Log)
    assert others == [actions.Answer("", 2), actions.StopStoring()]
    assert led.leading.again == inf


def test_one_handing_over_at_a_time_is_answered_and_its_end_too() -> None:
    led = Led()
    led.at(0.5).hand_over(events.HandOver(2, 5))
    led.leading.hand_over(events.HandOver(2, 5))
    led.leading.end()
    led.leading.end()
    assert led.out.take() == [
        actions.Answer("this broker hands over its lead already"),
        actions.Answer("this broker leads no more, and handed its lead to nobody"),
    ]


def test_a_change_of_the_set_goes_before_and_the_lead_is_handed_over_after_it() -> None:
    led = Led()
    led.leading.members.joined(3, 0.4, is_clean=True)
    led.leading.members.acknowledged(3, 700, 700, 0.4)
    led.at(0.5).hand_over(events.HandOver(3, 5))
    change = led.leading.look(VIEW)
    assert isinstance(change, actions.Change)
    assert (change.state.members, change.state.preferred) == ((1, 2, 3), 0)
    assert led.at(0.6).changed(4) is None
    seen = VIEW._replace(state=change.state, version=4, replicas={**VIEW.replicas, 3: note(3)})
    assert led.at(0.7, confirmed=700).look(seen) is None
    assert actions.StopTaking(3) in led.out.take()
