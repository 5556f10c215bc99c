"""What a step of an election has decided."""

from __future__ import annotations

from election.traces import note
from mqframe_election.rules import actions, events
from mqframe_election.rules.group import GroupView
from mqframe_election.rules.outbox import Outbox


def test_each_step_has_its_own_actions_in_their_order() -> None:
    out = Outbox()
    out.begin(events.Moment(1.0, note(1, 0)))
    out.do(actions.Read())
    out.log("info", "it goes on", number=1)
    assert out.take() == [actions.Read(), actions.Log("info", "it goes on", {"number": 1})]
    out.begin(events.Moment(2.0, note(1, 0)))
    assert (out.take(), out.moment.now) == ([], 2.0)


def test_trouble_is_shown_each_time_and_its_end_once() -> None:
    out = Outbox()
    out.begin(events.Moment(1.0, note(1, 0)))
    for trouble in ("", "no answer", "no answer", "", ""):
        out.show(trouble)
    assert out.take() == [
        actions.ShowTrouble("no answer"), actions.ShowTrouble("no answer"), actions.ShowTrouble(""),
    ]  # fmt: skip
    assert out.trouble == ""


def test_who_says_what_cannot_be_read_is_logged() -> None:
    out = Outbox()
    out.begin(events.Moment(1.0, note(1, 0)))
    out.unreadable(GroupView(None, 0, None, {}, {2: "it is no JSON"}))
    values = {"broker": 2, "problem": "it is no JSON"}
    assert out.take() == [actions.Log("warning", "a broker of the group says what cannot be read", values)]
