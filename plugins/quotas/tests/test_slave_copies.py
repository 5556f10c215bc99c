"""What slaves keep of quotas, and what they do with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mqframe_quotas.bodies import QuotaTable
from mqframe_quotas.requests import GetKeptQuotas, SetQuota
from mqframe_quotas.rules.limits import Quota
from mqframe_quotas.slave_copies import QuotaCopies
from replicas import Pair

from mqframe.core.wire.loose_json import decode, dumps

ALICE = Quota(kind="user", name="alice", read_messages=5)
TABLE = QuotaTable(quotas=[ALICE])


def test_a_table_is_taken_over_once() -> None:
    port: Any = None
    it = QuotaCopies(port)
    (table,) = it.tables()
    assert isinstance(table.request, GetKeptQuotas)
    assert table.saved[:2] == ("quotas.json", QuotaTable)
    for _ in range(2):
        table.take(TABLE)
        assert table.saved.table.changes == 1
    assert table.saved.table.dump() == TABLE


async def test_a_slave_keeps_the_quotas_of_its_master_for_when_it_is_one(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        pair.settings["services"] = ("quotas",)
        master = await pair.start("master", "ASYNC_MASTER")
        assert (await pair.invoke(master, SetQuota(), dumps(ALICE))).code == 0
        pair.settings["services"] = ()
        await pair.start("slave", "SLAVE")
        await pair.settle(10.1)
        saved = (tmp_path / "slave" / "config" / "quotas.json").read_bytes()
        assert decode(saved, QuotaTable) == TABLE
