"""A connection whose other side sends what no sound server sends: bytes by a seed, and by name."""

from __future__ import annotations

import asyncio
import random
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hostile import BODIES, CODES, NUMBERS, WORDS
from mqframe_testing.manual_clock import ManualClock
from peers import ROUTE

from mqframe.core.codes import FLAG_RESPONSE
from mqframe.core.errors import CallTimeout, ConnectionLost, FrameError, MqframeError
from mqframe.core.wire.frame import Frame, FrameDecoder, HeaderForm, encode_frame
from mqframe.net.blocking import BlockingClient
from mqframe.net.client import Client
from mqframe.net.clock import SystemClock
from mqframe.net.connection import Connection
from mqframe.net.endpoint import Endpoint
from mqframe.net.settings import NetSettings

FRAME_BYTES_MAX = 64 * 1024
ROUNDS = 300
"""Streams of one seed."""


def answer(opaque: int, code: int = 0, body: bytes = b"", **ext: str) -> bytes:
    return encode_frame(Frame(code, opaque, FLAG_RESPONSE, None, ext or None, body))


# Without sockets


def stream_of(chance: random.Random, opaques: list[int]) -> bytes:
    """What a hostile server says to the calls of these numbers."""
    parts = []
    for opaque in chance.sample(opaques, chance.randrange(len(opaques) + 1)):
        frame = Frame(
            chance.choice(CODES),
            chance.choice((opaque, opaque, opaque, -opaque, opaque + 2**31, 0)),
            chance.choice((FLAG_RESPONSE, FLAG_RESPONSE, FLAG_RESPONSE, 0, 2, 3, -1)),
            chance.choice((None, "", "why")),
            {name: chance.choice((*NUMBERS, *WORDS)) for name in ("queueId", "x", "")},
            chance.choice(BODIES),
            form=chance.choice(tuple(HeaderForm)),
        )
        if frame.form is HeaderForm.ROCKETMQ:
            frame.code, frame.opaque = frame.code & 0x7FFF, frame.opaque & 0x7FFFFFFF
        elif chance.random() < 0.5:
            frame.body = b""
        data = bytearray(encode_frame(frame))
        lie = chance.randrange(8)
        if lie == 0:
            struct.pack_into(">i", data, 0, chance.choice((-1, 0, 3, 2**31 - 1, -(2**31), FRAME_BYTES_MAX)))
        elif lie == 1:
            struct.pack_into(">I", data, 4, chance.randrange(2**32))
        elif lie == 2:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        elif lie == 3:
            del data[chance.randrange(len(data)) :]
        parts.append(bytes(data) * chance.choice((1, 1, 2)))
    return b"".join(parts)


def play(seed: int) -> None:
    chance = random.Random(seed)
    endpoint = Endpoint(NetSettings(frame_bytes_max=FRAME_BYTES_MAX), {}, ())
    connection: Connection[list[Any]] = Connection(endpoint, "10.0.0.1:1")
    waiters: dict[int, list[Any]] = {}
    for _ in range(chance.randrange(1, 6)):
        waiter: list[Any] = []
        waiters[connection.call(ROUTE("t"), 10, 3.0, waiter).opaque] = waiter
    data, at, problem = stream_of(chance, list(waiters)), 0, None
    while at < len(data) and problem is None:
        size = chance.choice((1, 2, 7, 100, 70_000))
        connection.receive(data[at : at + size])
        at += size
        try:
            while (frame := connection.next_frame()) is not None:
                call = connection.take(frame.opaque) if frame.flag & FLAG_RESPONSE else None
                if call is not None:
                    call.waiter.append(frame)
        except FrameError as error:
            problem = error
        assert connection.decoder.unread_bytes <= FRAME_BYTES_MAX + 70_000
    for waiter, lost in connection.end(problem):
        waiter.append(lost)
    assert all(len(ends) == 1 for ends in waiters.values()), "each call ends once"
    assert (endpoint.in_flight_requests, endpoint.in_flight_bytes) == (0, 0)


@pytest.mark.seeds(2, more=98)
def test_whatever_bytes_come_each_call_ends_once(seed: int) -> None:
    for number in range(ROUNDS):
        try:
            play(seed * ROUNDS + number)
        except BaseException as problem:
            problem.add_note(f"play({seed * ROUNDS + number})")
            raise


def test_a_frame_that_comes_byte_by_byte_takes_about_its_size() -> None:
    decoder = FrameDecoder()
    data = answer(1, body=bytes(range(256)) * 1000)
    for at in range(0, len(data), 2):
        decoder.receive(data[at : at + 2])
        if at + 2 < len(data):
            assert decoder.next_frame() is None
    parts = decoder._parts
    assert len(parts) < 2000
    frame = decoder.next_frame()
    assert frame is not None
    assert bytes(frame.body) == bytes(range(256)) * 1000
    assert decoder.unread_bytes == 0


# On loopback, both faces


