"""Brokers for the tests of what is plugged into them."""

from __future__ import annotations

from broker.conftest import run as run
