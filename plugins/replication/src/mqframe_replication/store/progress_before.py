"""Progress that is saved beside a log, as it was before the log's end that is cut off.

That of groups is known here; what services keep, they put back themselves (`CutBack`).
"""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.interfaces.cut_back import CutBack, FileChange, OffsetPlace
from mqframe.store.upkeep.cut_progress import CutProgress
from mqframe_replication.store.store_to_cut import StoreToCut

_OFFSETS = "consumerOffset.json"


def progress_before(store: StoreToCut, services: Sequence[CutBack]) -> CutProgress:
    """Where the progress of a stopped store is to stand without its log's tail, which `services` were shown.

    Raises `StoreError` for a file that cannot be read; OSError.
    """
    changes = [*_groups(store, services)]
    for service in services:
        changes += service.files(store)
    return CutProgress(changes)


def _groups(store: StoreToCut, services: Sequence[CutBack]) -> list[FileChange]:
    table = store.table(_OFFSETS, ConsumerOffsetTable)
    changed = False
    for key, queues in ({} if table is None else table.offset_table).items():
        topic, _, group = key.partition("@")
        for queue_id, offset in queues.items():
            first = store.first_cut(topic, queue_id)
            back = offset if first is None else min(offset, first)
            for service in services:
                back = min(back, service.offset(OffsetPlace(topic, group, queue_id), back, store))
            queues[queue_id] = back
            changed |= back < offset
    return [FileChange(f"config/{_OFFSETS}", dumps(table))] if changed else []
