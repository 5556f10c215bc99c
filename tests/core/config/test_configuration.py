from pathlib import Path

import pytest
from conf_files import broker_conf
from core.config.handed_in import arguments
from mqframe_cli.settings.rocketmq_meanings import ROCKETMQ

from mqframe.core.config.configuration import DEFAULT, Resolved, one_section, resolve
from mqframe.core.config.layers import command_line, environment, toml
from mqframe.core.config.settings import at_least, one_of, setting, settings
from mqframe.core.errors import SettingError


def origins(resolved: Resolved) -> dict[str, str]:
    return {entry.path: entry.origin for entry in resolved.entries}


def flush_of(text: str) -> str:
    words = {"ASYNC_FLUSH": "async", "SYNC_FLUSH": "sync"}
    if text not in words:
        raise ValueError(f"must be one of {', '.join(words)}")
    return words[text]


@settings("store")
class Store:
    """A store."""

    directory: Path = setting(Path("store"), doc="where", conf="storePathRootDir")
    file_bytes: int = setting(1 << 30, doc="size", check=at_least(1024), conf="mappedFileSizeCommitLog")
    flush: str = setting(
        "async", doc="when", check=one_of("async", "sync"), conf="flushDiskType", from_conf=flush_of
    )


@settings("broker")
class Broker:
    """A broker."""

    port: int = setting(10911, doc="port", conf="listenPort")
    nameservers: tuple[str, ...] = setting((), doc="who", conf="namesrvAddr")
    auto_create: bool = setting(True, doc="create topics", conf="autoCreateTopicEnable")
    advertise: str | None = setting(None, doc="host")


@settings("nameserver")
class NameServer:
    """A name server."""

    port: int = setting(9876, doc="port", conf="listenPort")


ALL = [Store, Broker]
CONF = """\
# a broker
brokerClusterName = DefaultCluster
listenPort=30911
namesrvAddr=a:9876;b:9876
flushDiskType=SYNC_FLUSH
autoCreateTopicEnable=false
haListenPort:30912
"""


def test_defaults() -> None:
    resolved = resolve(ALL, [])
    assert resolved.section(Store) == Store()
    assert resolved.section(Broker) == Broker()
    assert set(origins(resolved).values()) == {DEFAULT}
    assert resolved.warnings == ()


def test_broker_conf_keys_are_honoured_with_their_origin() -> None:
    resolved = resolve(ALL, [broker_conf(CONF, "broker.conf")], dialect=ROCKETMQ)
    assert resolved.section(Broker) == Broker(port=30911, nameservers=("a:9876", "b:9876"), auto_create=False)
    assert resolved.section(Store).flush == "sync"
    assert origins(resolved)["broker.port"] == "broker.conf:3 listenPort"
    assert resolved.warnings == (
        "known to RocketMQ but without effect here: brokerClusterName, haListenPort",
    )


PATHS = "broker.port"
LADDER = [
    broker_conf("listenPort=1", "broker.conf"),
    toml("[broker]\nport = 2", "mqframe.toml"),
    environment({"MQFRAME_BROKER_PORT": "3", "HOME": "/"}),
    command_line(["broker.port=4"]),
    arguments({"broker.port": 5}),
]
ORIGINS = [
    "broker.conf:1 listenPort",
    "mqframe.toml [broker]",
    "variable MQFRAME_BROKER_PORT",
    "command line --set broker.port",
    "argument broker.port",
]


@pytest.mark.parametrize("strongest", range(5))
def test_precedence_whatever_the_order(strongest: int) -> None:
    layers = LADDER[: strongest + 1]
    for order in (layers, layers[::-1]):
        resolved = resolve(ALL, order)
        assert resolved.section(Broker).port == strongest + 1
        assert origins(resolved)["broker.port"] == ORIGINS[strongest]


def test_a_rocketmq_key_may_be_set_on_the_command_line() -> None:
    resolved = resolve(ALL, [command_line(["flushDiskType=SYNC_FLUSH"])])
    assert resolved.section(Store).flush == "sync"
    assert origins(resolved)["store.flush"] == "command line --set flushDiskType flushDiskType"


