"""A role that an operator gave counts until another one is configured."""

from __future__ import annotations

import pytest
from mqframe_admin.rules.role_change import ChangedRole


@pytest.mark.parametrize(
    ("role", "number", "counts"),
    [("SLAVE", 2, True), ("SLAVE", 1, False), ("ASYNC_MASTER", 2, False), ("SLAVE", 0, False)],
)
def test_it_counts_with_what_was_configured_then(role: str, number: int, counts: bool) -> None:
    changed = ChangedRole(0, 1, configured_id=2, configured_role="SLAVE", role="SYNC_MASTER")
    assert changed.counts_with(role, number) is counts
