"""One line for each message."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from command_runs import run
from mqframe_cli.live.line_format import LineFormat
from mqframe_cli.live.lines import write_formatted, write_message


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


class Shouts:
    def value(self, message: Any) -> Any:
        return {"said": message.body.decode().upper()} if message.tag == "t" else None


@pytest.mark.parametrize(("tag", "shown"), [("t", '{"said":"PAID"}'), ("u", "paid")])
def test_what_is_known_of_a_body_takes_its_place(tag: str, shown: str, capsys: Any) -> None:
    message: Any = SimpleNamespace(
        message_id="1", topic="orders", broker_name="a", queue_id=0, queue_offset=3, tag=tag, keys=(),
        store_timestamp=0, properties={}, body=b"paid",
    )  # fmt: skip
    write_message(message, as_json=False, decoders=[Shouts()])
    assert capsys.readouterr().out == f"0@3\t{tag}\t{shown}\n"
    write_message(message, as_json=True, decoders=[Shouts()])
    row = json.loads(capsys.readouterr().out)
    assert row["body"] == "paid"
    assert row.get("decoded") == ({"said": "PAID"} if tag == "t" else None)


def test_formats_have_the_decoded_body_or_its_bytes(capfdbinary: Any) -> None:
    message: Any = SimpleNamespace(topic="orders", tag="t", body=b"\xffpaid", properties={}, keys=())
    line = LineFormat("%t %s;")
    write_formatted(message, line)
    write_formatted(message, line, base64=True, decoders=[Shouts()])
    message.body = b"paid"
    write_formatted(message, line, decoders=[Shouts()])
    written = b'orders \xffpaid;orders /3BhaWQ=;orders {"said":"PAID"};'
    assert capfdbinary.readouterr().out == written
