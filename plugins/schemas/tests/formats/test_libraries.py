"""Libraries of the extras."""

from __future__ import annotations

import json

import pytest
from mqframe_schemas.formats.libraries import library

from mqframe.core.errors import PluginError


def test_what_is_installed_is_imported() -> None:
    assert library("json", "json") is json


def test_what_is_not_says_how_to_install_it() -> None:
    with pytest.raises(
        PluginError, match=r'need no_such_library, .*pip install "mqframe-plugin-schemas\[avro\]"'
    ):
        library("no_such_library.reader", "avro")
