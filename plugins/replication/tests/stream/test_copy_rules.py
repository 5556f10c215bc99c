"""What a slave acknowledges."""

from __future__ import annotations

from master_end import Target
from mqframe_replication.rules.stream import CopyFrame, frame_head
from mqframe_replication.stream.copy_rules import SlaveRules


def test_all_that_the_log_holds_is_acknowledged_and_nothing_is_reported_in_between() -> None:
    target, reports = Target(), []
    rules = SlaveRules(target)
    frames = rules.begin(lambda: reports.append(rules.acknowledged))
    [frame] = frames.read(frame_head(1000, 2) + b"ab")
    assert frame == CopyFrame(1000, memoryview(b"ab"))
    frames.check(frame)
    rules.coming([frame])
    assert rules.acknowledged == 1000
    target.append_copy(frame.offset, frame.data)
    rules.stored([frame])
    assert rules.acknowledged == 1002
    rules.ended()
    assert reports == []
