"""What a copy lacks, and what it ends with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stores import copy_all, put

from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore

RECORDED = Path(__file__).parents[4] / "tests/data/replication"
Open = Callable[..., MessageStore]
Message = Callable[..., Incoming]


def test_the_last_record_is_that_which_lies_last(
    opened: Callable[..., MessageStore], replica: Open, message: Message
) -> None:
    master, slave = opened(), replica()
    assert slave.replica.missing.last_record() is None
    stored = put(master, message("u", body=b"a"), message("t", body=b"b"), message("u", 1, body=b"c"))
    copy_all(master, slave)
    found = slave.replica.missing.last_record()
    assert found is not None
    assert found[0] == stored[-1].commit_log_offset
    assert found[1] == master.search.record_at(found[0])
