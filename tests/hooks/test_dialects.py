"""Dialects that are installed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from mqframe.core.errors import PluginError
from mqframe.hooks import dialects


@pytest.fixture(autouse=True)
def _ask_anew() -> Iterator[None]:
    dialects.known_keys.cache_clear()
    yield
    dialects.known_keys.cache_clear()


def offer(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    found = [EntryPoint(f"n{at}", value, dialects.GROUP) for at, value in enumerate(values)]
    monkeypatch.setattr(dialects, "entry_points", lambda group: found if group == dialects.GROUP else [])


def test_the_command_line_knows_keys_of_rocketmq() -> None:
    assert {"haListenPort", "tls.server.mode"} <= dialects.known_keys()


def test_without_any_no_key_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch)
    assert dialects.known_keys() == frozenset()


def test_a_broken_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "mqframe.core.config.dialect:NO_DIALECT", "nowhere.at_all:KEYS")
    with pytest.raises(PluginError, match=r"dialect n1 of nowhere\.at_all:KEYS cannot be loaded: ModuleNotF"):
        dialects.known_keys()
