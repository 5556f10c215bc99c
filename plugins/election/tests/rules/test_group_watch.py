"""The watch for changes of a group."""

from __future__ import annotations

from math import inf

from mqframe_election.rules.group_watch import GroupWatch, WatchState


def test_a_change_is_watched_for_again_once_it_was_read() -> None:
    watch = GroupWatch()
    watch.watches()
    assert not watch.looked(1.0, is_answered=True)
    watch.changed()
    assert watch.looked(1.1, is_answered=True)


def test_a_look_without_an_answer_leaves_the_engine_a_second() -> None:
    watch = GroupWatch()
    watch.watches()
    watch.changed()
    assert not watch.looked(1.0, is_answered=False)
    assert (watch.state, watch.due) == (WatchState.UNSURE, 2.0)
    assert not watch.looked(1.5, is_answered=True)
    watch.watches()
    assert (watch.state, watch.due) == (WatchState.WATCHING, inf)


def test_an_engine_that_is_not_there_is_looked_at_after_a_second() -> None:
    watch = GroupWatch()
    watch.watches()
    watch.failed(1.0)
    assert (watch.state, watch.due) == (WatchState.FAILED, 2.0)
    assert not watch.looked(1.5, is_answered=True)
    watch.changed()
    assert (watch.state, watch.due) == (WatchState.UNREAD, inf)
    watch.end()
    assert not watch.looked(2.5, is_answered=True)
