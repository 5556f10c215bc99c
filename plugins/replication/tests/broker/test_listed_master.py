"""The master that name servers list: where it is, and whether it is told who follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mqframe_replication.broker.followed_master import MasterUnknown
from mqframe_replication.broker.listed_master import ListedMaster
from mqframe_replication.settings import ReplicationSettings
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.cluster.registration import MasterPlace
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.errors import StoreError
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.manager import PluginManager
from mqframe.store.settings import StoreSettings

PLACE = MasterPlace("10.0.0.1:10911", "10.0.0.1:10912")


class Log(NamedTuple):
    """A log that ends at `max_offset`: a store and its parts in one."""

    settings: StoreSettings
    max_offset: int = 4096

    @property
    def log(self) -> Log:
        return self

    replica = missing = log


class State(NamedTuple):
    store: Log
    clock: ManualClock
    plugins: PluginManager


class Listing:
    """Name servers that list `master` from the time on that they are asked."""

    def __init__(self, master: MasterPlace | None) -> None:
        self.listed, self.master = master, None

    async def find_master(self) -> None:
        self.master = self.listed  # type: ignore[assignment]


class Masters:
    """Any master; it says what it speaks at its replication port, or nothing of that."""

    def __init__(self, protocol: str | None) -> None:
        self.protocol = protocol

    async def invoke(self, address: str, request: GetBrokerRuntimeInfo, timeout: float) -> Frame:
        assert address == PLACE.address
        table = {} if self.protocol is None else {"replicationProtocol": self.protocol}
        return Frame(0, body=dumps(KVTable(table=table)))


def listed(place: MasterPlace | None = PLACE, protocol: str | None = "1", **replication: str) -> ListedMaster:
    sections = BrokerSections(
        BrokerSettings(nameservers=("127.0.0.1:1",)),
        StoreSettings(directory=Path("nowhere")),
        replication=ReplicationSettings(role="SLAVE", id=3, **replication),
    )
    state: Any = State(Log(sections.store), ManualClock(), PluginManager())
    client: Any = Masters(protocol)
    registration: Any = Listing(place)
    return ListedMaster(sections, state, client, registration)


async def test_it_is_known_once_name_servers_were_asked() -> None:
    master = listed()
    with pytest.raises(MasterUnknown, match="no name server knows a master"):
        master.place()
    assert await master.find() == master.place() == PLACE
    with pytest.raises(MasterUnknown):
        await listed(None).find()


async def test_a_replication_address_that_is_set_counts_and_the_other_one_stays() -> None:
    found = await listed(master="10.0.0.7:1").find()
    assert found == MasterPlace(PLACE.address, "10.0.0.7:1")


@pytest.mark.parametrize(
    ("hello", "protocol", "says"),
    [("as_needed", "1", False), ("always", "1", True), ("as_needed", None, False)],
)
async def test_a_hello_is_said_where_it_is_wanted_to_masters_that_take_it(
    hello: str, protocol: str | None, says: bool
) -> None:
    master = listed(protocol=protocol, hello=hello)
    await master.choose_hello(PLACE)
    introduce = master.dialer.introduce
    assert (introduce is not None) is says
    if introduce is not None:
        said = introduce()
        assert (said.id, said.end, said.fetches) == (3, 4096, False)


async def test_a_master_that_takes_no_hello_is_not_followed_where_one_has_to_be_said() -> None:
    with pytest.raises(StoreError, match="does not say that it takes a hello"):
        await listed(protocol=None, hello="always").choose_hello(PLACE)
