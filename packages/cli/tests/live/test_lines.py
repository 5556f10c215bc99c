"""One line for each message."""

from __future__ import annotations

import json

from command_runs import run


def test_consume_writes_what_terminals_do_not_obey(at: str) -> None:
    run("topic", "create", "cli-hostile", "--queues", "1")
    run(
        "message",
        "send",
        "cli-hostile",
        "a\x1b[2J\nb",
        "--tag",
        "t\x9b",
        "--property",
        "p\x1b=\x1b[31m",
        "--key",
        "k\x07",
    )
    run("group", "create", "cli-hostile")
    run("offset", "reset", "cli-hostile", "cli-hostile", "--to", "start")
    words = ("consume", "cli-hostile", "--group", "cli-hostile", "--count", "1", "--seconds", "30")
    assert run(*words) == "0@0\tt\\x9b\ta\\x1b[2J\\nb\n"
    run("offset", "reset", "cli-hostile", "cli-hostile", "--to", "start")
    line = run(*words, "--json")
    assert line.isprintable() or line.rstrip("\n").isprintable()
    message = json.loads(line)
    assert (message["tag"], message["body"], message["body_encoding"]) == ("t\x9b", "a\x1b[2J\nb", "text")
    assert message["properties"]["p\x1b"] == "\x1b[31m"
    for words in (
        ("message", "query", "cli-hostile", "k\x07"),
        ("message", "show", "cli-hostile", message["message_id"]),
        ("message", "read", "cli-hostile"),
    ):
        text = run(*words)
        assert r"a\x1b[2J\nb" in text
        assert text.replace("\n", "").replace("\t", "").isprintable()
