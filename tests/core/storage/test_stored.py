"""Where a stored message lies."""

from __future__ import annotations

from mqframe.core.storage.stored import Stored


def test_consumers_see_a_message_once_its_end_is_confirmed() -> None:
    assert Stored(4096, 7, 200, 1_700_000_000_000).end_offset == 4296
