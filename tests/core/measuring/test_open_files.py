"""How open files are divided."""

from __future__ import annotations

import pytest

from mqframe.core.measuring.open_files import connections_that_fit, queue_files_that_fit


@pytest.mark.parametrize("files_max", [1, 64, 256, 1024, 65_536, 1 << 20])
def test_two_servers_and_the_queues_leave_an_eighth_to_the_rest(files_max: int) -> None:
    connections, queue_files = connections_that_fit(10**9, files_max), queue_files_that_fit(10**9, files_max)
    assert connections >= 1
    assert queue_files >= 8
    if files_max >= 64:
        assert 2 * connections + queue_files <= files_max * 7 // 8


def test_no_more_than_are_wanted() -> None:
    assert connections_that_fit(20_000, 1 << 20) == 20_000
    assert connections_that_fit(20_000, 1024) == 384
    assert (connections_that_fit(20_000, -1), queue_files_that_fit(1024, -1)) == (20_000, 1024)
    assert queue_files_that_fit(1024, 1 << 20) == 1024
    assert queue_files_that_fit(1024, 1024) == 128
