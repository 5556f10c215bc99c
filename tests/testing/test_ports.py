"""Ports for servers that come back where they were."""

from __future__ import annotations

import random
import socket

import pytest

from mqframe.testing.ports import lasting_port


def test_a_port_that_is_taken_or_has_a_taken_one_beside_it_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = lasting_port(1, 2)
    offered = [taken, taken - 1, taken + 1]
    monkeypatch.setattr(random, "choice", lambda ports: offered.pop(0))
    with socket.create_server(("127.0.0.1", taken)):
        assert lasting_port(1) == taken + 1
    assert offered == []
