"""The command as a process: where it listens, and what it says when it cannot."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from mqframe_dashboard.command_line import dashboard, dashboard_user
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


def test_users_of_a_file_sign_in_and_changes_are_logged(mqframe_cluster, tmp_path):
    line = CliRunner().invoke(users_app(), ["ann", "--secret-file", "-"], input="her secret\n")
    (tmp_path / "users").write_text(line.output)
    command = [sys.executable, "-m", "mqframe", "dashboard", "--port", "0"]
    command += ["--sign-in", f"file:{tmp_path / 'users'}"]
    environment = os.environ | {"NAMESRV_ADDR": mqframe_cluster.nameserver}
    log = (tmp_path / "log").open("w+")
    with (
        log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment) as process,
    ):
        assert process.stdout is not None
        address = process.stdout.readline().strip().removeprefix("dashboard=")
        try:
            with httpx.Client(base_url=address, headers={"origin": address.rstrip("/")}) as client:
                form = {"user": "ann", "secret": "her secret"}
                assert client.post("sign-in", data=form).status_code == 303
                token = re.search('name="token" value="([^"]+)"', client.get("topic-create").text)
                assert token
                form = {"token": token[1], "ticket": "1", "name": "new", "queues": "1", "perm": "6"}
                assert "Topic new was created" in client.post("topic-create", data=form).text
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
        log.seek(0)
        text = log.read()
    assert "dashboard session" in text
    assert "dashboard topic-create" in text
    assert "'name': 'new'" in text
    assert "her secret" not in text


def users_app() -> Typer:
    app = Typer()
    app.command()(dashboard_user)
    return app


def test_a_secret_is_asked_for_or_read(tmp_path):
    asked = CliRunner().invoke(users_app(), ["ann"], input="quiet\nquiet\n")
    assert asked.exit_code == 0
    assert "quiet" not in asked.output
    assert "ann:scrypt:" in asked.output
    other = CliRunner().invoke(users_app(), ["ann"], input="quiet\nother\n")
    assert "ann:scrypt:" not in other.output
    missing = CliRunner().invoke(users_app(), ["ann", "--secret-file", str(tmp_path / "none")])
    assert isinstance(missing.exception, SettingError)
    assert "cannot be read" in str(missing.exception)


def test_other_ways_to_sign_in_are_refused():
    app = Typer()
    app.command()(dashboard)
    result = CliRunner().invoke(app, ["--port", "0", "--nameserver", "127.0.0.1:1", "--sign-in", "yes"])
    assert isinstance(result.exception, SettingError)
    assert "--sign-in yes: must be cluster" in str(result.exception)
