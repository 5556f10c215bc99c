"""The section `replication` among those of a broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_replication.sections import replication_of
from mqframe_replication.settings import ReplicationSettings

from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.errors import SettingError
from mqframe.store.settings import StoreSettings


def test_a_broker_without_it_has_no_such_role() -> None:
    store = StoreSettings(directory=Path("store"))
    chosen = ReplicationSettings(role="ASYNC_MASTER")
    assert replication_of(BrokerSections(BrokerSettings(), store, replication=chosen)) is chosen
    with pytest.raises(SettingError, match=r"is of the class Alone: .* needs ReplicationSettings"):
        replication_of(BrokerSections(BrokerSettings(), store))
