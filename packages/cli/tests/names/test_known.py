"""Misspelt topics and groups."""

from __future__ import annotations

import pytest
from command_runs import read, run
from mqframe_cli.app import app
from mqframe_cli.names.known import NoSuchName, check_known, listed_topics
from typer.testing import CliRunner

from mqframe import Admin
from mqframe.core.messages.names import is_system_group


@pytest.mark.parametrize(
    "words",
    [
        ("group", "lag", "cli-known-grop"),
        ("group", "show", "cli-known-grop"),
        ("group", "running", "cli-known-grop"),
        ("group", "stats", "cli-known-grop"),
        ("group", "delete", "cli-known-grop", "--yes"),
        ("offset", "show", "cli-known-grop"),
        ("offset", "clone", "cli-known-grop", "cli-known-group"),
        ("dlq", "list", "cli-known-grop"),
        ("topic", "stats", "cli-known-topc"),
        ("topic", "tail", "cli-known-topc"),
        ("topic", "delete", "cli-known-topc", "--yes"),
        ("message", "read", "cli-known-topc"),
        ("message", "query", "cli-known-topc", "k"),
        ("consume", "cli-known-topc", "--group", "cli-known-group"),
    ],
)
def test_a_misspelt_name_ends_with_2_and_says_what_was_meant(at: str, words: tuple[str, ...]) -> None:
    run("topic", "create", "cli-known-topic")
    run("group", "create", "cli-known-group")
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 2
    assert result.stdout == ""
    meant = "cli-known-group" if "cli-known-grop" in words else "cli-known-topic"
    assert f"did you mean {meant}" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_group_whose_settings_were_deleted_is_known_by_its_offsets(at: str) -> None:
    run("topic", "create", "cli-left", "--queues", "1")
    run("group", "create", "cli-left")
    run("offset", "reset", "cli-left", "cli-left", "--to", "start")
    with Admin(nameserver=at) as admin:
        admin.groups.delete("cli-left")
        check_known(admin, topic="cli-left", group="cli-left")
        with pytest.raises(NoSuchName, match="there is no group cli-unlike-all; mqframe group list"):
            check_known(admin, group="cli-unlike-all")


def test_what_is_of_the_system_is_listed_on_request(at: str) -> None:
    run("topic", "create", "cli-listed")
    run("group", "create", "cli-listed")
    with Admin(nameserver=at) as admin:
        shown = listed_topics(admin, every=False)
        assert "cli-listed" in shown
        assert not {"TBW102", "broker-a", "DefaultCluster", "DefaultCluster_REPLY_TOPIC"}.intersection(shown)
        assert {"TBW102", "cli-listed"} <= set(listed_topics(admin, every=True))
    for words in (("group", "list"), ("group", "lag")):
        few, all_ = ({row["group"] for row in read(*words, *more)} for more in ((), ("--all",)))
        assert "cli-listed" in few
        assert not any(map(is_system_group, few))
        assert {"TOOLS_CONSUMER", "CID_RMQ_SYS_TRANS"} <= all_


def test_topics_for_retries_are_listed_last(at: str) -> None:
    run("topic", "create", "zz-known-last", "--queues", "1")
    run("topic", "create", "%RETRY%known-last", "--queues", "1")
    names = [row["topic"] for row in read("topic", "list")]
    assert names.index("zz-known-last") < names.index("%RETRY%known-last")
    first = next(n for n, name in enumerate(names) if name.startswith("%"))
    assert all(name.startswith("%") for name in names[first:])
