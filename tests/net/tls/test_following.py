"""Certificates that are replaced while a server runs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import certificates
import pytest
from certificates import Pems
from mqframe_testing.manual_clock import ManualClock
from peers import ROUTE
from tls_peers import Served, fault

from mqframe.core.errors import SettingError, TlsError
from mqframe.net.tls.contexts import client_context, server_context
from mqframe.net.tls.following import FollowingContext


def replace(old: Pems, new: Pems, *names: str) -> None:
    for name in names:
        shutil.copyfile(getattr(new, name), getattr(old, name) + ".new")
        os.replace(getattr(old, name) + ".new", getattr(old, name))


def test_nothing_is_read_before_its_time(tmp_path: Path) -> None:
    clock, pems = ManualClock(), certificates.make(tmp_path / "old")
    following = FollowingContext(server_context, pems.server(tls_reload_seconds=10), clock)
    first = following.current
    replace(pems, certificates.make(tmp_path / "new"), "cert", "key")
    clock.advance(9.9)
    assert following.current is first
    clock.advance(0.2)
    second = following.current
    assert second is not first
    clock.advance(11)
    assert following.current is second


def test_one_of_two_files_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock, pems, new = (
        ManualClock(),
        certificates.make(tmp_path / "old"),
        certificates.make(tmp_path / "new"),
    )
    following = FollowingContext(server_context, pems.server(), clock)
    first = following.current
    replace(pems, new, "cert")
    for _ in range(3):
        clock.advance(20)
        assert following.current is first
    told = [each for each in caplog.records if "the former stay in force" in each.getMessage()]
    assert len(told) == 1
    replace(pems, new, "key")
    clock.advance(20)
    assert following.current is not first


def test_files_that_are_gone_change_nothing(tmp_path: Path) -> None:
    clock, pems = ManualClock(), certificates.make(tmp_path)
    following = FollowingContext(client_context, pems.client(), clock)
    first = following.current
    Path(pems.ca).unlink()
    clock.advance(20)
    assert following.current is first
    with pytest.raises(SettingError, match="cannot be read"):
        FollowingContext(client_context, pems.client(), clock)


async def test_new_connections_see_the_new_certificate_and_open_ones_go_on(tmp_path: Path) -> None:
    pems, new = certificates.make(tmp_path / "old"), certificates.make(tmp_path / "new")

    async with Served(pems.server(), "asyncio") as it:
        before = it.client(pems.client())
        assert (await before.invoke(it.address, ROUTE("t"), b"1")).body == b"1"
        trusting = new.client()
        replace(pems, new, "cert", "key")
        await it.clock.aadvance(11)
        assert (await before.invoke(it.address, ROUTE("t"), b"2")).body == b"2"
        after = it.client(trusting)
        assert (await after.invoke(it.address, ROUTE("t"), b"3")).body == b"3"
        assert isinstance(
            await fault(it.client(certificates.make(tmp_path / "x").client()), it.address), TlsError
        )
