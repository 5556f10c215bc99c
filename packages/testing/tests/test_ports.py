"""Ports for servers that come back where they were."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest
from mqframe_testing.ports import lasting_port

HOLDER = (
    "import sys\nfrom mqframe_testing.ports import lasting_port\nprint(lasting_port(2), flush=True)\ninput()"
)


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Has these ports drawn, in their order; what is left of them."""

    def offered(*ports: int) -> list[int]:
        left = list(ports)
        monkeypatch.setattr(random, "choice", lambda every: left.pop(0))
        return left

    return offered


def free_pair() -> int:
    """A port that is nobody's, as is the next one."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port: int = server.getsockname()[1]
        try:
            with socket.create_server(("127.0.0.1", port)), socket.create_server(("127.0.0.1", port + 1)):
                return port
        except OSError:
            continue


def test_a_port_that_is_taken_or_has_a_taken_one_beside_it_is_passed_over(
    offer: Callable[..., list[int]],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        left = offer(taken, taken - 1, free := free_pair())
        assert lasting_port(1) == free
    assert left == []


def test_what_was_passed_over_can_be_had_once_it_is_free(offer: Callable[..., list[int]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        offer(taken, free_pair())
        assert lasting_port() != taken
    offer(taken)
    assert lasting_port() == taken


def test_a_port_is_given_once_in_a_process_with_those_beside_it(offer: Callable[..., list[int]]) -> None:
    mine = free_pair()
    offer(mine)
    assert lasting_port(1) == mine
    left = offer(mine, mine + 1, mine - 1, other := free_pair())
    assert lasting_port(1) == other
    assert left == []


def test_a_port_is_another_process_s_until_that_is_killed(offer: Callable[..., list[int]]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        theirs = int(holder.stdout.readline())
        left = offer(theirs, theirs + 2, mine := free_pair())
        assert lasting_port() == mine
        assert left == []
        holder.kill()
        holder.wait()
    offer(theirs)
    assert lasting_port(2) == theirs


def test_without_a_free_port_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setattr(random, "choice", lambda every: port)
        with pytest.raises(RuntimeError, match="no free port in 10,000 tries within 12000 and 31999"):
            lasting_port()
