"""Names that are typed once more."""

from __future__ import annotations

import pytest
from mqframe_dashboard.changes.confirming import check_confirmed, confirmation
from mqframe_dashboard.changes.posted import Values
from mqframe_dashboard.query import BadQuery


def test_only_the_name_itself_confirms():
    check_confirmed(Values({"confirm": [" orders "]}), "orders")
    for typed in ("", "order", "Orders"):
        with pytest.raises(BadQuery, match="nothing was done"):
            check_confirmed(Values({"confirm": [typed]}), "orders")
    assert "name of the topic" in confirmation("topic").label
