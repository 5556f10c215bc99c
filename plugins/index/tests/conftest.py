"""Brokers and stores for the tests of the index."""

from __future__ import annotations

from store.conftest import clock as clock
from store.conftest import message as message
from store.conftest import opened as opened
from store.conftest import small as small
