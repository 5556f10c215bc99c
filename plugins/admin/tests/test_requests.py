"""Requests of operators whose fields have other names in other versions."""

from __future__ import annotations

import pytest
from mqframe_admin.requests import DeleteSubscriptionGroup

from mqframe.core.requests import decode_fields, encode_fields


@pytest.mark.parametrize("name", ["cleanOffset", "removeOffset"])
def test_the_progress_of_a_group_goes_by_either_name_that_the_versions_have_for_it(name: str) -> None:
    asked = decode_fields({"groupName": "g", name: "true"}, DeleteSubscriptionGroup)
    assert encode_fields(asked) == {"groupName": "g", "cleanOffset": "true", "removeOffset": "true"}
    assert asked == DeleteSubscriptionGroup("g", True)
    assert encode_fields(DeleteSubscriptionGroup("g")) == {"groupName": "g"}
