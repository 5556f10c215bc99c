from __future__ import annotations

import pytest
from mqframe_pull.puller.raw_pull import RawPull, read_raw

from mqframe.core.consuming.pull import PullStatus
from mqframe.core.errors import BadAnswer
from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire.frame import Frame

QUEUE = MessageQueue("orders", "broker-a", 2)


def answer(code: int, **more: str) -> Frame:
    ext = {"suggestWhichBrokerId": "0", "nextBeginOffset": "9", "minOffset": "3", "maxOffset": "20", **more}
    return Frame(code, flag=1, ext=ext, body=memoryview(b"records"))


def test_records_stay_as_they_come() -> None:
    found = read_raw(answer(0), QUEUE, TagFilter(), "b:1", 3)
    assert found == RawPull(PullStatus.FOUND, b"records", 9, 3, 20)


def test_a_body_without_messages_is_none() -> None:
    assert read_raw(answer(19), QUEUE, TagFilter(), "b:1", 9) == RawPull(PullStatus.NO_NEW_MSG, b"", 9, 3, 20)


def test_found_messages_must_lead_on() -> None:
    with pytest.raises(BadAnswer, match="asked from offset 30, it says to go on at 9"):
        read_raw(answer(0), QUEUE, TagFilter(), "b:1", 30)


def test_offsets_that_a_proxy_counts_anew_are_refused() -> None:
    with pytest.raises(BadAnswer, match="offsets moved by 5"):
        read_raw(answer(0, offsetDelta="5"), QUEUE, TagFilter(), "b:1", 3)