class Saying:
    """A server that answers each request by the next of `script`, its `OPAQUE` replaced, and then closes."""

    def __init__(self, script: list[bytes], closes: bool = True) -> None:
        self.script = script
        self.closes = closes
        self.count = 0
        self.writers: list[asyncio.StreamWriter] = []

    async def start(self) -> str:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        self.server.close()
        for writer in self.writers:
            writer.close()
        for _ in range(5):  # transports tell of their end in later turns
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        decoder = FrameDecoder()
        while data := await reader.read(65536):
            decoder.receive(data)
            while (request := decoder.next_frame()) is not None:
                script = self.script[min(self.count, len(self.script) - 1)]
                self.count += 1
                writer.write(script.replace(b"4242424242", b"%-10d" % request.opaque))
            await writer.drain()
            if self.closes:
                break
        if self.closes:
            writer.close()


OPAQUE = 4242424242
WHOLE = answer(OPAQUE, topic="t")


def cuts() -> list[bytes]:
    return [WHOLE[:at] for at in range(len(WHOLE))]


async def test_a_connection_that_closes_at_any_byte_of_an_answer_is_lost_and_the_next_call_goes_on() -> None:
    server = Saying([*cuts(), WHOLE])
    address = await server.start()
    client = Client(ManualClock())
    for _ in cuts():
        with pytest.raises(ConnectionLost, match="closed by the other side"):
            await client.invoke(address, ROUTE("t"))
    assert (await client.invoke(address, ROUTE("t"))).ext == {"topic": "t"}
    assert client.in_flight_requests == 0
    await client.close()
    await server.stop()


class Loop:
    """A server in a thread beside."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(120)

    def close(self) -> None:
        async def settle() -> None:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(0)

        self.run(settle())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def beside() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


def test_the_same_for_plain_threads(beside: Loop) -> None:
    server = Saying([*cuts(), WHOLE])
    address = beside.run(server.start())
    client = BlockingClient(SystemClock())
    for _ in cuts():
        with pytest.raises(ConnectionLost):
            client.invoke(address, ROUTE("t"), timeout=60)
    assert client.invoke(address, ROUTE("t"), timeout=60).ext == {"topic": "t"}
    assert client.endpoint.in_flight_requests == 0
    client.close()
    beside.run(server.stop())


NONSENSE = {
    "a negative length": struct.pack(">ii", -1, 0),
    "two gigabytes": struct.pack(">iI", 2**31 - 1, 0),
    "a header longer than its frame": struct.pack(">iI", 100, 0xFFFFFF) + bytes(96),
    "an unknown header form": struct.pack(">iI", 100, 7 << 24 | 2) + bytes(96),
    "nesting without end": struct.pack(">iI", 200_004, 200_000) + b'{"x":' + b"[" * 199_995,
    "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "zeros": bytes(4096),
}


@pytest.mark.parametrize("said", NONSENSE.values(), ids=NONSENSE.keys())
async def test_what_is_no_answer_ends_the_connection_in_words_and_the_next_call_goes_on(
    said: bytes, beside: Loop
) -> None:
    server = Saying([said, WHOLE], closes=False)
    address = beside.run(server.start())
    client = BlockingClient(SystemClock())
    with pytest.raises(ConnectionLost, match="malformed frame"):
        client.invoke(address, ROUTE("t"), timeout=60)
    assert client.invoke(address, ROUTE("t"), timeout=60).ext == {"topic": "t"}
    client.close()
    beside.run(server.stop())

    server = Saying([said, WHOLE], closes=False)
    address = await server.start()
    client = Client(ManualClock())
    with pytest.raises(ConnectionLost, match="malformed frame"):
        await client.invoke(address, ROUTE("t"))
    assert (await client.invoke(address, ROUTE("t"))).ext == {"topic": "t"}
    await client.close()
    await server.stop()


@pytest.mark.parametrize(
    "said",
    [b"", WHOLE[:20], answer(7, topic="of nobody"), encode_frame(Frame(0, OPAQUE, 0))],
    ids=["nothing", "a part", "an answer to nobody", "a request"],
)
async def test_a_server_that_does_not_answer_costs_the_time_of_the_call_and_no_more(said: bytes) -> None:
    server = Saying([said], closes=False)
    address = await server.start()
    clock = ManualClock()
    client = Client(clock)
    calls = [asyncio.ensure_future(client.invoke(address, ROUTE("t"), timeout=3.0)) for _ in range(5)]
    while server.count < 5:
        await asyncio.sleep(0)
    await clock.aadvance(3.0)
    for ended in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(ended, CallTimeout | ConnectionLost)
        assert isinstance(ended, MqframeError)
        assert ended.maybe_stored
    assert client.in_flight_requests == 0
    await client.close()
    await server.stop()


async def test_answers_that_come_twice_change_nothing() -> None:
    server = Saying([WHOLE * 3], closes=False)
    address = await server.start()
    client = Client(ManualClock())
    for _ in range(5):
        assert (await client.invoke(address, ROUTE("t"))).ext == {"topic": "t"}
    assert client.addresses == [address]
    await client.close()
    await server.stop()
