"""What is asked of replication has to go together."""

from __future__ import annotations

import pytest
from mqframe_replication.settings import ReplicationSettings

from mqframe.core.errors import SettingError


def test_no_more_brokers_may_be_the_least_than_are_asked_for() -> None:
    assert ReplicationSettings(in_sync=2, min_in_sync=2).min_in_sync == 2
    with pytest.raises(SettingError, match=r"min_in_sync \(minInSyncReplicas\) = 3 is more than .* = 2: "):
        ReplicationSettings(min_in_sync=3)
