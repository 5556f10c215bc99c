from __future__ import annotations

from mqframe_replication.rules.in_sync import InSync, InSyncLimits

from mqframe.store.log.confirmed import flushed_and_copied, flushed_as_configured


def test_what_is_flushed_as_configured():
    assert flushed_as_configured(False, lambda: 10, lambda: 5)() == 10
    assert flushed_as_configured(True, lambda: 10, lambda: 5)() == 5


def test_what_both_the_disk_and_copies_have():
    known, flushed = [7], 9
    replicas = InSync(InSyncLimits(2), 3, lambda: known)
    replicas.attach(0, lambda: None)
    port = flushed_and_copied(lambda: flushed, lambda: 10, replicas)
    assert port() == 7
    known[0] = 10
    replicas.heard()
    assert port() == 9
    flushed = 10
    assert port() == 10
