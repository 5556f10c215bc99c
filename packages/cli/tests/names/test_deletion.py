"""Deletions tell what goes, and ask."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from command_runs import read, run
from mqframe_cli.app import app
from mqframe_cli.names.deletion import TopicContents, size_text, topic_contents
from typer.testing import CliRunner

from mqframe import Admin


def test_a_topic_is_told_with_messages_bytes_and_readers(at: str) -> None:
    run("topic", "create", "cli-goes", "--queues", "2")
    run("group", "create", "cli-goes")
    run("message", "send", "cli-goes", "-", "--lines", data=b"a\n" * 50)
    run("offset", "reset", "cli-goes", "cli-goes", "--to", "start")
    with Admin(nameserver=at) as admin:
        contents = topic_contents(admin, "cli-goes")
    sizes = [read("message", "show", "cli-goes", row["message_id"])["stored_bytes"] for row in
             read("message", "read", "cli-goes", "--limit", "50")]  # fmt: skip
    assert (contents.messages, contents.size, contents.exact) == (50, sum(sizes), True)
    assert contents.groups == ("cli-goes",)
    result = CliRunner().invoke(app, ["topic", "delete", "cli-goes"])
    assert result.exit_code == 2
    first, second = result.stderr.splitlines()
    assert first.startswith("mqframe: topic cli-goes: 50 messages, ")
    assert first.endswith("read by cli-goes")
    assert "--yes" in second
    assert {"topic": "cli-goes"} in read("topic", "list")
    done = read("topic", "delete", "cli-goes", "--yes")
    assert done == {"topic": "cli-goes", "deleted": True, "messages": 50, "bytes": sum(sizes)}


def test_sizes_of_many_messages_are_estimated(at: str) -> None:
    run("topic", "create", "cli-many", "--queues", "1")
    run("message", "send", "cli-many", "-", "--lines", data=b"aaaaaaaaaa\n" * 500)
    with Admin(nameserver=at) as admin:
        contents = topic_contents(admin, "cli-many")
    assert (contents.messages, contents.exact) == (500, False)
    assert contents.size is not None
    assert 500 * 100 < contents.size < 500 * 400


@pytest.mark.parametrize(("answer", "code"), [("n\n", 1), ("y\n", 0)])
def test_a_person_is_asked(at: str, monkeypatch: pytest.MonkeyPatch, answer: str, code: int) -> None:
    run("group", "create", "cli-asked")
    runner = CliRunner()
    with monkeypatch.context() as patch:
        patch.setattr("mqframe_cli.names.deletion.sys", SeenAtTerminal())
        result = runner.invoke(app, ["group", "delete", "cli-asked", "--json"], input=answer)
    assert result.exit_code == code
    assert "0 members online, 0 messages to consume; its progress stays" in result.stderr
    assert "Delete group cli-asked?" in result.stderr
    assert ("cli-asked" in [row["group"] for row in read("group", "list")]) == (code == 1)
    assert ("nothing was deleted" in result.stderr) == (code == 1)


class SeenAtTerminal:
    """Stands for `sys`, with a terminal for standard input."""

    class stdin:
        isatty: Callable[[], bool] = staticmethod(lambda: True)


def test_contents_in_words() -> None:
    assert str(TopicContents(0, 0, True, ())) == "0 messages, 0 bytes, read by no group"
    told = str(TopicContents(1_234_567, 3 << 20, False, ("a", "b")))
    assert told == "1,234,567 messages, about 3.0 MiB, read by a, b"
    assert "of unknown size" in str(TopicContents(1, None, False, ()))
    assert [size_text(each) for each in (1023, 2048, 5 << 40)] == ["1023 bytes", "2.0 KiB", "5.0 TiB"]
