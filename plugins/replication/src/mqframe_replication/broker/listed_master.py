"""The master that name servers list under this broker's name, or that the settings name."""

from __future__ import annotations

import secrets
from typing import Final

import msgspec

from mqframe.broker.cluster.registration import MasterPlace, NameServerRegistration
from mqframe.broker.sections import BrokerSections
from mqframe.broker.state import BrokerState
from mqframe.core.errors import StoreError
from mqframe.net.access.access import Access
from mqframe.net.client import Client
from mqframe.store.files.layout import Layout
from mqframe_replication.broker.comparison import Comparison
from mqframe_replication.broker.cutting_back import CuttingBack
from mqframe_replication.broker.followed_master import (
    FollowTimes,
    MasterUnknown,
    copy_of,
    dialer_of,
    hello_of,
    is_secured,
)
from mqframe_replication.rules.hello import Hello, Welcome
from mqframe_replication.sections import replication_of
from mqframe_replication.settings import ALWAYS
from mqframe_replication.stream.copy_rules import SlaveRules

LOOK_SECONDS: Final = 1.0


class ListedMaster:
    """The `FollowedMaster` of a slave that is in no elected group."""

    def __init__(
        self,
        sections: BrokerSections,
        state: BrokerState,
        client: Client,
        registration: NameServerRegistration,
    ) -> None:
        self._settings = settings = replication_of(sections)
        self._store = store = state.store
        replica = copy_of(store)
        self._registration = registration
        self._comparison = Comparison(store, replica.missing, client)
        self._secured = is_secured(sections)
        self._greets = self._secured or settings.hello == ALWAYS
        self._hello = hello_of(sections, secrets.token_hex(8))
        self.dialer = dialer_of(sections, state.clock)
        self.rules = SlaveRules(replica)
        self.times = FollowTimes(LOOK_SECONDS, settings.retry_ms / 1000, settings.tables_interval_ms / 1000)
        self.cutting_back = CuttingBack(
            self._comparison, Layout(store.settings.directory), state.clock, state.plugins
        )

    @property
    def known_end(self) -> int:
        """As `FollowedMaster.known_end`."""
        return self._comparison.end

    def enforce(self, access: Access) -> None:
        """As `FollowedMaster.enforce`."""
        if access.authentication is not None:
            self._greets = True
            self.dialer.signer = access.signer()

    async def find(self) -> MasterPlace:
        """As `FollowedMaster.find`: name servers are asked."""
        # It may be back, or be another one, since this broker registered the last time.
        await self._registration.find_master()
        return self.place()

    def place(self) -> MasterPlace:
        """As `FollowedMaster.place`."""
        master = self._registration.master
        if master is None:
            raise MasterUnknown("no name server knows a master of this broker's name")
        return master._replace(replication_address=self._settings.master or master.replication_address)

    async def choose_hello(self, place: MasterPlace) -> None:
        """Say hello to masters of mqframe only. Raises `StoreError` where another one has to be told."""
        greets = self._greets and await self._comparison.takes_hello(place.address)
        if not greets and (self._secured or self._settings.hello == ALWAYS):
            raise StoreError(
                f"the master {place.address} does not say that it takes a hello, or TLS, at its replication"
                " port: masters of RocketMQ, which take whatever comes for a report, get none. To follow one,"
                " set replication.tls = off and replication.hello = as_needed"
            )
        self.dialer.introduce = self._introduce if greets else None

    def _introduce(self) -> Hello:
        return msgspec.structs.replace(self._hello, end=self._store.log.max_offset)

    async def compare(self, place: MasterPlace, welcome: Welcome | None) -> None:
        """As `FollowedMaster.compare`; `LogsDiffer` where the beginnings may be alike."""
        await self._comparison.compare(place.address)
