"""What slaves keep of quotas, and what they do with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mqframe_quotas.bodies import QuotaTable
from mqframe_quotas.requests import GetKeptQuotas, SetQuota
from mqframe_quotas.rules.limits import Quota
from mqframe_quotas.slave_copies import QuotaCopies
from mqframe_quotas.table import KeptQuotas
from replicas import Pair

from mqframe.core.wire.loose_json import decode, dumps

ALICE = Quota(kind="user", name="alice", read_messages=5)
TABLE = QuotaTable(quotas=[ALICE])


class SlavePort:
    """Of a slave that runs the service, or does not."""

    def __init__(self, served: KeptQuotas | None) -> None:
        self._served = served

    def offered(self, name: str) -> Any:
        assert name == "quotas.kept"
        return None if self._served is None else lambda: self._served


@pytest.mark.parametrize("served", [KeptQuotas(), None], ids=["served", "left out"])
def test_a_table_is_taken_over_once(served: KeptQuotas | None) -> None:
    port: Any = SlavePort(served)
    it = QuotaCopies(port)
    (table,) = it.tables()
    assert isinstance(table.request, GetKeptQuotas)
    assert table.saved[:2] == ("quotas.json", QuotaTable)
    for _ in range(2):
        table.take(TABLE)
        assert table.saved.table.changes == 1
    assert table.saved.table.dump() == TABLE
    assert served is None or table.saved.table is served


async def test_a_slave_has_the_quotas_of_its_master(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        pair.settings["services"] = ("quotas",)
        master = await pair.start("master", "ASYNC_MASTER")
        assert (await pair.invoke(master, SetQuota(), dumps(ALICE))).code == 0
        slave = await pair.start("slave", "SLAVE")
        await pair.settle(10.1)
        saved = (tmp_path / "slave" / "config" / "quotas.json").read_bytes()
        assert decode(saved, QuotaTable) == TABLE
        answer = await pair.invoke(slave, GetKeptQuotas())
        assert decode(bytes(answer.body), QuotaTable) == TABLE
        refused = await pair.invoke(slave, SetQuota(), dumps(ALICE))
        assert (refused.code, "change them there" in refused.remark) == (1, True)
