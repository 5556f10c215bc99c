"""Sources of settings: what each reads, and where it says that a value came from."""

from __future__ import annotations

import pytest
from conf_files import broker_conf

from mqframe.core.config.layers import (
    Given,
    Layer,
    Rank,
    command_line,
    environment,
    toml,
)
from mqframe.core.errors import SettingError


def test_what_code_hands_in_comes_first() -> None:
    assert sorted(Rank) == [
        Rank.ARGUMENT, Rank.COMMAND_LINE, Rank.ENVIRONMENT, Rank.TOML, Rank.BROKER_CONF, Rank.PROGRAM,
    ]  # fmt: skip


def test_items_of_the_command_line_are_cut_at_the_first_equals_sign() -> None:
    layer = command_line(["store.flush = a=b", "net.tls="])
    assert [(given.path, given.value) for given in layer.values] == [("store.flush", " a=b"), ("net.tls", "")]
    assert layer.values[0].origin == "command line --set store.flush"
    with pytest.raises(SettingError, match=r"--set store\.flush: must be written key=value"):
        command_line(["store.flush"])


def test_only_our_variables_are_read_sorted_by_name() -> None:
    layer = environment({"PATH": "/bin", "MQFRAME_STORE_FLUSH": "x", "MQFRAME_NET_TLS": "true"})
    assert layer == Layer(
        Rank.ENVIRONMENT,
        (
            Given("NET_TLS", "true", "variable MQFRAME_NET_TLS"),
            Given("STORE_FLUSH", "x", "variable MQFRAME_STORE_FLUSH"),
        ),
    )


def test_apache_s_variable_for_name_servers_is_one_of_ours_that_says_less() -> None:
    layer = environment({"MQFRAME_CLIENT_NAMESERVER": "b:1", "NAMESRV_ADDR": "a:1"})
    assert layer.values == (
        Given("CLIENT_NAMESERVER", "a:1", "variable NAMESRV_ADDR"),
        Given("CLIENT_NAMESERVER", "b:1", "variable MQFRAME_CLIENT_NAMESERVER"),
    )
    assert environment({"NAMESRV_ADDR": ""}).values == ()


def test_tables_of_a_toml_file_are_sections_and_options_of_plugins() -> None:
    layer = toml('[store]\nflush = "x"\nkeep_hours = 3\n[plugins.ring]\nnodes = [1, 2]\n', "m.toml")
    assert layer.values == (
        Given("store.flush", "x", "m.toml [store]"),
        Given("store.keep_hours", 3, "m.toml [store]"),
        Given("plugins.ring.nodes", [1, 2], "m.toml [plugins.ring]"),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[store", "m.toml: "),
        ("flush = 1", "m.toml: flush is not in a table; write it below a line"),
        ("[plugins]\nring = 1", r"m.toml: plugins.ring must be a table \[plugins.ring\]"),
    ],
)
def test_a_toml_file_that_says_nothing_clear_is_refused(text, says) -> None:
    with pytest.raises(SettingError, match=says):
        toml(text, "m.toml")


def test_keys_of_a_broker_conf_keep_their_lines_and_may_mean_some_sections_only() -> None:
    layer = broker_conf("# first\nflushDiskType=SYNC_FLUSH\n", "broker.conf", ["store"])
    assert layer == Layer(
        Rank.BROKER_CONF,
        (Given("flushDiskType", "SYNC_FLUSH", "broker.conf:2"),),
        frozenset({"store"}),
    )
    assert broker_conf("", "broker.conf").conf_sections is None
