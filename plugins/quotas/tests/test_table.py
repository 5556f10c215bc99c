"""What operators set, over a restart."""

from __future__ import annotations

from mqframe_quotas.bodies import QuotaTable
from mqframe_quotas.rules.limits import Quota
from mqframe_quotas.table import KeptQuotas

ALICE = Quota(kind="user", name="alice", send_bytes=5)


def test_what_was_set_is_saved_and_told_of() -> None:
    told: list[int] = []
    kept = KeptQuotas(lambda: told.append(1))
    kept.put(Quota(kind="user", name="alice", send_bytes=1))
    kept.put(ALICE)
    assert kept.dump() == QuotaTable(quotas=[ALICE])
    assert (kept.changes, len(told)) == (2, 2)
    again = KeptQuotas(lambda: told.append(1))
    again.load(kept.dump())
    assert (again.quotas, again.changes, len(told)) == ({("user", "alice"): ALICE}, 0, 3)
    assert not again.remove("user", "bob")
    assert again.remove("user", "alice")
    assert (again.quotas, again.changes, len(told)) == ({}, 1, 4)
