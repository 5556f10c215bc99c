"""Whatever stands in a text or a file that somebody hands over, it is read or ends in one of our errors.

What strangers send over the wire is played by the campaign.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conf_files import broker_conf
from fuzz.values import number_text, some_bytes, text
from mqframe_cli.contexts.file import read_contexts
from mqframe_cli.later import parse_delay, since_ms, typed_ms
from mqframe_cli.quickstart.events import read_rows
from mqframe_cli.sending.records import Outgoing, outgoing_of
from mqframe_election.rules.group import GroupState, decode_note
from mqframe_store_tools.commands.message_files import read_lines, read_parquet

from mqframe.core.config.layers import toml
from mqframe.core.errors import MqframeError
from mqframe.core.messages.json_codec import JSON
from mqframe.core.messages.message import Message
from mqframe.core.wire import loose_json
from mqframe.hooks.manager import PluginManager
from mqframe.net.access.settings import credentials
from mqframe.store.files.durability import noted_failure

DEEP, DIGITS = 100_000, "9" * 5000
NESTED = (
    "[" * DEEP,
    "[" * DEEP + "]" * DEEP,
    '{"a":' * DEEP,
    "{'a':" * DEEP,
    "(" * DEEP,
    '{"contexts":' + "[" * DEEP,
    '{"username":' + "[" * DEEP,
    '{"x":' + "[" * DEEP + "]" * DEEP + "}",
    "a=" + "[" * DEEP,
    "[broker]\na=" + "[" * DEEP,
)
NUMBERS = (
    DIGITS,
    f"-{DIGITS}",
    f"{DIGITS}.{DIGITS}",
    f"1e{DIGITS}",
    f"{DIGITS}d",
    "999999999999d",
    f"{DIGITS}-01-01",
    f"[broker]\nport={DIGITS}",
    f"brokerPort={DIGITS}",
    f'{{"a":{DIGITS}}}',
    f"{{a:{DIGITS}}}",
    f'{{"delay":"{DIGITS}","deliver_at":{DIGITS}}}',
    f'{{"delay":"{DIGITS}","body":"x"}}',
    f"{DIGITS} * * * *",
    f"*/{DIGITS} * * * *",
    f"a > {DIGITS}",
    f"a\n{DIGITS}\n",
)
LINE = '{"topic":"t","body":"x","body_encoding":"text","keys":["k"],"properties":{"a":"b"},"delay":"5s"}'
GOOD = (
    LINE,
    '{"contexts":{"prod":{"nameserver":"a:1","settings":{"net.tls":"true"}}},"current":"prod"}',
    '[broker]\nport = 1\nname = "b"\n[store]\nflush = "SYNC_FLUSH"\n',
    "brokerName=b\nlistenPort=1\ndeleteWhen=04\n",
    "*/5 8-18 * * MON-FRI",
    "a > 1 AND (b = 'x' OR c IS NULL)",
    '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}',
    '{"orders":{"broker-a/0":5}}',
    "accounts:\n- accessKey: abc\n  secretKey: 12345678\n  whiteRemoteAddress: 10.0.*.*\n",
    "2026-12-24T18:00:00+01:00",
)


def anything(chance: Random) -> str:
    """A text: nested too deeply, with enormous numbers, odd, or a good one with a fault."""
    match chance.randrange(5):
        case 0:
            return chance.choice(NESTED)
        case 1:
            return chance.choice(NUMBERS)
        case 2:
            return chance.choice((text(chance), number_text(chance)))
        case 3:
            return some_bytes(chance).decode("latin-1")
    good = chance.choice(GOOD)
    at = chance.randrange(len(good))
    strange = chance.choice(("", "\x00", '"', "\\", "]", "\ud800", DIGITS, "[" * DEEP, good))
    return good[:at] + strange + good[at + chance.randrange(3) :]


def as_bytes(content: str, chance: Random) -> bytes:
    """`content` as it may stand in a file."""
    raw = content.encode("utf-8", "surrogatepass")
    return chance.choice(
        (raw, raw, b"\xef\xbb\xbf" + raw, raw + b"\xff", content.encode("utf-16", "replace"))
    )


def in_file(read: Callable[[Path], object], name: str, content: bytes) -> object:
    """What reading a file of that name with `content` gives."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        return read(path)


def plugin(kind: str, name: str) -> Any:
    return PluginManager().create(kind, name)


