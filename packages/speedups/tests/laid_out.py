"""A store of this project beside the native layout: what that lays out, Python stores."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from mqframe_index.store.key_hashes import KeyHashes
from mqframe_speedups._native import SendLayout
from mqframe_testing.manual_clock import ManualClock
from small_store import OPEN_INDEX
from small_store import settings as store_settings

from mqframe.core.codes import FLAG_ONEWAY, SysFlag
from mqframe.core.delay.options import DELAY_NAMES
from mqframe.core.messages import properties as p
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.batch import decode_batch
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.messages import SendBatchMessage, SendMessage, SendMessageV2
from mqframe.core.storage.property_crc import ROOM
from mqframe.core.wire.frame import Frame, FrameDecoder, HeaderForm, encode_answer, encode_frame
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore

HOST = encode_host("127.0.0.1:10911")
BORN = encode_host("10.0.0.9:40000")
BORN_V6 = encode_host("[fe80::1]:40000")
SUFFIX = "MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01DefaultCluster\x02"
MARKS = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
WORDS = ["CLUSTER\x01", "DELAY", "MSG_REGION", "TIMER_", "TRAN_MSG", "_TOPIC", "__CRC32#"]
BOUNDS = [150, 200, 400]
QUEUES = 4
BODY_MAX = 2000
TEXT_MAX = 3000
BATCH_MAX = 30
BATCH_KEYS_MAX = 5
MIB = 1 << 20
FLAGS = {"t": 0, "tö": SysFlag.MULTI_TAGS}
NAMES = """producerGroup topic defaultTopic defaultTopicQueueNums queueId sysFlag bornTimestamp flag
    properties reconsumeTimes unitMode maxReconsumeTimes batch""".split()
KINDS: dict[int, Any] = {10: SendMessage, 310: SendMessageV2, 320: SendBatchMessage}
PROPERTIES = "a\x01b\x02TAGS\x01x\x02KEYS\x01k1 k2\x02UNIQ_KEY\x010123456789ABCDEF0123456789ABCDEF\x02"


def layout(*, guarded: bool, **changes: Any) -> Any:
    """One that admits the topics of `FLAGS`."""
    header = encode_answer(77777, 0, {"msgId": "", **MARKS, "-": ""}, None, 0)[8:]
    begin, _, rest = header.partition(b'",')
    marks, _, rest = rest.partition(b',"-":""')
    middle, _, end = rest.partition(b"77777")
    made = SendLayout(
        **{
            "suffix": SUFFIX.encode(),
            "guarded": guarded,
            "words": [word.encode() for word in WORDS],
            "diverting": [],
            "apart": [],
            "batch_words": [],
            "at_once": [],
            "store_host": HOST,
            "offset_id_head": HOST.hex().upper().encode(),
            "answer": (begin, b"," + marks, middle, end),
            "frame_bytes_max": 16 * MIB,
            "header_bytes_max": 1 << 16,
            "text_max": TEXT_MAX,
            "batch_messages_max": BATCH_MAX,
            "batch_keys_max": BATCH_KEYS_MAX,
            "size_bounds": BOUNDS,
        }
        | changes
    )
    for topic, sys_flag in FLAGS.items():
        made.admit(topic, QUEUES, sys_flag)
    return made


def fields_of(code: int = 310, **changes: str | None) -> dict[str, str]:
    """The header fields of an ordinary send; `changes` by long names, `None` to leave one out."""
    values = [
        "group",
        "t",
        "TBW102",
        "4",
        "0",
        "0",
        "1700000000000",
        "0",
        PROPERTIES,
        "0",
        "false",
        "16",
        "false",
    ]
    all_fields: dict[str, str | None] = dict(zip(NAMES, values, strict=True)) | changes
    short = dict(zip(NAMES, "abcdefghijklm", strict=True)) if code != 10 else {}
    return {short.get(name, name): value for name, value in all_fields.items() if value is not None}


def send(
    code: int = 310,
    body: bytes = b"body",
    form: HeaderForm = HeaderForm.JSON,
    opaque: int = 7,
    one_way: bool = False,
    **changes: str | None,
) -> Frame:
    """An ordinary send; `changes` as of `fields_of`."""
    flag = FLAG_ONEWAY if one_way else 0
    return Frame(code, opaque, flag, None, fields_of(code, **changes), body, "JAVA", 455, form)


def framed(header: bytes, body: bytes = b"body", form: int = 0) -> bytes:
    """A frame around `header`, whatever that is."""
    return struct.pack(">iI", 4 + len(header) + len(body), form << 24 | len(header)) + header + body


def header_of(frame: Frame) -> bytes:
    """The header of `frame` as this project writes it."""
    raw = encode_frame(frame)
    return raw[8 : len(raw) - len(frame.body)]


class Reference:
    """A store of this project, into which Python puts what the native code laid out.

    `guarded`: whether its records have a CRC over all of them; `suffix`: what stands behind all properties.
    Tests find the functions and numbers of this file here, too.
    """

    send, framed, header_of = map(staticmethod, (send, framed, header_of))
    names, properties, queues, topics = NAMES, PROPERTIES, QUEUES, FLAGS
    body_max, text_max, born = BODY_MAX, TEXT_MAX, BORN
    batch_max, batch_keys_max = BATCH_MAX, BATCH_KEYS_MAX

    def __init__(self, root: Path, *, guarded: bool) -> None:
        self.guarded = guarded
        self.suffix = SUFFIX + (ROOM.decode() if guarded else "")
        self.clock = ManualClock()
        settings = store_settings(
            root,
            commit_log_file_bytes=32 * MIB,
            queue_file_bytes=20 * 100_000,
            body_bytes_max=BODY_MAX,
            batch_messages_max=BATCH_MAX,
            message_keys_max=BATCH_KEYS_MAX,
            property_crc=guarded,
        )
        self.store = MessageStore.open(settings, self.clock, open_index=OPEN_INDEX)
        self.appender, self.log = self.store.appender, self.store.files.log
        self.hashes = KeyHashes()

    def layout(self, **changes: Any) -> Any:
        """As `layout`, for records of this store."""
        return layout(guarded=self.guarded, **changes)

    def queue_of(self, place: tuple[str, int]) -> Any:
        """The queue at `place`, made where there is none."""
        return self.store.files.queues.queue(*place)

    def lay(
        self, data: bytes, made: Any = None, *, start: int = 0, born: bytes = BORN, room: int = MIB
    ) -> Any:
        """What the native code makes of `data` at the end of the log."""
        now = self.clock.now_ms()
        made = made or self.layout()
        return made.lay(data, start, (born, self.log.end, room, now, BODY_MAX, self.queue_of))

    def check(self, data: bytes, laid: Any, *, start: int = 0, born: bytes = BORN) -> None:
        """Store the frames that `laid` took, as Python does; all that it says is what came of that."""
        decoder = FrameDecoder()
        decoder.receive(data[start : laid.stopped])
        begin, answers, pairs = self.log.end, [], []
        kinds: dict[tuple[int, bool], int] = {}
        runs: dict[tuple[str, int], list[Any]] = {}
        puts: dict[tuple[str, bool, int], list[Any]] = {}
        while (frame := decoder.next_frame()) is not None:
            fields = decode_fields(frame.ext, KINDS[frame.code])
            start = self.log.end
            described, answer = (self._store_batch if fields.batch else self._store)(frame, fields, born)
            count, size = len(described.codes), described.end - start
            answers.append(answer)
            pairs += self.hashes.pairs(fields.topic, described.indexed, 0)
            kind = (frame.code, bool(frame.flag & FLAG_ONEWAY))
            kinds[kind] = kinds.get(kind, 0) + 1
            run = runs.setdefault((fields.topic, fields.queue_id), [0, 0, described.queue_offset, b"", []])
            run[0], run[1] = described.end, described.queue
            run[3] += described.entries
            run[4] += described.codes
            sharded = p.SHARDING_KEY in (fields.properties or "")
            slot = sum(bound < size // count for bound in BOUNDS)
            put = puts.setdefault((fields.topic, sharded, slot), [0, 0, 0])
            put[0] += count
            put[1] += size
            put[2] += 1
        assert laid.count == sum(put[0] for put in puts.values())
        assert decoder.unread_bytes == 0
        assert laid.end == self.log.end
        file = self.log.files[-1]
        assert laid.records == bytes(file.read_now(begin - file.base, laid.end - begin) or b"")
        assert laid.answers == b"".join(answers)
        assert laid.runs == sorted(map(tuple, runs.values()), key=lambda run: run[0])
        assert sorted(laid.puts) == sorted((*key[:2], *put) for key, put in puts.items())
        assert sorted(laid.kinds) == sorted((*kind, count) for kind, count in kinds.items())
        assert laid.keys.pairs() == pairs == list(laid.keys)
        assert len(laid.keys) == len(pairs)

    def _text(self, frame: Frame, fields: Any) -> str:
        """The properties of an ordinary request, ended."""
        text: str = fields.properties or ""
        assert frame.body
        assert frame.flag in (0, FLAG_ONEWAY)
        assert fields.topic in FLAGS
        assert 0 <= fields.queue_id < QUEUES
        assert not any(word in text for word in WORDS)
        return text + (p.PAIR_END if text and text[-1] != p.PAIR_END else "")

    def _store_batch(self, frame: Frame, fields: Any, born: bytes) -> tuple[Any, bytes]:
        """As `SendProcessor._store_batch` stores an ordinary batch."""
        text, body = self._text(frame, fields), bytes(frame.body)
        for _, _, own in decode_batch(body):
            assert not any(word.encode() in bytes(own) for word in WORDS)
            together = str(own, "utf-8") + (fields.properties or "")
            assert DELAY_NAMES.isdisjoint(p.decode_properties(together))
        head = _incoming(fields, b"", "", born)
        stored = self.appender.put_batch(head, memoryview(body), (text + SUFFIX).encode())
        ext = {
            "msgId": ",".join(f"{HOST.hex().upper()}{offset:016X}" for offset in stored.offsets),
            "queueId": str(fields.queue_id),
            "queueOffset": str(stored.queue_offset),
            **MARKS,
        }
        unique_key = p.find_property(text, p.UNIQUE_KEY)
        if unique_key:
            ext["transactionId"] = unique_key
        answer = b"" if frame.flag else encode_answer(frame.opaque, 0, ext, None, 0)
        return self.appender.waiting.pop(), answer

    def _store(self, frame: Frame, fields: Any, born: bytes) -> tuple[Any, bytes]:
        """As `SendProcessor._store_one` stores an ordinary message."""
        text = self._text(frame, fields)
        assert p.find_property(text, p.UNIQUE_KEY)
        text += SUFFIX
        stored = self.appender.put(_incoming(fields, frame.body, text, born))
        described = self.appender.describe(self.appender.waiting.pop())
        ext = {
            "msgId": f"{HOST.hex().upper()}{stored.commit_log_offset:016X}",
            "queueId": str(fields.queue_id),
            "queueOffset": str(stored.queue_offset),
            "transactionId": p.find_property(text, p.UNIQUE_KEY) or "",
            **MARKS,
        }
        answer = b"" if frame.flag else encode_answer(frame.opaque, 0, ext, None, 0)
        return described, answer


def _incoming(fields: Any, body: Any, text: str, born: bytes) -> Incoming:
    return Incoming(
        fields.topic,
        fields.queue_id,
        body,
        text,
        fields.born_timestamp,
        born,
        HOST,
        fields.flag,
        fields.sys_flag | FLAGS[fields.topic],
        fields.reconsume_times or 0,
    )
