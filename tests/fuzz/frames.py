"""Requests as bytes in both header encodings, and what only begins like a frame."""

from __future__ import annotations

import json
import struct
from random import Random
from typing import Any

from fuzz import values
from fuzz.bodies import BodyMaker
from fuzz.facts import Facts
from fuzz.headers import HeaderMaker
from fuzz.stored import stored_message
from mqframe_admin.requests import UpdateAndCreateSubscriptionGroup
from mqframe_pop.requests import PopMessage
from recorded import REQUESTS as RECORDED

from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData, ProducerData
from mqframe.core.codes import LANGUAGES
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import FrameError
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests import REQUESTS, Request, encode_fields
from mqframe.core.requests.admin import UpdateAndCreateTopic
from mqframe.core.requests.consumers import HeartBeat
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.wire.frame import Frame, HeaderForm, encode_frame
from mqframe.core.wire.loose_json import dumps

_WORDS = struct.Struct(">iI")


class FrameMaker:
    """Makes the bytes of one request after the other. `facts`: what answers to earlier ones said."""

    def __init__(self, facts: Facts) -> None:
        self._headers = HeaderMaker(facts)
        self._bodies = BodyMaker(facts)
        self._kinds: dict[str, list[type[Request]]] = {"broker": [], "nameserver": []}
        for kind in REQUESTS.values():
            self._kinds["nameserver" if kind.__module__.endswith("nameserver") else "broker"].append(kind)

    def kind(self, server: str, chance: Random) -> type[Request]:
        """A request kind that `server` serves, seldom one that it does not know."""
        if values.flip(chance, 0.03):
            server = "nameserver" if server == "broker" else "broker"
        return chance.choice(self._kinds[server])

    def ordinary(self, now_ms: int) -> list[bytes]:
        """What makes the strangers' topics, groups and members, so that other requests find some."""
        subscriptions = [SubscriptionData(topic) for topic in values.TOPICS]
        beat = HeartbeatData(
            "fuzz@1",
            [ConsumerData(group, subscription_data_set=subscriptions) for group in values.GROUPS],
            producer_data_set=[ProducerData(group) for group in values.GROUPS],
        )
        asked: list[tuple[Request, bytes]] = [(HeartBeat(), dumps(beat))]
        groups = [dumps(SubscriptionGroupConfig(name)) for name in values.GROUPS]
        asked += [(UpdateAndCreateSubscriptionGroup(), body) for body in groups]
        for topic in values.TOPICS:
            made = UpdateAndCreateTopic(topic=topic, read_queue_nums=2, write_queue_nums=2, perm=6)
            send = SendMessageV2("fuzz-g", topic, "TBW102", 4, 0, 0, now_ms, 0, "KEYS\x01k\x02TAGS\x01a\x02")
            popped = PopMessage(
                consumer_group="fuzz-g", topic=topic, queue_id=-1, max_msg_nums=4, invisible_time=10_000,
                poll_time=0, born_time=now_ms, init_mode=0,
            )  # fmt: skip
            asked += [(made, b""), (send, b"ordinary"), (popped, b"")]
        return [
            encode_frame(Frame(request.CODE, number, 0, None, encode_fields(request), body))
            for number, (request, body) in enumerate(asked)
        ]

    def stored(self, chance: Random, now_ms: int) -> dict[str, Any]:
        """A message that lies in the store already."""
        return stored_message(chance, now_ms, chance.choice((0.0, 0.1, 0.4)))

    def frame(self, kind: type[Request], chance: Random, now_ms: int) -> bytes:
        """A request of `kind`, sometimes odd in every field, sometimes in none."""
        odd = chance.choice((0.0, 0.05, 0.15, 0.4))
        body, more = self._bodies.body(kind, chance, now_ms, odd)
        frame = Frame(
            kind.CODE,
            chance.getrandbits(31),
            chance.choice((0,) * 12 + (2, 1, 3, -1)),
            None if values.flip(chance, 0.9) else values.text(chance),
            {**self._headers.fields(kind, chance, now_ms, odd), **more},
            body,
            chance.choice(LANGUAGES),
            chance.choice((479, 479, 479, 401, 0, 36, 2**31 - 1)),
            HeaderForm.ROCKETMQ if values.flip(chance, 0.3) and kind.CODE <= 0x7FFF else HeaderForm.JSON,
        )
        try:
            raw = encode_frame(frame)
        except (FrameError, struct.error, UnicodeEncodeError):
            frame.form = HeaderForm.JSON
            raw = encode_frame(frame)
        if frame.form is HeaderForm.JSON and values.flip(chance, odd * 0.3):
            return _other_types(frame, chance)
        return raw if not values.flip(chance, odd * 0.1) else _flipped(raw, chance)

    def recorded(self, chance: Random) -> bytes:
        """A request that a real client once sent, with a few bits wrong or none."""
        raw = chance.choice(RECORDED).raw
        return _flipped(raw, chance) if values.flip(chance, 0.8) else raw

    def broken(self, chance: Random) -> bytes:
        """Bytes that are no frame, or one that never ends."""
        code = chance.choice(tuple(REQUESTS))
        good = encode_frame(Frame(code, 1, 0, None, {"topic": "fuzz-a"}, b"x"))
        length = max(-(2**31), min(2**31 - 1, values.number(chance)))
        mark = chance.choice((0, 1, 2, 255)) << 24 | chance.choice((0, 1, 21, 200, 0xFFFFFF))
        return chance.choice(
            (
                good[: chance.randrange(1, len(good))],
                _WORDS.pack(length, mark) + good[8:],
                _WORDS.pack(len(good) - 4, mark) + good[8:],
                chance.randbytes(chance.randrange(1, 200)),
                b"GET / HTTP/1.1\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                b"\x00" * 64,
                good + b"\x00\x00\x00",
                _json_frame(b'{"code":' + b"[" * 50_000),
                _json_frame(b'{"code":11,"extFields":{"a":{"b":1}}}'),
                _json_frame(b'{"code":11.5}'),
                _json_frame(b'{"code":99999999999999999999}'),
                _json_frame(b'{"code":11,"extFields":{"topic":"\\ud800"}}'),
                _json_frame(b'{"code":310,"extFields":{"b":"a\\u0000b"},"opaque":-1}'),
                _json_frame(b'{"code":-1,"flag":0}'),
                _json_frame(b"null"),
                _json_frame(b'{"code":17,"extFields":{' + b'"a":"b",' * 20_000 + b'"c":"d"}}'),
            )
        )