def cron(expression: str) -> object:
    from mqframe_schedules.cron import Cron

    return Cron(expression, "Europe/Berlin", 0)


def time_zone(name: str) -> object:
    from mqframe_schedules.cron import Cron

    return Cron("0 8 * * *", name, 0)


def accounts(content: str) -> object:
    from mqframe_acl.plain_file import table_of

    return table_of(content)


def schema(content: str) -> object:
    from mqframe_avro.schemas import load

    return load(content)


def topic_schema(content: str | bytes) -> object:
    from mqframe_schemas.formats.chosen import format_of

    return format_of(content).parse(content)


def descriptor_set(content: bytes) -> object:
    from mqframe_schemas.formats.protobuf_bodies import ProtobufFormat

    return ProtobufFormat().parse(content)


def kept_schema(content: str) -> object:
    from mqframe_schemas.rules.history import merged_heads, merged_versions

    merged_versions("t", [{"1": content}])
    return merged_heads([{"t": content}])


def etcd_answer(content: bytes) -> object:
    from mqframe_etcd.answers import refusal, result

    assert isinstance(refusal("a:1", 500, content), MqframeError)
    return result("a:1", content)


def bound(content: str) -> object:
    from mqframe_spark.source.bounds import parse_bound

    return parse_bound(content)


TEXTS: dict[str, Callable[[str], object]] = {
    "delay": parse_delay,
    "time": lambda text: typed_ms("--deliver-at", text),
    "since": since_ms,
    "dialect": loose_json.loads,
    "table in the dialect": lambda content: loose_json.decode(content, dict[str, int]),
    "TOML": lambda content: toml(content, "file"),
    "broker.conf": lambda content: broker_conf(content, "file"),
    "credentials": credentials,
    "SQL92": lambda content: plugin("message_filter", "SQL92").compile(content),
    "cron": cron,
    "time zone": time_zone,
    "accounts": accounts,
    "Avro schema": schema,
    "Spark's bound": bound,
    "schema of a topic": topic_schema,
    "schema that is kept": kept_schema,
}
BYTES: dict[str, Callable[[bytes], object]] = {
    "JSON body": lambda content: JSON.decode(content, Any),
    "JSON body with a type": lambda content: JSON.decode(content, dict[str, list[int]]),
    "note of a group": lambda content: decode_note(content, GroupState),
    "line to send": lambda content: outgoing_of(content, 1, Outgoing(Message("t", b"x"))),
    "lines to import": lambda content: list(read_lines(content.splitlines())),
    "Parquet to import": partial(in_file, lambda path: list(read_parquet(path)), "x.parquet"),
    "contexts": partial(in_file, read_contexts, "contexts.json"),
    "rows in JSON": partial(in_file, lambda path: list(read_rows(path)), "x.jsonl"),
    "rows in CSV": partial(in_file, lambda path: list(read_rows(path)), "x.csv"),
}
BYTES["answer of etcd"] = etcd_answer
BYTES["file with the schema of a topic"] = topic_schema
BYTES["descriptor set"] = descriptor_set
BYTES["what a run noted of its disk"] = partial(in_file, noted_failure, "failed.json")
FAULT = {"credentials": ValueError, "accounts": ValueError}
"""What the docstring of an entry names instead of an error of ours."""
CHARACTERS_MAX = 12_000
"""Of an error: what it says is about one thing, however much was handed over."""


def tried(read: Callable[[], object], fault: type[Exception]) -> str:
    """What is wrong with how an entry ended; "" for nothing."""
    try:
        read()
    except fault as problem:
        return "" if len(str(problem)) < CHARACTERS_MAX else f"says {len(str(problem))} characters"
    except Exception as problem:
        return f"{type(problem).__name__}: {str(problem)[:200]}"
    return ""


@pytest.mark.parametrize("entry", [*TEXTS, *BYTES])
def test_what_cannot_be_read_is_told_by_an_error_of_ours(entry: str) -> None:
    chance, wrong = Random(entry), {}
    for content in [*NESTED, *NUMBERS, *GOOD, *(anything(chance) for _ in range(60))]:
        if entry in TEXTS:
            read = partial(TEXTS[entry], content)
        else:
            read = partial(BYTES[entry], as_bytes(content, chance))
        said = tried(read, FAULT.get(entry, MqframeError))
        if said:
            wrong[content[:60]] = said
    assert wrong == {}, json.dumps(wrong, indent=1)
