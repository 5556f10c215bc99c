"""Stores of elected groups, and brokers that are of none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mqframe.broker.roles.unelected import NoEpochsPart, NoFollowerPart, refuse_store_of_group
from mqframe.core.errors import Refusal, StoreError
from mqframe.core.requests.admin import GetBrokerEpochCache
from mqframe.core.requests.election import ForceElection


def test_only_a_store_that_a_group_left_its_file_in_is_refused(tmp_path: Path) -> None:
    refuse_store_of_group(tmp_path)
    (tmp_path / "epochFileCheckpoint").write_text("")  # Apache's brokers leave it, too
    refuse_store_of_group(tmp_path)
    (tmp_path / "replica.json").write_text("{}")
    with pytest.raises(StoreError, match=r"its log would differ from theirs .* replica\.json away first"):
        refuse_store_of_group(tmp_path)


def test_a_broker_of_no_group_has_no_epochs_and_is_not_forced_to_lead() -> None:
    call: Any = None
    with pytest.raises(Refusal, match="has no epochs"):
        NoEpochsPart().epochs(GetBrokerEpochCache(), call)
    with pytest.raises(Refusal, match="nothing is forced"):
        NoFollowerPart().force_election(ForceElection(), call)
