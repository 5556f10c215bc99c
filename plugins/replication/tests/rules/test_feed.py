"""What a master sends to a slave, by the reports that it hears."""

from __future__ import annotations

import pytest
from mqframe_replication.rules.feed import DueBytes, Feed, FeedLimits, PlainFraming
from mqframe_replication.rules.stream import encode_report

from mqframe.core.errors import FrameError

LIMITS = FeedLimits(batch_bytes=300, file_bytes=1000, heartbeat_seconds=5, silent_seconds=20)


def fed(first: int, start: int = 1000, end: int = 2500) -> Feed:
    feed = Feed(LIMITS, 0, PlainFraming())
    feed.hear(encode_report(first), start, end, now=0)
    return feed


def test_nothing_is_sent_before_the_first_report() -> None:
    feed = Feed(LIMITS, 0, PlainFraming())
    feed.hear(encode_report(1500)[:7], 1000, 2500, now=0)
    assert feed.due(2500, now=100) is None
    feed.hear(encode_report(1500)[7:], 1000, 2500, now=0)
    assert feed.due(2500, now=100) == DueBytes(1500, 300)


def test_an_empty_slave_gets_the_log_from_its_start_and_no_frame_crosses_a_files_end() -> None:
    feed = fed(0)
    sent = [feed.due(2500, now=0) for _ in range(7)]
    assert sent == [
        DueBytes(1000, 300),
        DueBytes(1300, 300),
        DueBytes(1600, 300),
        DueBytes(1900, 100),
        DueBytes(2000, 300),
        DueBytes(2300, 200),
        None,
    ]


def test_an_idle_slave_gets_a_heartbeat_when_nothing_was_sent_for_long() -> None:
    feed = fed(2500)
    assert feed.due(2500, now=5) is None
    assert feed.due(2500, now=5.1) == DueBytes(2500, 0)
    assert feed.due(2500, now=10) is None
    assert feed.due(2510, now=10) == DueBytes(2500, 10)
    assert feed.due(2510, now=15) is None


def test_the_last_report_is_the_acknowledgement() -> None:
    feed = fed(1200)
    feed.hear(encode_report(1500) + encode_report(1700), 1000, 2500, now=0)
    assert feed.acknowledged == 1700


@pytest.mark.parametrize(
    ("first", "said"), [(-1, "no place in a log"), (999, "oldest byte"), (2501, "behind the end of this log")]
)
def test_a_slave_that_cannot_be_fed_is_refused(first: int, said: str) -> None:
    with pytest.raises(FrameError, match=said):
        fed(first)


def test_a_later_report_behind_the_end_is_no_acknowledgement() -> None:
    feed = fed(1200)
    with pytest.raises(FrameError, match="they differ"):
        feed.hear(encode_report(2501), 1000, 2500, now=0)
    assert feed.acknowledged == 1200


def test_a_slave_is_silent_when_nothing_was_heard_for_long() -> None:
    feed = fed(1200)
    assert not feed.is_silent(now=20)
    assert feed.is_silent(now=20.1)
    feed.hear(encode_report(1200)[:5], 1000, 2500, now=20)
    assert feed.is_silent(now=20.1)
    feed.hear(encode_report(1200)[5:], 1000, 2500, now=20.1)
    assert not feed.is_silent(now=40)


def test_no_more_is_sent_than_is_allowed_and_never_an_empty_frame_for_it() -> None:
    feed = fed(1200)
    assert feed.due(2500, now=0, most=7) == DueBytes(1200, 7)
    assert feed.due(2500, now=0, most=1000) == DueBytes(1207, 300)
    assert feed.due(2500, now=5, most=0) is None
    assert feed.due(2500, now=5.1, most=0) == DueBytes(1507, 0)  # a heartbeat, when one is due
    assert feed.due(2500, now=6, most=0) is None
    assert feed.due(2500, now=6, most=1) == DueBytes(1507, 1)


def test_a_slave_is_stuck_when_it_takes_nothing_of_what_waits_for_it() -> None:
    feed = fed(1200)
    feed.due(2500, now=0)
    assert not feed.is_stuck(300, now=0)
    assert not feed.is_stuck(300, now=20)
    assert feed.is_stuck(300, now=20.1)


def test_a_slave_that_takes_something_is_not_stuck() -> None:
    feed = fed(1200)
    feed.due(2500, now=0)
    assert not feed.is_stuck(300, now=0)
    assert not feed.is_stuck(299, now=19)
    assert not feed.is_stuck(299, now=39)
    assert feed.is_stuck(299, now=39.1)
    assert not feed.is_stuck(0, now=40)
    assert not feed.is_stuck(0, now=100)


def test_more_that_waits_is_nothing_that_was_taken() -> None:
    feed = fed(1200)
    for now in range(21):
        due = feed.due(2500, now=now, most=1)
        assert due == DueBytes(1200 + now, 1)
        assert not feed.is_stuck((now + 1) * 13, now=now)
    assert feed.is_stuck(22 * 13, now=20.1)
