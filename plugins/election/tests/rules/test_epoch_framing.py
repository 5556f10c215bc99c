"""The stream of an elected group."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_election.rules.epoch_framing import EpochFrames, EpochFraming
from mqframe_election.rules.history import EpochHistory
from mqframe_replication.rules.feed import DueBytes, Feed, FeedLimits
from mqframe_replication.rules.following import Following, FollowLimits
from mqframe_replication.rules.stream import encode_report, epoch_frame_head

from mqframe.core.errors import FrameError

HISTORY = EpochHistory([(1, 0), (3, 100), (4, 250)])


class Leader:
    def __init__(self, start: int, end: int, batch: int = 60) -> None:
        self.end, self.confirmed = end, 0
        limits = FeedLimits(batch_bytes=batch, file_bytes=1000, heartbeat_seconds=5, silent_seconds=20)
        self.feed = Feed(limits, 0.0, EpochFraming(HISTORY, lambda: self.confirmed))
        self.feed.hear(encode_report(start), 0, end, 0.0)

    def sent(self, now: float = 1.0) -> list[tuple[DueBytes, bytes]]:
        found = []
        while (due := self.feed.due(self.end, now)) is not None:
            found.append((due, self.feed.head(due)))
        return found


def test_no_frame_has_bytes_of_two_epochs_and_each_says_of_which() -> None:
    leader = Leader(40, 300)
    leader.confirmed = 30
    assert leader.sent() == [
        (DueBytes(40, 60), epoch_frame_head(40, 60, 1, 30)),
        (DueBytes(100, 60), epoch_frame_head(100, 60, 3, 30)),
        (DueBytes(160, 60), epoch_frame_head(160, 60, 3, 30)),
        (DueBytes(220, 30), epoch_frame_head(220, 30, 3, 30)),
        (DueBytes(250, 50), epoch_frame_head(250, 50, 4, 30)),
    ]


def test_what_is_confirmed_is_told_at_once_with_an_empty_frame_where_nothing_else_is_sent() -> None:
    leader = Leader(300, 300)
    assert leader.sent() == [(DueBytes(300, 0), epoch_frame_head(300, 0, 4, 0))]
    assert leader.sent() == []
    leader.confirmed = 300
    assert leader.sent(2.0) == [(DueBytes(300, 0), epoch_frame_head(300, 0, 4, 300))]
    assert leader.sent(7.0) == []
    assert leader.sent(7.1) == [(DueBytes(300, 0), epoch_frame_head(300, 0, 4, 300))]  # a heartbeat


@given(st.integers(0, 299), st.integers(1, 120), st.lists(st.integers(1, 400), max_size=30))
def test_a_follower_gets_every_byte_with_its_epoch_however_it_is_split(
    start: int, batch: int, cuts: list[int]
) -> None:
    stream = b"".join(
        head + bytes(HISTORY.at(offset) for offset in range(due.offset, due.offset + due.size))
        for due, head in Leader(start, 300, batch).sent()
    )
    frames = EpochFrames(4, HISTORY.at(max(0, start - 1)))
    following = Following(FollowLimits(5, 20), start, 0.0, frames)
    got: list[int] = []
    for size in [*cuts, len(stream) + 1]:
        part, stream = stream[:size], stream[size:]
        for frame in following.hear(part, 1.0):
            assert set(bytes(frame.data)) <= {frame.epoch}
            got += bytes(frame.data)
    assert got == [HISTORY.at(offset) for offset in range(start, 300)]


@pytest.mark.parametrize("epoch", [5, 2])
def test_bytes_of_an_epoch_that_cannot_be_are_refused(epoch: int) -> None:
    following = Following(FollowLimits(5, 20), 100, 0.0, EpochFrames(epoch=4, last_epoch=3))
    with pytest.raises(FrameError, match=f"sends bytes of epoch {epoch} behind some of epoch 3"):
        list(following.hear(epoch_frame_head(100, 2, epoch, 0) + b"xx", 1.0))
