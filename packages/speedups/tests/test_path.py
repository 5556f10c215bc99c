"""Sends and pulls of one read, in the order in which they came, whatever fails."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from mqframe_index.store.indexing import FileIndexing
from test_pulls import STORED, counters, frames, given
from twins import FIRST, batch, opened, pull, send

from mqframe.core.storage.record import decode_records


@pytest.mark.parametrize("what", ["PullPath._serve", "PullPath._admit"])
async def test_a_pull_that_fails_is_served_as_ever(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*arguments: Any) -> None:
        raise RuntimeError("by design")

    async with opened(tmp_path) as scene:
        await given(scene, *STORED, pull(100, 0))
        monkeypatch.setattr(f"mqframe_speedups.pulls.{what}", failing)
        scene.wire.written = b""
        caplog.set_level(logging.ERROR, "mqframe.broker")
        await given(scene, send(200) + pull(201, 0) + send(202))
        answers = frames(scene.wire.written)
        assert list(answers) == [200, 201, 202]
        assert [m.queue_offset for m in decode_records(answers[201].body)] == list(range(32))
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert "the shorter way of requests failed" in caplog.text
        assert scene.broker.service_port.counts.put.total == 4 + 60 + 40 + 2, "nothing is stored twice"
        assert (counters(scene)["speedups.sends"], counters(scene)["speedups.pulls"]) == ("102", "32")


async def test_a_send_that_fails_is_served_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*arguments: Any) -> None:
        raise RuntimeError("by design")

    async with opened(tmp_path) as scene:
        await given(scene, *STORED, pull(100, 0))
        monkeypatch.setattr("mqframe_speedups.sends.SendPath._place", failing)
        scene.wire.written = b""
        caplog.set_level(logging.ERROR, "mqframe.broker")
        await given(scene, pull(201, 0) + send(202) + pull(203, 0))
        assert list(frames(scene.wire.written)) == [201, 202, 203]
        assert "the shorter way of requests failed" in caplog.text
        assert counters(scene)["speedups.pulls"] == "96"


async def test_pulls_have_it_where_sends_have_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqframe_speedups.sends.NotesElsewhere", FileIndexing)  # as no index is
    async with opened(tmp_path) as scene:
        await given(scene, *STORED, *FIRST, pull(100, 0) + send(101) + pull(102, 0))
        assert {"speedups.sends", "speedups.pulls"} & counters(scene).keys() == {"speedups.pulls"}
        assert counters(scene)["speedups.pulls"] == "64"
        assert list(frames(scene.wire.written))[-3:] == [100, 101, 102]


class Turns(list[int]):
    """Stands for a `BusyPoll`: how many requests came with each read after which more may be near."""

    turn = list[int].append


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
async def test_after_which_reads_the_next_request_is_looked_for(flush: str, tmp_path: Path) -> None:
    async with opened(tmp_path, store={"flush": flush}) as scene:
        await given(scene, *STORED, pull(100, 0))
        scene.peer._group.busy_poll = turns = Turns()  # type: ignore[assignment]
        await given(scene, send(200))
        assert turns == [1], "it may be one that is waited for before the next one"
        await given(scene, pull(201, 0), pull(202, 0) + pull(203, 1), batch(204, 3), batch(205, 1))
        assert turns == [1, 1], "who got messages has work, and who sent several"
        await given(scene, send(206) + send(207), send(208) + batch(209, 2), pull(210, 10**6))
        assert turns == [1, 1, 2, 1], "nobody knows of what Python serves"
        assert counters(scene) == {"speedups.sends": "110", "speedups.pulls": "128"}
