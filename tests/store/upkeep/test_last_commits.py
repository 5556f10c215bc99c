from __future__ import annotations

import msgspec
import pytest

FILE = 1 << 14


@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize("before", [0, 1, 4])
def test_a_run_is_found_whole_whenever_a_process_began_within_it(opened, message, before, after):
    def put(count, sys_flag=8):
        return tuple(
            store.writes.put(msgspec.structs.replace(message(body=b"x"), sys_flag=sys_flag)).commit_log_offset
            for _ in range(count)
        )

    store = opened(commit_log_file_bytes=FILE)
    put(3)
    put(1, 0)
    run = put(before)
    store.abandon()
    store = opened(commit_log_file_bytes=FILE)
    assert store.recovered.last_commits == run
    run += put(after)
    store.abandon()
    store = opened(commit_log_file_bytes=FILE)
    assert store.recovered.last_commits == run
    put(1, 0)
    store.abandon()
    assert opened(commit_log_file_bytes=FILE).recovered.last_commits == ()
