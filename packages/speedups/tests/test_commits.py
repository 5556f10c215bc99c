"""Commits that compiled code stores leave what those of Python leave: files, answers, numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from drawn import waiting
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mqframe_speedups.commits import Commits
from twins import FIRST, LOG_BYTES, Scene, both, end, half, opened, send

from mqframe.core.codes import FLAG_ONEWAY
from mqframe.core.errors import StoreUnavailable
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC
from mqframe.core.storage.log_scan import LogRecord, scan

KNOWN = [*FIRST, half(4), half(5, "other"), send(6), send(7, "other"), half(8), end(9, 0), end(10, 1)]
"""Topics and queues that are known, two halves that have ended and one that is open."""


def records(log: bytes) -> list[LogRecord]:
    """All records of a log of several files."""
    bases = range(0, len(log), LOG_BYTES)
    return [record for base in bases for record in scan(log[base : base + LOG_BYTES], base)]


async def test_commits_go_the_shorter_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"TAGS": "öä", "KEYS": "a b", "own": "x"}
    reads = [
        *KNOWN,
        half(20) + half(21, "other", e="1", body=b"x" * 500) + half(22, more=more, h="-7", j="2", f="5"),
        end(23, 2), end(24, 3), end(25, 4, flag=FLAG_ONEWAY), end(26, 5), end(27, 2),
        send(30), half(31), end(32, 6, 12), half(33), end(34, 7, 0), end(35, 7), send(36),
    ]  # fmt: skip
    found = await both(tmp_path, monkeypatch, reads)
    made = records(found.log)
    committed = [record for record in made if record.sys_flag & 12 == 8]
    assert [record.topic for record in committed] == ["t", "other", "t", "t", "other", "t", "t"]
    assert len([record for record in made if record.topic == OP_HALF_TOPIC]) == 8
    assert len([record for record in made if record.topic == HALF_TOPIC]) == 8
    assert found.answers.count(b'"code":604,') == 1, "the second end of one half"
    assert found.counts["t"][4]["transaction"][0] == 5
    assert found.native >= 5 + 5


async def test_halves_and_ends_in_one_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An end is for Python, which does not keep what comes behind it from the shorter way."""

    def mixed(scene: Scene) -> bytes:
        ends = [end(30 + n, 2 + n, flag=FLAG_ONEWAY)(scene) for n in range(3)]
        return ends[0] + ends[1] + half(40) + half(41, "other") + ends[2] + send(42) + half(43)

    found = await both(tmp_path, monkeypatch, [*KNOWN, half(20) + half(21), mixed, end(50, 5), send(51)])
    committed = [record for record in records(found.log) if record.sys_flag & 12 == 8]
    assert [record.topic for record in committed] == ["t", "other", "t", "t", "t", "t"]
    assert [found.answers.count(b'"opaque":%d,' % number) for number in (40, 41, 42, 43)] == [1] * 4
    assert found.native >= 2 + 3 + 2 + 1 + 1 + 1 + 1


ODD: dict[str, Any] = {
    "a delay": half(30, more={"DELAY": "3"}),
    "a time": half(30, more={"TIMER_DELAY_SEC": "3"}),
    "a time of immunity": half(30, more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "7"}),
    "a queue that is not there": half(30, e="2"),
    "a topic without messages": half(30, "third", e="1"),
    "many properties": half(30, more={f"p{number}": "x" for number in range(40)}),
    "a checksum": half(30, more={"__CRC32#": "1"}),
    "a checksum in a value": half(30, more={"x": "__CRC32#"}),
    "no key": send(30, f="4", properties="TRAN_MSG\x01true\x02PGROUP\x01producers\x02"),
    "another group": half(30, more={"PGROUP": "others"}),
    "properties just short enough": half(30, more={"x": "y" * 1900}),
    "what is no half": send(30),
}


@pytest.mark.parametrize("odd", ODD)
async def test_what_is_odd_ends_as_ever(odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [*KNOWN, ODD[odd], half(31), end(32, 2), end(33, 3), end(34, 4), half(35)]
    found = await both(tmp_path, monkeypatch, reads)
    assert found.native >= 3
    assert found.answers.count(b'"opaque":35,') == 1


async def test_hosts_of_ipv6_and_a_crc_over_each_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [*KNOWN, half(20), end(21, 2), end(22, 3)]
    await both(tmp_path / "v6", monkeypatch, reads, address=("fd00::17", 4567))
    await both(tmp_path / "crc", monkeypatch, reads, store={"property_crc": True})


async def test_the_log_turns_to_its_next_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [*KNOWN]
    for number in range(60):
        reads += [half(100 + number, body=b"x" * 900), end(200 + number, 3 + number)]
    found = await both(tmp_path, monkeypatch, reads)
    made = records(found.log)
    assert len({record.physical_offset // LOG_BYTES for record in made}) > 1
    assert len([record for record in made if record.sys_flag & 12 == 8]) == 62
    assert found.native >= 100


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
async def test_they_wait_for_the_disk_as_ever(
    flush: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [*KNOWN, half(20) + half(21), end(22, 3), end(23, 4, 12), end(24, 2, flag=FLAG_ONEWAY), send(25)]
    found = await both(tmp_path, monkeypatch, reads, store={"flush": flush})
    assert found.answers.count(b'"code":0,') == len(FIRST) + 7 + 5


async def test_a_disk_that_fails_leaves_it_to_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path) as scene:
        for read in [*KNOWN, half(20)]:
            scene.peer.data_received(read if isinstance(read, bytes) else read(scene))
            await scene.settle()
        commits = scene.broker.service_port.offered("speedups.commits")
        assert isinstance(commits, Commits)
        served, written = commits.served, len(scene.wire.written)
        file = scene.broker.store.files.log.files[-1]

        def fails(at: int, data: bytes) -> None:
            raise StoreUnavailable("no room on the disk")

        with monkeypatch.context() as patched:
            patched.setattr(type(file), "write", lambda *arguments: fails(*arguments[1:]))
            scene.peer.data_received(end(21, 3)(scene))
            await scene.settle()
        assert b'"code":14,' in scene.wire.written[written:]
        scene.peer.data_received(end(22, 3)(scene))
        await scene.settle()
        assert commits.served == served + 1


@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.data())
async def test_any_halves_end_as_by_python(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    reads: list[Any] = [*KNOWN]
    for number in range(data.draw(st.integers(1, 6))):
        reads.append(b"".join(data.draw(waiting(100 + 10 * number + more)) for more in range(2)))
        outcomes = st.sampled_from([8, 8, 8, 12, 0])
        reads += [end(200 + number, at, data.draw(outcomes)) for at in data.draw(st.sets(st.integers(2, 9)))]
    await both(tmp_path_factory.mktemp("twins"), monkeypatch, reads)
