"""The settings of a message store."""

from __future__ import annotations

import os
from pathlib import Path

from mqframe.core.config.settings import at_least, one_of, setting, settings, within
from mqframe.core.delay.levels import DEFAULT_LEVELS, parse_levels
from mqframe.core.errors import SettingError
from mqframe.core.messages.message import BODY_BYTES_MAX
from mqframe.core.storage.cleaning import DiskLimits, parse_hours
from mqframe.core.storage.file_modes import bad_mode


def _hours(value: str) -> str | None:
    try:
        parse_hours(value)
    except ValueError as problem:
        return str(problem)
    return None


def _levels(value: str) -> str | None:
    try:
        return None if parse_levels(value) else "names no level"
    except SettingError as problem:
        return str(problem)


@settings("store")
class StoreSettings:
    """Where and how messages are kept."""

    directory: Path = setting(
        factory=lambda: Path.home() / "store", doc="root directory of the store", conf="storePathRootDir"
    )
    file_mode: str = setting(
        "600",
        doc="permissions of files that the process makes, octal; folders can be entered by who may read",
        check=bad_mode,
    )
    commit_log_file_bytes: int = setting(
        1 << 30, doc="size of a commit-log file, bytes", check=at_least(4096), conf="mappedFileSizeCommitLog"
    )
    queue_file_bytes: int = setting(
        6_000_000,
        doc="size of a consume-queue file, bytes, a multiple of 20",
        check=lambda value: None if value >= 20 and value % 20 == 0 else "must be a multiple of 20",
        conf="mappedFileSizeConsumeQueue",
    )
    delay_levels: str = setting(
        DEFAULT_LEVELS,
        doc="delays of levels 1, 2, …",
        check=_levels,
        conf="messageDelayLevel",
        was="delay.levels",
    )
    flush: str = setting(
        "ASYNC_FLUSH",
        doc="whether an answer waits for the disk",
        check=one_of("ASYNC_FLUSH", "SYNC_FLUSH"),
        conf="flushDiskType",
    )
    flush_interval_ms: int = setting(
        500, doc="time between asynchronous flushes, ms", check=at_least(1), conf="flushIntervalCommitLog"
    )
    flush_pages_min: int = setting(
        4,
        doc="dirty 4 KiB pages that make an asynchronous flush",
        check=at_least(0),
        conf="flushCommitLogLeastPages",
    )
    flush_thorough_ms: int = setting(
        10_000,
        doc="time after which everything is flushed, ms",
        check=at_least(1),
        conf="flushCommitLogThoroughInterval",
    )
    sync_flush_timeout_ms: int = setting(
        5000, doc="longest wait of an answer for the disk, ms", check=at_least(1), conf="syncFlushTimeout"
    )
    queue_flush_interval_ms: int = setting(
        1000, doc="time between queue flushes, ms", check=at_least(1), conf="flushIntervalConsumeQueue"
    )
    queue_flush_pages_min: int = setting(
        2,
        doc="dirty 4 KiB pages of a queue that make a flush",
        check=at_least(0),
        conf="flushConsumeQueueLeastPages",
    )
    queue_flush_thorough_ms: int = setting(
        60_000,
        doc="time after which all queues, the index and the checkpoint are flushed, ms",
        check=at_least(1),
        conf="flushConsumeQueueThoroughInterval",
    )
    property_crc: bool = setting(
        False,
        doc="end each record with a CRC over all of it, not only over its body",
        conf="enabledAppendPropCRC",
    )
    body_bytes_max: int = setting(
        BODY_BYTES_MAX, doc="largest body, bytes", check=at_least(1), conf="maxMessageSize", live=True
    )
    message_keys_max: int = setting(
        1000, doc="most keys of one message; each is an entry of the index", check=at_least(1)
    )
    batch_messages_max: int = setting(
        16_384,
        doc="most messages of one batch, and most keys of all of them, unique ones not counted",
        check=at_least(1),
    )
    keep_hours: int = setting(
        72,
        doc="age at which commit-log files go, hours",
        check=at_least(0),
        conf="fileReservedTime",
        live=True,
    )
    delete_when: str = setting(
        "04",
        doc="hours of the day at which expired files go, ;-list",
        check=_hours,
        conf="deleteWhen",
        live=True,
    )
    cleanup_interval_ms: int = setting(
        10_000, doc="time between clean-ups, ms", check=at_least(1), conf="cleanResourceInterval"
    )
    disk_limits: bool = setting(True, doc="let the percentages of the disk in use count")
    disk_clean_percent: int = setting(
        75,
        doc="disk in use above which expired files go at any hour, percent",
        check=within(10, 95),
        conf="diskMaxUsedSpaceRatio",
        live=True,
    )
    disk_force_percent: int = setting(
        85, doc="disk in use above which the oldest files go, percent", check=within(10, 99)
    )
    disk_refuse_percent: int = setting(
        90, doc="disk in use above which writes are refused, percent", check=within(10, 99)
    )
    disk_enough_free_bytes: int = setting(
        10 << 30,
        doc="free bytes with which the percentages do not count; 0 lets them always count",
        check=at_least(0),
    )
    check_crc_on_recovery: bool = setting(
        True, doc="check body CRCs when the log is checked", conf="checkCRCOnRecover"
    )
    queue_descriptors_max: int = setting(
        1024, doc="consume-queue files held open", check=at_least(8), conf=None
    )
    hot_bytes: int = setting(
        factory=lambda: os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 2 // 5,
        doc="distance from the end of the log up to which records are likely to be in memory, bytes; beyond "
        "it pulls get less at once. 40 % of the machine's memory, as in Apache RocketMQ",
        check=at_least(0),
    )
    mapped_read_bytes: int = setting(
        64 << 20,
        doc="distance from the end of the log up to which pulls read the map, bytes; beyond it they ask "
        "whether memory holds the record, and read in a thread if not",
        check=at_least(0),
    )
    scan_entries_max: int = setting(800, doc="queue entries looked at for one pull", check=at_least(1))

    @property
    def limits(self) -> DiskLimits:
        """The disk percentages."""
        return DiskLimits(
            self.disk_clean_percent,
            self.disk_force_percent,
            self.disk_refuse_percent,
            self.disk_enough_free_bytes,
        )
