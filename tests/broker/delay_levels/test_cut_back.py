"""Delay levels beside a log that is cut."""

from __future__ import annotations

import json

from stopped_store import StoppedStoreOnPaper, cut_record, shown

from mqframe.broker.delay_levels.cut_back import LevelsCutBack
from mqframe.core.messages.names import HALF_TOPIC, SCHEDULE_TOPIC


def delayed(level: object, topic: str = "t") -> tuple[object, bytes]:
    return cut_record(topic, f"DELAY\x01{level}\x02"), b""


def put_back(store: StoppedStoreOnPaper, *records: tuple[object, bytes]) -> dict[str, int] | None:
    cut = LevelsCutBack()
    shown(cut, records)
    changes = cut.files(store)
    assert [change.path for change in changes] == ["config/delayOffset.json"] * len(changes)
    return json.loads(changes[0].content)["offsetTable"] if changes else None


def test_levels_go_back_by_what_they_delivered_and_not_behind_their_queues() -> None:
    table = {"offsetTable": {1: 10, 2: 10, 3: 10, 4: 1}}
    store = StoppedStoreOnPaper(first={(SCHEDULE_TOPIC, 1): 6}, tables={"delayOffset.json": table})
    found = put_back(store, *[delayed(1)] * 3, *[delayed(4)] * 2)
    assert found == {"1": 7, "2": 6, "3": 10, "4": 0}


def test_what_waits_is_not_delivered_and_no_level_is_none() -> None:
    store = StoppedStoreOnPaper(tables={"delayOffset.json": {"offsetTable": {1: 10, 2: 10}}})
    waiting = [delayed(1, SCHEDULE_TOPIC), delayed(2, HALF_TOPIC)]
    assert put_back(store, *waiting, delayed(0), delayed("no"), (cut_record("t"), b"")) is None


def test_a_store_without_levels_has_nothing_to_put_back() -> None:
    assert put_back(StoppedStoreOnPaper(), delayed(1)) is None
