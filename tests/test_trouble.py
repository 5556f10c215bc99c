"""Trouble is told once, then once a minute with a count; its end is as loud as its beginning."""

from __future__ import annotations

import logging

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.log import get_logger
from mqframe.trouble import AGAIN_SECONDS, KINDS_MAX, Trouble, Troubles


class Scene:
    def __init__(self, caplog) -> None:
        caplog.set_level(logging.INFO, "mqframe")
        self.caplog, self.clock = caplog, ManualClock()
        self.log = get_logger("net")

    def make(self, **options) -> Trouble:
        return Trouble(self.log, self.clock.monotonic, **options)

    def lines(self) -> list[tuple[str, str]]:
        """What was told since the last call."""
        told = [(each.levelname, each.getMessage()) for each in self.caplog.records]
        self.caplog.clear()
        return told


@pytest.fixture
def scene(caplog) -> Scene:
    return Scene(caplog)


def test_the_first_is_told_at_once_and_the_others_once_a_minute_with_their_count(scene) -> None:
    trouble = scene.make()
    trouble.note("refused", peer="a")
    assert scene.lines() == [("WARNING", "refused peer='a'")]
    for _ in range(500):
        scene.clock.advance(0.1)
        trouble.note("refused", peer="b")
    assert scene.lines() == []
    scene.clock.advance(10)
    trouble.note("refused", peer="c")
    assert scene.lines() == [("WARNING", "refused count=501 peer='c'")]


@pytest.mark.parametrize("level", [logging.WARNING, logging.ERROR])
def test_that_it_is_over_is_as_loud_as_that_it_was(scene, level) -> None:
    trouble = scene.make(level=level)
    trouble.note("no messages are taken", reason="disk", disk="sda")
    scene.clock.advance(7)
    assert trouble.over("messages are taken again")
    name = logging.getLevelName(level)
    assert scene.lines() == [
        (name, "no messages are taken reason='disk' disk='sda'"),
        (name, "messages are taken again after_seconds=7"),
    ]
    assert not trouble.over("messages are taken again")
    assert scene.lines() == []


def test_the_end_names_what_is_over_where_it_has_no_words_of_its_own(scene) -> None:
    trouble = scene.make()
    trouble.note("pull failed", broker="a", reason="refused")
    scene.lines()
    trouble.over()
    assert scene.lines() == [("WARNING", "pull failed; that is over broker='a' after_seconds=0")]


def test_what_begins_again_is_told_again(scene) -> None:
    trouble = scene.make()
    for _ in range(2):
        trouble.note("refused")
        trouble.over("taken")
    assert [text.split()[0] for _, text in scene.lines()] == ["refused", "taken", "refused", "taken"]


def test_what_ends_in_its_quiet_time_is_no_warning(scene) -> None:
    trouble = scene.make()
    trouble.note("lost", may_pass=True)
    scene.clock.advance(9.9)
    trouble.note("lost", may_pass=True)
    assert not trouble.over("found")
    assert scene.lines() == [("INFO", "lost"), ("INFO", "found after_seconds=10")]
    trouble.note("lost", may_pass=True)
    scene.lines()
    scene.clock.advance(10.1)
    assert trouble.seconds == pytest.approx(10.1)
    trouble.note("lost", may_pass=True)
    assert scene.lines() == [("WARNING", "lost count=2")]


def test_another_kind_is_told_at_once_but_not_without_end(scene) -> None:
    trouble = scene.make()
    for _ in range(3):
        for number in range(KINDS_MAX + 3):
            trouble.note("refused", kind=number, number=number)
    assert scene.lines() == [("WARNING", f"refused number={number}") for number in range(KINDS_MAX)]
    scene.clock.advance(AGAIN_SECONDS)
    trouble.note("refused", kind=0, number=0)
    assert scene.lines() == [("WARNING", f"refused count={3 * (KINDS_MAX + 3) - KINDS_MAX + 1} number=0")]


def test_what_is_left_is_told_when_its_minute_is_over_or_by_the_last_call(scene) -> None:
    trouble = scene.make()
    trouble.tell(last=True)
    for peer in "abc":
        trouble.note("refused", peer=peer)
    trouble.tell()
    assert scene.lines() == [("WARNING", "refused peer='a'")]
    scene.clock.advance(AGAIN_SECONDS)
    trouble.tell()
    trouble.tell()
    assert scene.lines() == [("WARNING", "refused count=2 peer='c'")]
    trouble.note("refused", peer="d")
    trouble.tell(last=True)
    assert scene.lines() == [("WARNING", "refused peer='d'")]


def test_troubles_with_several_are_told_and_over_one_by_one(scene) -> None:
    troubles = Troubles(scene.log, scene.clock.monotonic)
    assert not troubles
    for name in ("a", "b"):
        troubles.of(name).note("away", name=name)
    assert troubles.over("a", "back", name="a")
    assert not troubles.over("a", "back", name="a")
    assert ("a" in troubles, "b" in troubles, bool(troubles)) == (False, True, True)
    troubles.leave("b")
    assert not troubles.over("b", "back")
    assert scene.lines() == [
        ("WARNING", "away name='a'"),
        ("WARNING", "away name='b'"),
        ("WARNING", "back name='a' after_seconds=0"),
    ]