def _json_frame(header: bytes) -> bytes:
    return _WORDS.pack(4 + len(header), len(header)) + header


def _other_types(frame: Frame, chance: Random) -> bytes:
    """The header with bare numbers, booleans and null, as clients in other languages write them."""
    ext: dict[str, object] = {}
    for name, value in (frame.ext or {}).items():
        bare: object = value
        if values.flip(chance, 0.5):
            bare = (
                int(value) if value.lstrip("-").isdecimal() and value.isascii() and len(value) < 25 else None
            )
        ext[name] = bare if not values.flip(chance, 0.1) else chance.choice((True, 1.5, [], {}, 10**30))
    header = {"code": frame.code, "flag": frame.flag, "opaque": frame.opaque, "extFields": ext, "version": 1}
    raw = json.dumps(header).encode()
    return _WORDS.pack(4 + len(raw) + len(frame.body), len(raw)) + raw + bytes(frame.body)


def _flipped(raw: bytes, chance: Random) -> bytes:
    """`raw` with some bits turned over, behind its length more often than in it."""
    bent = bytearray(raw)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        at = (
            chance.randrange(len(bent))
            if values.flip(chance, 0.1)
            else chance.randrange(8, max(9, len(bent)))
        )
        if at < len(bent):
            bent[at] ^= 1 << chance.randrange(8)
    return bytes(bent)
