"""`mqframe config show`: every setting with its origin."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pytest
from command_runs import read, refused, run
from mqframe_cli.app import app
from typer.testing import CliRunner

from mqframe.core.config.programs import PROGRAMS
from mqframe.hooks.manager import PluginManager


def test_config_show_tells_values_and_origins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "server.toml"
    file.write_text(
        '[store]\nkeep_hours = 24\nflush = "SYNC_FLUSH"\n[plugins.consistent_hash]\nvirtual_nodes = 5\n'
    )
    monkeypatch.setenv("MQFRAME_BROKER_NAME", "broker-c")
    words = ("config", "show", "--config", str(file), "--set", "store.keep_hours=12", "--changed", "--json")
    rows = {row["setting"]: (row["value"], row["origin"]) for row in json.loads(run(*words))}
    assert rows["store.keep_hours"] == (12, "command line --set store.keep_hours")
    assert rows["store.flush"] == ("SYNC_FLUSH", f"{file} [store]")
    assert rows["broker.name"] == ("broker-c", "variable MQFRAME_BROKER_NAME")
    assert rows["plugins.consistent_hash.virtual_nodes"][0] == 5
    assert set(rows) == {
        "store.keep_hours",
        "store.flush",
        "broker.name",
        "plugins.consistent_hash.virtual_nodes",
    }


def test_config_show_of_clients_knows_their_sections() -> None:
    rows = json.loads(run("config", "show", "--for", "client", "--json"))
    assert {row["setting"].partition(".")[0] for row in rows} == {
        *PROGRAMS["client"],
        "lite_pull",
        "puller",
        "simple",
    }
    assert {row["origin"] for row in rows} == {"default"}


def test_config_show_tells_what_a_client_of_a_profile_would_use(tmp_path: Path) -> None:
    file = tmp_path / "app.toml"
    file.write_text(
        '[consumer]\nallocate = "consistent_hash"\nconsume_hooks = ["trace"]\n'
        '[consumer.audit]\ngroup = "audit"\n[plugins.trace]\nflush_seconds = 1\n'
    )
    words = ("config", "show", "--for", "client", "--config", str(file), "--profile", "audit", "--json")
    rows = {row["setting"]: (row["value"], row["origin"]) for row in json.loads(run(*words))}
    assert rows["consumer.group"] == ("audit", f"{file} [consumer.audit]")
    assert rows["consumer.allocate"] == ("consistent_hash", f"{file} [consumer]")
    assert rows["plugins.consistent_hash.virtual_nodes"] == (10, "default")
    assert rows["plugins.trace.flush_seconds"] == (1.0, f"{file} [plugins.trace]")


def test_config_show_tells_the_options_of_each_section_apart(tmp_path: Path) -> None:
    file = tmp_path / "app.toml"
    file.write_text(
        '[consumer]\nallocate = "consistent_hash"\n[consumer.a.plugins.consistent_hash]\nvirtual_nodes = 3\n'
        '[lite_pull]\nallocate = "consistent_hash"\nallocate_options = { virtual_nodes = 4 }\n'
    )
    words = ("config", "show", "--for", "client", "--config", str(file), "--profile", "a", "--json")
    rows = {row["setting"]: (row["value"], row["origin"]) for row in json.loads(run(*words))}
    found = {path: row for path, row in rows.items() if path.endswith("virtual_nodes")}
    assert found == {
        "consumer.plugins.consistent_hash.virtual_nodes": (3, f"{file} [consumer.a]"),
        "lite_pull.plugins.consistent_hash.virtual_nodes": (4, f"{file} [lite_pull.allocate_options]"),
    }
    assert rows["lite_pull.allocate_options"][0] == {"virtual_nodes": 4}


def test_config_show_keeps_secrets_of_plugins(tmp_path: Path) -> None:
    file = tmp_path / "app.toml"
    file.write_text('[client]\nrpc_hooks = ["acl"]\n[plugins.acl]\naccess_key = "a"\nsecret_key = "hidden"\n')
    text = run("config", "show", "--for", "client", "--config", str(file), "--json")
    assert "hidden" not in text
    rows = {row["setting"]: row["value"] for row in json.loads(text)}
    assert (rows["plugins.acl.secret_key"], rows["plugins.acl.access_key"]) == ("(secret)", "a")


def test_config_show_writes_settings_as_files_have_them() -> None:
    text = run("config", "show")
    (line,) = [line for line in text.splitlines() if "broker.auto_create_topics" in line]
    assert line.split()[1:3] == ["true", "default"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "store.fluhs=x"], "did you mean store.flush"),
        (["--set", "broker.port=70000"], "broker.port"),
        (["--for", "toaster"], "toaster"),
        (["--config", "missing.toml"], "missing.toml"),
        (["--profile", "a"], "--profile a: there is none of that name"),
        (["--for", "nameserver", "--profile", "a"], "name servers have no profiles"),
        (["--for", "client", "--profile", "a"], "there is no profile ["),
        (["--set", "plugins.paquet.path=x"], "did you mean parquet"),
        (["--set", "broker.dispatchers=parquet", "--set", "plugins.parquet.pathh=x"], "option pathh"),
    ],
)
def test_config_show_refuses_what_a_start_would_refuse(words: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["config", "show", *words])
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_broker_conf_means_the_broker(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("listenPort=20911\nbrokerRole=ASYNC_MASTER\ndiskFallRecorded=true\n")
    result = CliRunner().invoke(app, ["config", "show", "--config", str(file), "--changed", "--json"])
    assert [(row["setting"], row["value"]) for row in json.loads(result.stdout)] == [
        ("broker.port", 20911),
        ("replication.role", "ASYNC_MASTER"),
    ]
    assert "diskFallRecorded" in result.stderr


def test_config_show_keeps_secrets_of_servers() -> None:
    words = ("--set", "access.initial_user=admin:hidden", "--set", "net.tls_server_key_password=hidden")
    rows = {row["setting"]: row["value"] for row in json.loads(run("config", "show", *words, "--json"))}
    assert rows["access.initial_user"] == rows["net.tls_server_key_password"] == "(secret)"
    assert rows["access.inner_credentials"] == ""
    assert "hidden" not in str(rows)


GROUP = """
[replication]
role = "ELECTED"
id = 1
[election]
coordination = "sqlite"
lease_ms = 4000
[plugins.sqlite]
file = "group.sqlite"
"""


def test_the_file_of_an_elected_group_is_shown_with_its_origin(tmp_path: Path) -> None:
    file = tmp_path / "broker-1.toml"
    file.write_text(GROUP)
    words = ("config", "show", "--for", "broker", "--config", str(file), "--json")
    rows = {row["setting"]: (row["value"], row["origin"]) for row in json.loads(run(*words))}
    assert rows["election.lease_ms"] == (4000, f"{file} [election]")
    assert rows["election.coordination"] == ("sqlite", f"{file} [election]")
    assert rows["plugins.sqlite.file"] == ("group.sqlite", f"{file} [plugins.sqlite]")
    assert rows["election.renew_ms"] == (1500, "default")


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("lease_ms", "leese_ms", "did you mean election.lease_ms"),
        ('"sqlite"', '"sqlight"', "did you mean sqlite?"),
        ("4000", "2000", "election.lease_ms = 2000 is shorter than twice election.renew_ms = 1500"),
    ],
)
def test_what_is_wrong_in_it_is_named(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    file = tmp_path / "broker-1.toml"
    file.write_text(GROUP.replace(right, wrong))
    result = CliRunner().invoke(app, ["config", "show", "--for", "broker", "--config", str(file)])
    assert result.exit_code == 2
    assert said in result.output


def test_a_setting_of_a_running_broker_is_set_shown_and_unset(at: str) -> None:
    def shown() -> dict[str, Any]:
        rows = read("config", "show", "--broker", "broker-a")
        return {row["setting"]: row for row in rows}

    fixed = shown()["store.commit_log_file_bytes"]
    assert (fixed["value"], fixed["live"]) == ("16777216", False)
    assert fixed["origin"] == "command line --set store.commit_log_file_bytes"
    (row,) = read("config", "set", "store.body_bytes_max", "1000000", "--broker", "broker-a")
    assert (row["broker"], row["setting"], row["after"]) == ("broker-a", "store.body_bytes_max", "1000000")
    assert row["origin"].startswith("changed while it ran, changedSettings.json at 20")
    assert row["origin"].endswith(" from 127.0.0.1")
    changed = read("config", "show", "--broker", "all", "--changed")
    assert row["origin"] in {each["origin"] for each in changed}
    assert "default" not in {each["origin"] for each in changed}
    (back,) = read("config", "unset", "maxMessageSize")
    assert (back["before"], back["after"], back["origin"]) == ("1000000", row["before"], "default")
    assert read("config", "unset", "maxMessageSize")[0]["before"] == row["before"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("set", "store.keep_hour", "1"),
            "store.keep_hour is no setting of broker broker-a; did you mean store.",
        ),
        (("set", "broker.name", "x"), "broker.name of broker broker-a cannot be changed while it runs; set"),
        (("set", "store.keep_hours", "long"), "store.keep_hours=long: must be a whole number"),
        (("set", "store.keep_hours", "٣"), "store.keep_hours=٣: must be a whole number"),
        (("set", "store.keep_hours", "-1"), "store.keep_hours = -1: must be at least"),
        (("set", "store.keep_hours", "1", "--brokr", "broker-a"), "--brokr"),
        (("set", "broker.permission", "99"), "broker.permission = 99: must be"),
        (("set", "store.keep_hours", "1", "--broker", "broker-x"), "no broker of that name is registered"),
        (("unset", "nothing"), "nothing is no setting of broker broker-a"),
        (
            ("show", "--broker", "broker-a", "--for", "client"),
            "--broker asks brokers that run, and --for says",
        ),
        (("show", "--broker", "broker-x"), "no broker of that name is registered"),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(at: str, words: tuple[str, ...], said: str) -> None:
    assert said in refused("config", *words)


def test_an_old_name_is_shown_at_its_new_place_and_told(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text("[store]\ntimer_enabled = false\n")
    result = CliRunner().invoke(app, ["config", "show", "--config", str(file), "--changed", "--json"])
    (row,) = json.loads(result.stdout)
    assert (row["setting"], row["value"]) == ("delay.timer_enabled", False)
    assert row["origin"] == f"{file} [store], by its old name store.timer_enabled"
    assert result.stderr == (
        f"mqframe: old names of settings, which have moved: store.timer_enabled (from {file} [store]) is"
        " delay.timer_enabled\n"
    )


def test_an_old_and_a_new_name_with_two_values_are_refused() -> None:
    words = ["--set", "broker.pop_stay_ms=5", "--set", "pop.stay_ms=6"]
    result = CliRunner().invoke(app, ["config", "show", *words])
    assert result.exit_code == 2
    assert "broker.pop_stay_ms = 5" in result.stderr
    assert "pop.stay_ms = 6" in result.stderr


def test_what_was_changed_by_an_old_name_while_it_ran_is_shown_at_the_new_place(tmp_path: Path) -> None:
    folder = tmp_path / "store" / "config"
    folder.mkdir(parents=True)
    (folder / "changedSettings.json").write_text('{"settings": {"broker.pop_retry_percent": "3"}}')
    rows = json.loads(run("config", "show", "--data", str(tmp_path), "--changed", "--json"))
    found = {row["setting"]: (row["value"], row["origin"]) for row in rows}
    assert found["pop.retry_percent"] == (3, f"changed while it ran, {folder / 'changedSettings.json'}")


def test_a_section_whose_service_does_not_run_is_shown_as_not_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [*entry_points(group="mqframe"), EntryPoint("broker_service.greeter", "not_imported", "mqframe")]
    monkeypatch.setattr("mqframe.hooks.catalog._installed_entry_points", lambda: found)
    monkeypatch.setenv("MQFRAME_GREETER_PASSWORD", "hidden")
    text = run("config", "show", "--set", "greeter.words_max=7", "--json")
    rows = {row["setting"]: (row["value"], row["meaning"]) for row in json.loads(text)}
    why = "not in use: the service greeter does not run here"
    assert rows["greeter.words_max"] == ("7", why)
    assert rows["greeter.password"] == ("(secret)", why)


def test_settings_of_a_service_that_a_setting_leaves_out_are_shown_so() -> None:
    set_ = ("--set", "broker.services_blocked=delay", "--set", "delay.timer_enabled=false")
    rows = {row["setting"]: row["meaning"] for row in json.loads(run("config", "show", *set_, "--json"))}
    assert rows["delay.timer_enabled"] == "not in use: the service delay does not run here"
    assert "not in use" not in rows["store.delay_levels"]
    assert "not in use" not in rows["pop.stay_ms"]


def test_a_service_of_the_broker_that_is_blocked_is_shown_so(monkeypatch: pytest.MonkeyPatch) -> None:
    plugins = PluginManager()
    plugins.block("broker_service.pop")
    for module in ("mqframe_cli.settings.configuration", "mqframe_cli.config"):
        monkeypatch.setattr(f"{module}.plugin_manager", lambda: plugins)
    rows = {
        row["setting"]: row for row in json.loads(run("config", "show", "--set", "pop.stay_ms=5", "--json"))
    }
    assert rows["pop.stay_ms"]["value"] == "5"
    assert rows["pop.stay_ms"]["meaning"] == "not in use: the service pop does not run here"
    assert "not in use" not in rows["delay.recall"]["meaning"]
