"""Which messages of a queue a reader gets."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from mqframe.core.storage.record_filter import RecordFilter


class RecordChoice(NamedTuple):
    """What a reader's subscription chooses, as the store's reads take it.

    `codes`: hashes of the tags that match, `None` for all. `records`: asked of each record, `None` for all.
    """

    codes: Collection[int] | None = None
    records: RecordFilter | None = None


EVERY: Final = RecordChoice()
