"""Secrets by name, and inside of values."""

from __future__ import annotations

import pytest
from mqframe_dashboard.masking import MASK, masked


@pytest.mark.parametrize(
    "name",
    ["secretKey", "PASSWORD", "tls.keyPassphrase", "authToken", "clientCredentials", "accessKey", "dbPasswd"],
)
def test_values_are_masked_by_name(name):
    assert masked({name: "hush"}) == {name: MASK}


@pytest.mark.parametrize(
    "value",
    ['{"username":"a","password":"hush"}', "secretKey=hush", "postgresql://me:hush@db/x"],
)
def test_values_are_masked_by_what_is_inside(value):
    assert masked({"initUser": value}) == {"initUser": MASK}


def test_other_values_stay_sorted_by_name():
    given = {"b": "127.0.0.1:9876", "a": "x=1", "password": "", "c": "http://h:1/p"}
    assert list(masked(given).items()) == sorted(given.items())
