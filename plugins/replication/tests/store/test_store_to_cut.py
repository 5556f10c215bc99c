"""What those see of a store that keep something beside its log, before that is cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_replication.store.closed_log import ClosedLog
from mqframe_replication.store.cut_tail import CutTail
from mqframe_replication.store.store_to_cut import StoreToCut

from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.errors import StoreError
from mqframe.store.files.layout import Layout


async def test_it_shows_queues_tables_and_what_is_cut_off(opened, message, tmp_path: Path) -> None:
    layout, tail = Layout(tmp_path / "store"), CutTail()
    store = opened(layout.root)
    for number in range(12):
        store.writes.put(message("t", 1, b"%d" % number, UNIQ_KEY=f"u{number}"))
    store.dispatch.now()
    await store.stop()
    layout.config.mkdir(exist_ok=True)
    (layout.config / "consumerOffset.json").write_text('{"offsetTable": {"t@g": {"1": 4}}}')
    with ClosedLog(layout) as log:
        for record in [*log.records(log.files[-1])][-2:]:
            tail.take(record)
        shown = StoreToCut(layout, tail, log)
        assert [shown.first_cut("t", queue_id) for queue_id in (1, 2)] == [10, None]
        found = [shown.record("t", 1, offset) for offset in (0, 7, 11, 12)]
        keys = [None if each is None else each.properties.strip("\x02") for each in found]
        assert keys == ["UNIQ_KEY\x01u0", "UNIQ_KEY\x01u7", "UNIQ_KEY\x01u11", None]
        assert shown.record("t", 5, 0) is None
        table = shown.table("consumerOffset.json", ConsumerOffsetTable)
        assert table is not None
        assert table.offset_table == {"t@g": {1: 4}}
        assert shown.table("none.json", ConsumerOffsetTable) is None
        (layout.config / "broken.json").write_text("{")
        with pytest.raises(StoreError, match=r"broken\.json is broken"):
            shown.table("broken.json", ConsumerOffsetTable)