def test_a_key_of_two_sections_goes_where_the_file_belongs() -> None:
    both = [Broker, NameServer]
    resolved = resolve(
        both,
        [
            broker_conf("listenPort=1", "broker.conf", ["broker"]),
            broker_conf("listenPort=2", "namesrv.conf", ["nameserver"]),
        ],
    )
    assert resolved.section(Broker).port == 1
    assert resolved.section(NameServer).port == 2


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (
            broker_conf("\nlistenPrt=1", "b.conf"),
            "listenPrt from b.conf:2 is no key .* did you mean listenPort",
        ),
        (broker_conf("listenPort=x", "b.conf"), "listenPort = 'x' from b.conf:1 .*whole number"),
        (
            broker_conf("flushDiskType=no", "b.conf"),
            "flushDiskType = 'no' from b.conf:1: must be one of ASYNC",
        ),
        (broker_conf("mappedFileSizeCommitLog=1", "b.conf"), "store.file_bytes = 1: .*1024 .from b.conf:1"),
        (toml("[stor]\nflush='sync'", "m.toml"), r"stor.flush from m.toml \[stor\] is no section .* store"),
        (toml("[store]\nflsh='sync'", "m.toml"), "store.flsh .* did you mean store.flush"),
        (toml("[store]\nflush=1", "m.toml"), r"store.flush = 1 from m.toml \[store\]: must be text"),
        (environment({"MQFRAME_STORE_FLSH": "sync"}), "MQFRAME_STORE_FLSH .* MQFRAME_STORE_FLUSH"),
        (environment({"MQFRAME_BROKER_AUTO_CREATE": "maybe"}), "variable MQFRAME_BROKER_AUTO_CREATE: .*true"),
        (command_line(["store.flush=never"]), "store.flush = 'never': .*command line --set store.flush"),
        (arguments({"broker.port": True}), "broker.port = True from argument broker.port"),
        (arguments({"plugins.x": 1}), "must be plugins.<name>.<option>"),
    ],
)
def test_what_is_unknown_or_bad_stops_with_key_and_origin(layer, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        resolve(ALL, [layer])


@pytest.mark.parametrize("text", ["flush = 'sync'", "[plugins]\nx = 1", "[store"])
def test_a_toml_file_of_another_shape_is_refused_by_name(text: str) -> None:
    with pytest.raises(SettingError, match=r"m\.toml"):
        toml(text, "m.toml")


def test_a_set_without_a_value_is_refused() -> None:
    with pytest.raises(SettingError, match="key=value"):
        command_line(["store.flush"])


def test_sections_of_other_programs_are_passed_over() -> None:
    layers = [
        toml("[client]\nx = 1\n[store]\nflush = 'sync'", "m.toml"),
        environment({"MQFRAME_CLIENT_X": "1"}),
    ]
    resolved = resolve(ALL, layers, other_sections=["client"])
    assert resolved.section(Store).flush == "sync"


def test_options_of_plugins_are_gathered_by_precedence() -> None:
    resolved = resolve(
        ALL,
        [
            toml("[plugins.consistent_hash]\nvirtual_nodes = 10\nother = 1", "m.toml"),
            environment({"MQFRAME_PLUGINS_CONSISTENT_HASH__VIRTUAL_NODES": "20"}),
        ],
    )
    options = resolved.plugins()["consistent_hash"]
    assert options == {"virtual_nodes": "20", "other": 1}
    assert options.origins == {
        "virtual_nodes": "variable MQFRAME_PLUGINS_CONSISTENT_HASH__VIRTUAL_NODES",
        "other": "m.toml [plugins.consistent_hash]",
    }
    assert "nobody" not in resolved.plugins()
    assert list(resolved.plugins()) == ["consistent_hash"]


def test_optional_values_can_be_taken_back() -> None:
    layers = [
        toml("[broker]\nadvertise = 'example.org'", "m.toml"),
        environment({"MQFRAME_BROKER_ADVERTISE": ""}),
    ]
    assert resolve(ALL, layers[:1]).section(Broker).advertise == "example.org"
    assert resolve(ALL, layers).section(Broker).advertise is None


def test_a_setting_without_default_must_be_given() -> None:
    @settings("needy")
    class Needy:
        """Needs something."""

        what: str = setting(doc="a thing")

    with pytest.raises(SettingError, match=r"needy.what must be set, by MQFRAME_NEEDY_WHAT .*a thing"):
        resolve([Needy], [])
    assert resolve([Needy], [arguments({"needy.what": "x"})]).section(Needy).what == "x"


@pytest.mark.parametrize("name", ["PLUGINS_ACL_ACCESS_KEY", "PLUGINS_ACL__", "PLUGINS___ACCESS_KEY"])
def test_variables_of_plugins_have_two_parts(name: str) -> None:
    with pytest.raises(SettingError, match=rf"MQFRAME_{name} .* MQFRAME_PLUGINS_<NAME>__<OPTION>, with two"):
        resolve(ALL, [environment({f"MQFRAME_{name}": "a"})])


def test_entries_tell_everything_for_people() -> None:
    entries = {entry.path: entry for entry in resolve(ALL, [LADDER[1]]).entries}
    assert (entries["broker.port"].value, entries["broker.port"].doc) == (2, "port")
    assert entries["store.flush"].origin == DEFAULT
    assert len(entries) == 7


def test_one_section_is_read_whatever_else_there_is() -> None:
    layers = [
        toml(
            "[broker]\nport = 1\nold_name = 3\n[greeter]\nwords = 2\n[broker.broker-b]\nport = 4\n", "a.toml"
        ),
        environment({"MQFRAME_GREETER_WORDS": "5"}),
        broker_conf("nobodyKnows=1\n", "broker.conf"),
    ]
    assert one_section(Broker, layers).port == 1
    assert one_section(Broker, layers, "broker-b").port == 4
    with pytest.raises(SettingError, match=r"broker\.port = 'x' from"):
        one_section(Broker, [toml('[broker]\nport = "x"', "a.toml")])


def test_values_of_sections_of_others_are_told_apart() -> None:
    layers = [toml("[greeter]\nwords = 2\n", "a.toml"), environment({"MQFRAME_GREETER_PLACE": "door"})]
    resolved = resolve([Broker], layers, other_sections=["greeter"])
    given = {each.path: (each.value, each.origin) for each in resolved.passed_over}
    assert given == {
        "greeter.words": (2, "a.toml [greeter]"),
        "GREETER_PLACE": ("door", "variable MQFRAME_GREETER_PLACE"),
    }
    assert resolved.kinds == (Broker,)
