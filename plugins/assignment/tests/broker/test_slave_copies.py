"""What slaves keep of assignments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mqframe_assignment.broker.slave_copies import RequestModeCopies
from mqframe_assignment.requests import GetAllMessageRequestMode, SetMessageRequestMode
from mqframe_assignment.rules.bodies import RequestModeBody, RequestModeTable
from mqframe_assignment.rules.request_modes import RequestModes
from replicas import Pair

from mqframe.core.requests.admin import UpdateAndCreateTopic
from mqframe.core.wire.loose_json import decode, dumps, loads

MODE = RequestModeBody("t", "g", "POP", 3)
TABLE = RequestModeTable({"t": {"g": MODE}})


class Port:
    """Of a slave that runs the service, or does not."""

    def __init__(self, served: RequestModes | None) -> None:
        self._served = served

    def offered(self, name: str) -> Any:
        assert name == "assignment.modes"
        return None if self._served is None else lambda: self._served


@pytest.mark.parametrize("served", [RequestModes(), None], ids=["served", "left out"])
def test_a_table_is_taken_over_once(served: RequestModes | None) -> None:
    port: Any = Port(served)
    it = RequestModeCopies(port)
    (table,) = it.tables()
    assert isinstance(table.request, GetAllMessageRequestMode)
    assert table.saved[:2] == ("messageRequestMode.json", RequestModeTable)
    assert (table.saved.at_once, list(it.files())) == (True, [])
    for _ in range(2):
        table.take(TABLE)
        assert table.saved.table.changes == 1
    assert table.saved.table.dump() == TABLE
    assert served is None or table.saved.table is served


@pytest.mark.parametrize("blocked", [(), ("assignment",)], ids=["served", "left out"])
async def test_a_slave_saves_the_modes_of_its_master(blocked: tuple[str, ...], tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "ASYNC_MASTER")
        topic = UpdateAndCreateTopic(topic="t", read_queue_nums=2, write_queue_nums=2, perm=6)
        await pair.invoke(master, topic)
        assert (await pair.invoke(master, SetMessageRequestMode(), dumps(MODE))).code == 0
        pair.settings["services_blocked"] = blocked
        slave = await pair.start("slave", "SLAVE")
        await pair.settle(10.1)
        saved = loads((tmp_path / "slave" / "config" / "messageRequestMode.json").read_bytes())
        assert decode(dumps(saved), RequestModeTable) == TABLE
        answer = await pair.invoke(slave, GetAllMessageRequestMode())
        if blocked:
            assert answer.code == 3
        else:
            assert decode(bytes(answer.body), RequestModeTable) == TABLE
            refused = await pair.invoke(slave, SetMessageRequestMode(), dumps(MODE))
            assert (refused.code, "change them there" in refused.remark) == (1, True)
