from __future__ import annotations

from mqframe.replication.confirmed import flushed_as_configured


def test_what_is_flushed_as_configured():
    assert flushed_as_configured(False, lambda: 10, lambda: 5)() == 10
    assert flushed_as_configured(True, lambda: 10, lambda: 5)() == 5
