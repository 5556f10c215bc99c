"""That no file can be opened is told once a minute, and so is that one can."""

from __future__ import annotations

import errno
import resource

import pytest
from mqframe_cli.processes.descriptors import DescriptorWatch, lacks_descriptors, open_one
from mqframe_testing.manual_clock import ManualClock


async def test_the_shortage_is_an_error_a_minute_and_its_end_another(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lacking: list[OSError] = []

    def probe() -> None:
        for problem in lacking:
            raise problem

    clock = ManualClock()
    watch = DescriptorWatch(clock, probe)
    clock.advance(10)
    lacking.append(OSError(errno.EIO, "of the disk, which others tell"))
    clock.advance(10)
    lacking[:] = [OSError(errno.EMFILE, "Too many open files")]
    clock.advance(1)
    watch.note(lacking[0])  # as the loop may say it, too
    for _ in range(64):
        clock.advance(1)
    lacking.clear()
    clock.advance(1)
    watch.stop()
    clock.advance(10)
    told = [(each.levelname, each.getMessage().partition(" problem=")[0]) for each in caplog.records]
    assert told == [
        ("ERROR", "no connection is accepted at the moment"),
        ("ERROR", "no connection is accepted at the moment count=61"),
        ("ERROR", "connections are accepted again after_seconds=65"),
    ]
    assert "LimitNOFILE" in caplog.records[0].getMessage()


def test_the_probe_finds_that_the_limit_is_reached() -> None:
    open_one()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        with pytest.raises(OSError, match="open files") as problem:
            open_one()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert lacks_descriptors(problem.value)


def test_only_missing_descriptors_are_missing_descriptors() -> None:
    assert lacks_descriptors(OSError(errno.EMFILE, ""))
    assert lacks_descriptors(OSError(errno.ENFILE, ""))
    assert not lacks_descriptors(OSError(errno.ENOSPC, ""))
    assert not lacks_descriptors(ValueError())
