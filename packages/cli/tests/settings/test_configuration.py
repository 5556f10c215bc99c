"""Settings of the commands: which source wins, and which sections a program has."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import attrs
import pytest
from mqframe_cli.settings.configuration import (
    BUSY_POLL_MICROSECONDS,
    WITH_PROFILES,
    host_option,
    load,
    service_kinds,
    settings_class,
)
from mqframe_cli.settings.rocketmq_keys import JAVA_PROPERTIES, ROCKETMQ_KEYS
from mqframe_cli.settings.rocketmq_meanings import HINTS, REFUSED
from mqframe_cli.settings.run_plugins import PLUGINS_OF_RUN

from mqframe.core.config.programs import CLIENT, PROGRAMS, STANDARD_SERVICES
from mqframe.core.errors import SettingError
from mqframe.hooks import sections
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.sections import added_sections, section_names


def values(program: str, **given: Any) -> dict[str, Any]:
    """What every setting of `program` is, by its path."""
    sources = {"options": {}, "file": None, "items": [], "variables": {}} | given
    resolved = load(program, sources["options"], sources["file"], sources["items"], sources["variables"])
    return {entry.path: entry.value for entry in resolved.entries}


def classes_of_services() -> list[type[Any]]:
    """Settings of the standard services that are installed: all but, perhaps, the compiled one."""
    plugins = PluginManager()
    installed = plugins.names("broker_service")
    found = [plugins.settings_class(name) for name in STANDARD_SERVICES if name in installed]
    return [kind for kind in found if kind is not None]


def test_every_program_has_its_sections_and_no_others() -> None:
    of_services = {kind.SECTION for kind in classes_of_services()}
    for program, own in PROGRAMS.items():
        wanted = {*own, *added_sections(program), *(of_services if "broker" in own else ())}
        assert {path.partition(".")[0] for path in values(program)} == wanted


@pytest.fixture
def no_sections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is installed that adds sections."""
    monkeypatch.setattr(sections, "entry_points", lambda **of: [])
    sections._offered.cache_clear()
    yield
    sections._offered.cache_clear()


LINE = r'install it with: pip install "mqframe\[standard\]"; it alone: pip install mqframe-plugin-metrics'


@pytest.mark.usefixtures("no_sections")
@pytest.mark.parametrize("program", ["server", "broker", "nameserver"])
def test_a_section_of_a_plugin_that_is_not_installed_is_refused_with_what_to_install(
    program: str, tmp_path: Path
) -> None:
    file = tmp_path / "server.toml"
    file.write_text("[metrics]\nport = 5557\n")
    given: list[tuple[dict[str, Any], str]] = [
        ({"file": file}, rf"metrics\.port from {file} \[metrics\]"),
        ({"items": ["metrics.port=5557"]}, r"metrics\.port from command line --set metrics\.port"),
        ({"options": {"--metrics-port": {"metrics.port": 5557}}}, r"metrics\.port from .* --metrics-port"),
        ({"variables": {"MQFRAME_METRICS_PORT": "5557"}}, "MQFRAME_METRICS_PORT from variable .*"),
    ]
    for sources, named in given:
        with pytest.raises(SettingError, match=f"^{named}: what has the section metrics is not .*; {LINE}$"):
            values(program, **sources)
    host = host_option("127.0.0.1", "broker" if program == "broker" else "nameserver")
    assert "metrics.host" not in values(program, options={"--host": host})


@pytest.mark.usefixtures("no_sections")
def test_clients_pass_over_it(tmp_path: Path) -> None:
    file = tmp_path / "mqframe.toml"
    file.write_text('[metrics]\nport = 5557\n[client]\ninstance_name = "a"\n')
    assert values("client", file=file, variables={"MQFRAME_METRICS_PORT": "1"})["client.instance_name"] == "a"


def test_a_section_of_a_plugin_is_read_by_the_programs_that_it_is_added_to() -> None:
    assert values("nameserver", items=["metrics.port=5557"])["metrics.port"] == 5557
    host = host_option("0.0.0.0", "broker")
    assert values("broker", options={"--host": host})["metrics.host"] == "0.0.0.0"
    assert not any(path.startswith("metrics.") for path in values("client", items=["metrics.port=5557"]))
    kinds = service_kinds(load("broker", {}, None, (), {}))
    without = {"admin", "delay_levels", "speedups"}
    assert sorted(kind.SECTION for kind in kinds) == sorted({*STANDARD_SERVICES} - without)


def test_every_section_has_a_class_of_settings() -> None:
    classes = [settings_class(section) for section in sorted(section_names())]
    assert len(set(classes)) == len(classes)
    assert all(attrs.has(each) for each in classes)


