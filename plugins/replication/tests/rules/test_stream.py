"""Reports and frames of real masters and slaves, and however else bytes may come."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_replication.rules.stream import (
    FRAME_BYTES_MAX,
    CopyFrame,
    EpochFrame,
    EpochFrameReader,
    FrameReader,
    ReportReader,
    encode_report,
    epoch_frame_head,
    frame_head,
)

from mqframe.core.errors import FrameError

FOLDER = Path(__file__).parents[4] / "tests/data/replication"


def sessions() -> list[tuple[Path, dict[str, Any]]]:
    return [
        (manifest.parent, connection)
        for manifest in sorted(FOLDER.glob("*/manifest.json"))
        for connection in json.loads(manifest.read_text())["connections"]
    ]


SESSIONS = sessions()
NAMES = [f"{folder.name}-{connection['conn']}" for folder, connection in SESSIONS]


def parts_of(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(places)]


def test_there_are_sessions_of_both_versions() -> None:
    assert NAMES == ["4.9.7-1", "4.9.7-2", "5.3.3-1", "5.3.3-2"]


@pytest.mark.parametrize(("folder", "connection"), SESSIONS, ids=NAMES)
def test_recorded_reports_are_read_and_written_as_they_were(folder: Path, connection: dict[str, Any]) -> None:
    raw = (folder / connection["slaveFile"]).read_bytes()
    reports = ReportReader().read(raw)
    assert reports == connection["reports"]
    assert b"".join(map(encode_report, reports)) == raw


@pytest.mark.parametrize(("folder", "connection"), SESSIONS, ids=NAMES)
def test_recorded_frames_are_read_and_written_as_they_were(folder: Path, connection: dict[str, Any]) -> None:
    raw = (folder / connection["masterFile"]).read_bytes()
    frames = FrameReader().read(raw)
    assert [[frame.offset, len(frame.data)] for frame in frames] == connection["frames"]
    assert b"".join(frame_head(at, len(data)) + data for at, data in frames) == raw


@pytest.mark.parametrize("version", ["4.9.7", "5.3.3"])
def test_the_payloads_of_a_session_are_the_slaves_log(version: str) -> None:
    known = json.loads((FOLDER / version / "manifest.json").read_text())
    log = b"".join(
        frame.data
        for connection in known["connections"]
        for frame in FrameReader().read((FOLDER / version / connection["masterFile"]).read_bytes())
    )
    assert hashlib.sha256(log).hexdigest() == known["slaveLog"]["sha256"]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.integers(0, 1000)))
def test_reports_are_the_same_however_they_are_split(offsets: list[int], cuts: list[int]) -> None:
    reader = ReportReader()
    raw = b"".join(map(encode_report, offsets))
    assert [each for part in parts_of(raw, cuts) for each in reader.read(part)] == offsets


FRAMES = st.lists(st.builds(CopyFrame, st.integers(0, 2**63 - 1), st.binary(max_size=200)))


@given(FRAMES, st.lists(st.integers(0, 2000)), st.binary(max_size=11))
def test_frames_are_the_same_however_they_are_split(
    frames: list[CopyFrame], cuts: list[int], tail: bytes
) -> None:
    reader = FrameReader()
    raw = b"".join(frame_head(at, len(data)) + data for at, data in frames) + tail
    assert [each for part in parts_of(raw, cuts) for each in reader.read(part)] == frames


@pytest.mark.parametrize(
    "head", [frame_head(-1, 0), frame_head(0, -1), frame_head(0, 4 << 20), b"GET / HTTP/1.1"]
)
def test_what_no_master_sends_is_refused_at_its_head(head: bytes) -> None:
    with pytest.raises(FrameError, match="no replication port of a master"):
        FrameReader().read(head)


EPOCH_FRAMES = st.lists(
    st.builds(
        EpochFrame,
        st.integers(0, 2**63 - 1),
        st.binary(max_size=200),
        st.integers(0, 2**31 - 1),
        st.integers(0, 2**63 - 1),
    )
)


@given(EPOCH_FRAMES, st.lists(st.integers(0, 2000)), st.binary(max_size=23))
def test_frames_with_epochs_are_the_same_however_they_are_split(
    frames: list[EpochFrame], cuts: list[int], tail: bytes
) -> None:
    reader = EpochFrameReader()
    raw = b"".join(epoch_frame_head(at, len(data), *rest) + data for at, data, *rest in frames) + tail
    assert [each for part in parts_of(raw, cuts) for each in reader.read(part)] == frames


def test_an_epoch_and_what_is_confirmed_stand_behind_the_plain_head() -> None:
    head = epoch_frame_head(5, 3, 7, 9)
    assert head == frame_head(5, 3) + b"\0\0\0\7" + b"\0\0\0\0\0\0\0\x09"
    assert EpochFrameReader().read(head + b"abc") == [EpochFrame(5, b"abc", 7, 9)]


@pytest.mark.parametrize(
    "head",
    [
        epoch_frame_head(-1, 0, 1, 0),
        epoch_frame_head(0, -1, 1, 0),
        epoch_frame_head(0, 0, -1, 0),
        epoch_frame_head(0, 0, 1, -1),
        epoch_frame_head(0, FRAME_BYTES_MAX - 23, 1, 0),
        b"GET / HTTP/1.1 and more of it",
    ],
)
def test_what_no_elected_leader_sends_is_refused_at_its_head(head: bytes) -> None:
    with pytest.raises(FrameError, match="no replication port of a master"):
        EpochFrameReader().read(head)
