"""Checkpoint, notes and tables of a store compared with its log and its queues."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from mqframe.core.cluster.topic_bodies import TopicConfigTable
from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.delay.schedule import DelayOffsetTable
from mqframe.core.messages.names import SCHEDULE_TOPIC
from mqframe.core.storage.recovery import CHECKPOINT_MARGIN_MS
from mqframe.core.wire.loose_json import decode, loads
from mqframe.store.files.checkpoint import Checkpoint
from mqframe.store.files.layout import Layout
from mqframe.store.files.saved_sum import read_sums
from mqframe.store.queues.queue_ends import QueueEnds, read_ends
from mqframe_store_tools.checking.findings import Findings

T = TypeVar("T")


def check_checkpoint(layout: Layout, newest_ms: int, findings: Findings) -> None:
    """`newest_ms`: store time of the log's newest record, 0 for none."""
    path = layout.checkpoint
    if not path.exists():
        if newest_ms:
            findings.add(path, 0, "no file", "a checkpoint: each broker leaves one")
        return
    size = path.stat().st_size
    if size < Checkpoint.BYTES:
        findings.add(path, size, f"{size} bytes", f"at least {Checkpoint.BYTES}")
        return
    checkpoint = Checkpoint(path)
    if not checkpoint.is_known:
        findings.add(path, 0, "numbers with a wrong CRC", "the CRC-32 behind them, or zeros there")
        return
    for at, name in ((0, "log"), (8, "queues")):
        time = getattr(checkpoint, name)
        if time - CHECKPOINT_MARGIN_MS > newest_ms:
            text = f"at most {newest_ms}, the time of the newest record"
            findings.add(path, at, f"{name} on disk up to {time} ms", text)


def check_note(layout: Layout, log_end: int, findings: Findings) -> QueueEnds | None:
    """What the last stop noted, where it may be believed; compared with where the log ends, bytes."""
    path = layout.queue_ends
    if not path.exists():
        return None
    noted = read_ends(path)
    if noted is None:
        findings.add(path, 0, "a note with a wrong CRC, or that is cut off", "a whole one")
        return None
    checkpoint = Checkpoint(layout.checkpoint)
    if (checkpoint.log, checkpoint.queues) > Checkpoint.decode(noted.checkpoint)[:2]:
        return None  # another broker was there since, which leaves the note alone
    files = {int(each.name) for each in layout.commit_log.iterdir() if each.name.isdecimal()}
    oldest = min(files, default=0)
    for base in noted.log_files:
        gone = base not in files and (noted.orderly or base > oldest or not files)
        if gone and not (findings.killed and base < oldest):
            findings.add(
                layout.commit_log, 0, f"no file {base:020d}", "the file, which was there at the last stop"
            )
    if log_end < noted.log_end:
        findings.add(
            layout.commit_log / f"{max((b for b in files if b <= log_end), default=0):020d}",
            log_end - max((b for b in files if b <= log_end), default=0),
            f"the end of the log, at offset {log_end}", f"records up to offset {noted.log_end}, as was noted",
        )  # fmt: skip
    return noted


def known_topics(layout: Layout) -> frozenset[str] | None:
    """The topics that the broker has saved; `None` where it has saved none."""
    saved = _table(layout.config / "topics.json", lambda raw: decode(raw, TopicConfigTable), None)
    return None if saved is None else frozenset(saved.topic_config_table)


def check_tables(layout: Layout, ends: Mapping[tuple[str, int], int], findings: Findings) -> None:
    """The tables in the folder config, and the progress in them against `ends`, of queues."""
    config = layout.config
    if not config.is_dir():
        return
    names = {path.name.removesuffix(".bak") for path in config.iterdir() if path.is_file()}
    for name in sorted(names - {"timercheck", "timermetrics"}):
        if name.endswith(".json") or (config / f"{name}.bak").exists():
            _table(config / name, loads, findings)
            _check_sums(config / name, findings)
    offsets = _table(config / "consumerOffset.json", lambda raw: decode(raw, ConsumerOffsetTable), None)
    for key, queues in () if offsets is None else sorted(offsets.offset_table.items()):
        topic, _, group = key.partition("@")
        for queue_id, offset in sorted(queues.items()):
            _check_progress(
                config / "consumerOffset.json", f"group {group}", (topic, queue_id), offset, ends, findings
            )
    delays = _table(config / "delayOffset.json", lambda raw: decode(raw, DelayOffsetTable), None)
    for level, offset in () if delays is None else sorted(delays.offset_table.items()):
        place = (SCHEDULE_TOPIC, level - 1)
        _check_progress(config / "delayOffset.json", f"delay level {level}", place, offset, ends, findings)


def _check_sums(path: Path, findings: Findings) -> None:
    sums, backup = read_sums(path), path.with_name(f"{path.name}.bak")
    for each in (path, backup):
        if sums is not None and each.is_file() and sums.is_damaged(each.read_bytes(), each, backup):
            findings.add(each, 0, "bytes that differ from their checksum", f"what {path.name}.sum says")


def _check_progress(
    path: Path,
    who: str,
    place: tuple[str, int],
    offset: int,
    ends: Mapping[tuple[str, int], int],
    findings: Findings,
) -> None:
    end = ends.get(place, 0)
    if 0 <= offset <= end:
        return
    topic, queue_id = place
    findings.add(
        path, max(path.read_bytes().find(str(offset).encode()), 0),
        f"{who} at offset {offset} of queue {queue_id} of {topic}", f"an offset from 0 to {end}, its end",
    )  # fmt: skip


def _table(path: Path, read: Callable[[bytes], T], findings: Findings | None) -> T | None:
    """The table in the file at `path`; its damage is told to `findings`, if they are given."""
    try:
        raw = path.read_bytes()
        if raw.strip():
            return read(raw)
        found, at = "an empty file", 0
    except FileNotFoundError:
        found, at = "no file, though there is a copy of its last version (.bak)", 0
    except Exception as problem:  # whatever decoding meets in damaged bytes
        found, at = f"no table: {problem}", _byte_of(problem)
    if findings is not None:
        findings.add(path, at, found, "a table in JSON")
    return None


def _byte_of(problem: Exception) -> int:
    words: Any = str(problem).rpartition("(byte ")[2].rstrip(")")
    return int(words) if words.isdecimal() else 0