@pytest.mark.parametrize(
    ("item", "section", "distribution"),
    [
        ("replication.role=SLAVE", "replication", "mqframe-plugin-replication"),
        ("brokerRole=SLAVE", "replication", "mqframe-plugin-replication"),
        ("election.lease_ms=100", "election", "mqframe-plugin-election"),
    ],
)
def test_a_section_whose_distribution_is_missing_is_refused_with_what_to_install(
    item: str, section: str, distribution: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sections, "_offered", dict)
    told = rf"^{item.partition('=')[0]} from .* has the section {section} .* pip install {distribution}$"
    for program in ("server", "broker"):
        with pytest.raises(SettingError, match=told):
            values(program, items=[item])
    if "." in item:  # one file may hold the sections of all programs
        assert values("nameserver", items=[item])


def test_options_win_over_variables_and_these_over_a_file(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text('[broker]\nname = "of-file"\ncluster = "of-file"\nregion = "of-file"\n')
    found = values(
        "broker",
        options={"--name": {"broker.name": "of-option"}, "--port": {"broker.port": None}},
        file=file,
        variables={"MQFRAME_BROKER_NAME": "of-variable", "MQFRAME_BROKER_CLUSTER": "of-variable"},
    )
    assert (found["broker.name"], found["broker.cluster"]) == ("of-option", "of-variable")
    assert (found["broker.region"], found["broker.port"]) == ("of-file", 10911)


def test_a_properties_file_means_the_broker_where_there_is_one(tmp_path: Path) -> None:
    file = tmp_path / "some.conf"
    file.write_text("listenPort=20911\n")
    both = values("server", file=file)
    assert (both["broker.port"], both["nameserver.port"]) == (20911, 9876)
    assert values("nameserver", file=file)["nameserver.port"] == 20911


@pytest.mark.parametrize("processors", [1, 2])
def test_servers_with_two_processors_look_for_requests_without_sleeping(
    processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    expected = BUSY_POLL_MICROSECONDS if processors == 2 else 0
    assert values("broker")["net.busy_poll_microseconds"] == expected
    assert values("client")["net.busy_poll_microseconds"] == 0


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(SettingError, match=f"--config {missing} cannot be read"):
        values("broker", file=missing)


def test_one_option_sets_several_settings_and_is_named_as_it_is_typed() -> None:
    options = {
        "--host": {"nameserver.host": "127.0.0.2", "broker.host": "127.0.0.2"},
        "--broker-port": {"broker.port": None},
    }
    resolved = load("server", options, None, (), {})
    found = {entry.path: entry for entry in resolved.entries}
    for path in ("nameserver.host", "broker.host"):
        assert (found[path].value, found[path].origin) == ("127.0.0.2", "command line --host")
    assert found["broker.port"].origin == "default"


def test_a_properties_file_in_any_encoding_is_read_as_java_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_bytes("# \u4e3b\u673a\n".encode("gbk") + b"listenPort=20911\n")
    assert values("broker", file=file)["broker.port"] == 20911
    file.write_bytes(b"\xef\xbb\xbflistenPort=20912\n")
    assert values("broker", file=file)["broker.port"] == 20912


def test_the_settings_of_servers_name_keys_that_rocketmq_has() -> None:
    named = {
        field.metadata["conf"]
        for section in [
            *map(settings_class, (*PROGRAMS["server"], *added_sections("server"))),
            PluginManager().settings_class("pop"),
        ]
        for field in attrs.fields(section)
        if field.metadata.get("conf")
    }
    ours = {
        "maxTransferCountOnBulkPull",
        "maxTransferBytesOnBulkPull",
        "com.rocketmq.remoting.frameMaxLength",
    }
    assert named - ROCKETMQ_KEYS - JAVA_PROPERTIES == ours
    assert named.isdisjoint({*HINTS, *REFUSED} - {"storePathCommitLog"})


@pytest.mark.parametrize("program", ["server", "broker", "nameserver"])
def test_no_program_refuses_a_key_for_its_name(program: str, tmp_path: Path) -> None:
    keys = sorted(ROCKETMQ_KEYS | JAVA_PROPERTIES)
    file = tmp_path / "broker.conf"
    told = []
    run = PLUGINS_OF_RUN.set(PluginManager())  # as a command has it: what is installed is looked at once
    for key in keys:
        file.write_text(f"{key}=\n")
        try:
            load(program, {}, file, (), {})
        except SettingError as problem:
            told.append(str(problem))
    PLUGINS_OF_RUN.reset(run)
    assert [text for text in told if "no key that is known" in text] == []


def test_the_file_of_a_proxy_is_told_from_one_of_a_broker(tmp_path: Path) -> None:
    file = tmp_path / "rmq-proxy.json"
    file.write_text('{"rocketMQClusterName": "DefaultCluster"}')
    with pytest.raises(SettingError, match=r"rmq-proxy\.json is JSON, as RocketMQ's proxy has it"):
        values("broker", file=file)


GREETER = """
from mqframe import BrokerService, hookimpl
from mqframe.core.config.settings import at_least, setting, settings


@settings("greeter")
class GreeterSettings:
    words_max: int = setting(5, doc="words", check=at_least(1), conf="greeterWordsMax", live=True)


class Greeter(BrokerService):
    Settings = GreeterSettings


@hookimpl
def register_broker_services():
    return {"greeter": Greeter}
"""


@pytest.fixture
def greeter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An installed plugin that brings the broker service `greeter`; gives the name of its module."""
    (tmp_path / "greeters.py").write_text(GREETER)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = [EntryPoint("broker_service.greeter", "greeters", "mqframe")]
    monkeypatch.setattr("mqframe.hooks.catalog._installed_entry_points", lambda: found)
    yield "greeters"
    sys.modules.pop("greeters", None)


@pytest.mark.parametrize("source", ["file", "profile", "broker.conf", "variable", "item"])
def test_the_section_of_a_plugin_s_service_is_read_from_every_source(
    greeter: str, source: str, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"items": ["broker.services=greeter"]}
    texts = {
        "file": ("server.toml", "[greeter]\nwords_max = 7\n"),
        "profile": ("server.toml", "[greeter]\nwords_max = 6\n[greeter.broker-a]\nwords_max = 7\n"),
        "broker.conf": ("broker.conf", "greeterWordsMax=7\n"),
    }
    if source in texts:
        name, text = texts[source]
        given["file"] = tmp_path / name
        given["file"].write_text(text)
    if source == "variable":
        given["variables"] = {"MQFRAME_GREETER_WORDS_MAX": "7"}
    if source == "item":
        given["items"] += ["greeter.words_max=7"]
    sources = {"file": None, "variables": {}} | given
    resolved = load(
        "broker", {}, sources["file"], sources["items"], sources["variables"],
        profile="broker-a" if source == "profile" else "",
    )  # fmt: skip
    (kind,) = [each for each in service_kinds(resolved) if each.SECTION == "greeter"]
    assert resolved.section(kind).words_max == 7


def test_a_bad_value_of_it_is_refused(greeter: str) -> None:
    with pytest.raises(SettingError, match=r"greeter\.words_max = 0: must be at least 1"):
        values("broker", items=["broker.services=greeter", "greeter.words_max=0"])
    with pytest.raises(SettingError, match=r"did you mean greeter\.words_max\?"):
        values("broker", items=["broker.services=greeter", "greeter.word_max=1"])


def test_where_it_does_not_run_its_section_is_passed_over_and_it_is_not_imported(greeter: str) -> None:
    given = {"items": ["greeter.nobody_knows=0"], "variables": {"MQFRAME_GREETER_WORDS_MAX": "7"}}
    for program in PROGRAMS:
        assert not any(path.startswith("greeter.") for path in values(program, **given))
    assert greeter not in sys.modules


def test_a_service_that_is_not_installed_is_left_to_who_runs_it() -> None:
    assert values("broker", items=["broker.services=nobody"])["broker.services"] == ("nobody",)


def test_old_names_are_those_that_were() -> None:
    classes = [
        settings_class("broker"),
        settings_class("store"),
        *classes_of_services(),
    ]
    moved = {
        was: f"{section.SECTION}.{field.name}"
        for section in classes
        for field in attrs.fields(section)
        for was in field.metadata["was"]
    }
    assert len(moved) == 27
    for before in ("pop", "broker"):
        assert moved[f"{before}.request_mode"] == "assignment.request_mode"
    assert moved["pop.share_queues"] == moved["broker.pop_share_queues"] == "assignment.pop_share_queues"
    assert moved["delay.levels"] == "store.delay_levels"
    assert moved["broker.reject_transactions"] == "transactions.reject"
    assert moved.keys().isdisjoint(values("broker"))
    usual = values("broker")
    variables = {f"MQFRAME_{old.upper().replace('.', '_')}": str(usual[new]) for old, new in moved.items()}
    assert values("broker", variables=variables) == usual
    assert len(load("broker", {}, None, (), variables).warnings) == 1


def test_clients_have_profiles_where_there_may_be_several_of_a_kind() -> None:
    assert {"producer", "consumer", "admin"} == WITH_PROFILES
    assert set(PROGRAMS[CLIENT]) > WITH_PROFILES
