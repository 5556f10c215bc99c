"""The command as a process: where it listens, and what it says when it cannot."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from mqframe_dashboard.command_line import dashboard
from typer import Typer
from typer.testing import CliRunner

from mqframe.core.errors import SettingError


def test_it_serves_until_it_is_told_to_end(mqframe_cluster):
    command = [sys.executable, "-m", "mqframe", "dashboard", "--port", "0", "--trusted-host", "dash.example"]
    environment = os.environ | {"NAMESRV_ADDR": mqframe_cluster.nameserver}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip().removeprefix("dashboard=")
        try:
            assert address.startswith("http://127.0.0.1:")
            page = httpx.get(address)
            assert page.status_code == 200
            assert "broker-a" in page.text
            assert "server" not in page.headers
            assert httpx.get(address, headers={"host": "dash.example"}).status_code == 200
            assert httpx.get(address, headers={"host": "evil.example"}).status_code == 421
        finally:
            process.send_signal(signal.SIGINT)
            ended = process.wait(30)
    assert ended in (0, 130, -signal.SIGINT)


@pytest.mark.parametrize("nameserver", ["", "foo", "127.0.0.1:99999"])
def test_name_servers_that_make_no_sense_are_refused_before_it_listens(nameserver, monkeypatch):
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    app = Typer()
    app.command()(dashboard)
    result = CliRunner().invoke(app, ["--port", "0", "--nameserver", nameserver])
    assert isinstance(result.exception, SettingError)
    assert "127.0.0.1:9876" in str(result.exception)
    assert "dashboard=" not in result.output


def test_a_port_that_is_taken_is_named():
    app = Typer()
    app.command()(dashboard)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["--port", str(port), "--nameserver", "127.0.0.1:1"])
    assert isinstance(result.exception, SettingError)
    assert f"--port {port}: cannot listen there" in str(result.exception)
