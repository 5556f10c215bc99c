"""What a slave takes from its master, and what it tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mqframe_replication.rules.following import Following, FollowLimits, PlainFrames
from mqframe_replication.rules.stream import CopyFrame, encode_report, frame_head

from mqframe.core.errors import FrameError

FOLDER = Path(__file__).parents[4] / "tests/data/replication"
LIMITS = FollowLimits(report_seconds=5, silent_seconds=20)


@pytest.mark.parametrize("version", ["4.9.7", "5.3.3"])
def test_a_recorded_master_is_followed_and_reported_to_as_its_slave_did(version: str) -> None:
    for connection in json.loads((FOLDER / version / "manifest.json").read_text())["connections"]:
        following = Following(LIMITS, connection["reports"][0], 0, PlainFrames())
        said = following.first_report(connection["reports"][0], now=0)
        for frame in following.hear((FOLDER / version / connection["masterFile"]).read_bytes(), now=0):
            said += following.report(frame.offset + len(frame.data), now=0)
        # What the slave reported while nothing was sent follows by the clock.
        told = list(dict.fromkeys(connection["reports"]))
        assert said == b"".join(map(encode_report, told))


def test_an_empty_slave_takes_the_place_of_the_first_frame_a_heartbeat_too() -> None:
    following = Following(LIMITS, 0, 0, PlainFrames())
    assert list(following.hear(frame_head(4096, 0), now=0)) == [CopyFrame(4096, b"")]
    assert list(following.hear(frame_head(4096, 2) + b"ab", now=0)) == [CopyFrame(4096, b"ab")]
    assert following.end == 4098


@pytest.mark.parametrize("frame", [frame_head(99, 0), frame_head(101, 1) + b"x"])
def test_a_frame_that_does_not_follow_is_refused(frame: bytes) -> None:
    following = Following(LIMITS, 100, 0, PlainFrames())
    with pytest.raises(FrameError, match="this log ends at 100"):
        list(following.hear(frame, now=0))
    assert following.end == 100


def test_a_report_is_due_when_more_is_stored_and_from_time_to_time() -> None:
    following = Following(LIMITS, 100, 0, PlainFrames())
    assert following.report(100, now=5) == b""
    assert following.report(100, now=5.1) == encode_report(100)
    assert following.report(130, now=5.2) == encode_report(130)
    assert following.report(130, now=10) == b""


def test_a_master_is_silent_when_nothing_was_heard_for_long() -> None:
    following = Following(LIMITS, 100, 0, PlainFrames())
    list(following.hear(frame_head(100, 0), now=3))
    assert not following.is_silent(now=23)
    assert following.is_silent(now=23.1)


def test_a_master_whose_frame_never_ends_is_silent_whatever_bytes_come() -> None:
    following = Following(LIMITS, 100, 0, PlainFrames())
    assert list(following.hear(frame_head(100, 1 << 20), now=3)) == []
    for now in range(4, 21):
        assert list(following.hear(frame_head(100, 0), now)) == []
    assert not following.is_silent(now=20)
    assert following.is_silent(now=20.1)
