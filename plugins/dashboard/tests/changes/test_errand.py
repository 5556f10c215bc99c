"""Outcomes of changes: what the user is told, and what the audit log says."""

from __future__ import annotations

import asyncio
import logging

import pytest
from mqframe_dashboard.asking import NotFound
from mqframe_dashboard.changes.errand import Change, Errand, hidden, short
from mqframe_dashboard.changes.posted import Values
from mqframe_dashboard.changes.rejection import Rejection
from mqframe_dashboard.view import Page

from mqframe.core.errors import AccessError, AnswerFix, ConnectError, ConnectionLost, MessageError


class Ann:
    """A session, as far as errands look at it."""

    user = "ann"


ERRAND = Errand(None, Ann(), Values({"name": ["orders"], "secret": ["hush"], "id": ["1", "2"]}))


def outcome(problem, caplog, *, step="run"):
    """What the user is told, and the line of the log."""

    async def perform(errand):
        if problem is not None:
            raise problem
        return Page("Done", [])

    change = Change("/drop", perform, perform, ("name", "id", "none"), lambda v: [v.text("secret")])
    with caplog.at_level(logging.INFO, "mqframe.audit"):
        if step == "show":
            return asyncio.run(change.show(ERRAND))
        return asyncio.run(change.run(ERRAND, "10.0.0.1"))


def test_what_was_done_is_written_down(caplog):
    assert outcome(None, caplog).title == "Done"
    [line] = caplog.records
    assert line.event == "dashboard drop"
    assert line.fields == {
        "user": "ann",
        "peer": "10.0.0.1",
        "outcome": "done",
        "request": {"name": "orders", "id": "1 2"},
    }


@pytest.mark.parametrize(
    ("problem", "status", "said", "told"),
    [
        (
            AccessError(16, "User:ann may not hush", "b:1"),
            403,
            "ann: User:ann may not ••••••. Sign",
            "refused: User",
        ),
        (AnswerFix(13, "bad hush", "b:1"), 409, "b:1: bad ••••••", "refused: bad ••••••"),
        (MessageError("topic hush"), 400, "topic ••••••", "failed: topic ••••••"),
        (ConnectError("nobody there"), 503, "nobody there; nothing was done.", "failed: nobody there"),
        (ConnectionLost("cut"), 503, "cut. It may have been done all the same", "failed: cut"),
    ],
)
def test_what_failed_is_told_without_secrets(problem, status, said, told, caplog):
    with pytest.raises(Rejection) as found:
        outcome(problem, caplog)
    assert found.value.status == status
    assert said in str(found.value)
    [line] = caplog.records
    assert line.fields["outcome"].startswith(told)
    assert "hush" not in caplog.text


def test_other_failures_leave_a_line_too(caplog):
    for problem in (NotFound("no orders"), ZeroDivisionError("x"), asyncio.CancelledError()):
        caplog.clear()
        with pytest.raises(type(problem)):
            outcome(problem, caplog)
        assert [line.fields["outcome"][:7] for line in caplog.records] == ["failed:"]


def test_who_may_not_see_a_form_is_told(caplog):
    with pytest.raises(Rejection, match="ann: User:ann may not look"):
        outcome(AccessError(16, "User:ann may not look", "b:1"), caplog, step="show")
    assert caplog.records == []


def test_logs_are_kept_short_and_masks_cover_all():
    assert short("a" * 200) == "a" * 200
    assert short("a" * 201) == "a" * 200 + "… (201 characters)"
    assert hidden("a b a", ["a", ""]) == "•••••• b ••••••"
