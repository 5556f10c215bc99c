"""What a broker reads of the section of its role, where there is none."""

from __future__ import annotations

import attrs

from mqframe.broker.role_settings import ASYNC_MASTER, Alone
from mqframe.broker.settings import BrokerSettings


def test_a_broker_without_a_section_is_alone_and_goes_with_everything() -> None:
    alone = Alone()
    assert (alone.plugin, alone.is_slave, alone.shown_role, alone.broker_id) == (
        "none",
        False,
        ASYNC_MASTER,
        0,
    )
    assert (alone.SECTION, alone.slave_reads, alone.offset_check) == ("replication", None, False)
    alone.check(BrokerSettings(services=("mine",)))
    assert alone.on_any_port() is alone
    assert not attrs.fields(Alone), "there is nothing to set"
