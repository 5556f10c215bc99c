"""The replication port until it is known who has come."""

from __future__ import annotations

import asyncio
import ssl
import struct

import certificates
import msgspec
import pytest
from certificates import Pems
from master_port import HELLO, Place
from mqframe_replication.rules.hello import HELLO as HELLO_NUMBER
from mqframe_replication.rules.hello import Welcome, encode_hello
from mqframe_replication.rules.stream import encode_report, frame_head
from mqframe_replication.stream.handshake import HANDSHAKES_MAX

from mqframe.net.tls.contexts import client_context


def changed(**change: object) -> bytes:
    return encode_hello(msgspec.structs.replace(HELLO, **change))


async def test_a_slave_that_says_hello_is_welcome_and_is_fed() -> None:
    async with Place() as place:
        line = await place.connect()
        assert await line.greet() == Welcome(start=1000, end=1250)
        await line.report(1249)
        assert await line.reader.readexactly(13) == frame_head(1249, 1) + b"\xf9"
        assert place.followed == [(1249, 1250)]


async def test_a_hello_may_come_byte_by_byte() -> None:
    async with Place() as place:
        line = await place.connect()
        for each in encode_hello(HELLO):
            await line.say(bytes([each]))
        assert (await line.welcome()).refusal == ""


async def test_a_plain_slave_is_fed_as_ever_however_its_report_is_split() -> None:
    async with Place() as place:
        line, report = await place.connect(), encode_report(1249)
        for each in report:
            await line.say(bytes([each]))
        assert await line.reader.readexactly(13) == frame_head(1249, 1) + b"\xf9"


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        (changed(broker="broker-b"), "the slave is 'broker-b' of 'C'"),
        (changed(file_bytes=1 << 20), "mappedFileSizeCommitLog"),
        (changed(id=0), "is that of this master"),
        (changed(broker="b" * 100_000), "this master is 'broker-a'"),
        (changed(broker="\x1b[2J"), r"'\x1b[2J'"),
        (struct.pack(">qi", HELLO_NUMBER, 1 << 30), "a Hello of 1073741824 bytes"),
        (struct.pack(">qi", HELLO_NUMBER, 2) + b"[]", "a Hello that cannot be read"),
        (encode_hello(HELLO) + encode_report(0), "more than its hello before it is welcome"),
    ],
)
async def test_a_slave_that_does_not_fit_is_told_why_and_others_go_on(said: bytes, refusal: str) -> None:
    async with Place() as place:
        good, bad = await place.connect(), await place.connect()
        await good.report(1250)
        await bad.say(said)
        welcome = await bad.welcome()
        assert refusal in welcome.refusal
        assert len(welcome.refusal) <= 1000
        assert await bad.is_left()
        place.log.data += b"more"
        place.feeding.push()
        assert await good.reader.readexactly(16) == frame_head(1250, 4) + b"more"


async def test_a_master_that_asks_for_a_hello_takes_no_plain_slave(caplog: pytest.LogCaptureFixture) -> None:
    async with Place("always") as place:
        plain = await place.connect()
        await plain.report(1250)
        assert await plain.is_left()
        assert "replication.hello = always" in caplog.text
        line = await place.connect()
        assert (await line.greet()).refusal == ""


@pytest.mark.parametrize("said", [b"", b"\xff", encode_hello(HELLO)[:-2]])
async def test_who_does_not_finish_a_hello_is_left_in_the_end(said: bytes) -> None:
    async with Place() as place:
        good, slow = await place.connect(), await place.connect()
        await good.report(1250)
        await slow.say(said)
        await place.look(19)
        await good.report(1250)
        assert not slow.reader.at_eof()
        await slow.say(encode_hello(HELLO)[len(said) : len(said) + 1])  # buys no time
        await place.look(1.1)
        assert await slow.is_left()
        assert place.followed == [(1250, 1250)]


async def test_a_welcome_slave_has_its_time_for_the_first_report_as_any_other() -> None:
    async with Place() as place:
        line = await place.connect()
        await place.look(15)
        await line.greet()
        await place.look(15)
        await line.report(1250)
        assert place.followed == [(1250, 1250)]
        line = await place.connect()
        await line.greet(msgspec.structs.replace(HELLO, id=2))
        await place.look(20.1)
        assert await line.is_left()


async def test_who_has_not_said_who_it_is_takes_no_place_of_a_slave() -> None:
    async with Place() as place:
        good = await place.connect()
        await good.report(1250)
        strangers = [await place.connect() for _ in range(HANDSHAKES_MAX)]
        refused = await place.connect()
        assert await refused.is_left()
        strangers[0].writer.close()
        await place.clock.aadvance(0)
        late = await place.connect()
        await late.report(1250)
        assert place.followed == [(1250, 1250)] * 2


async def test_strangers_who_say_nothing_keep_no_slave_out() -> None:
    async with Place() as place:
        strangers = [await place.connect() for _ in range(HANDSHAKES_MAX)]
        await place.look(1.1)
        slave = await place.connect()
        await slave.report(1250)
        assert place.followed == [(1250, 1250)]
        assert await strangers[0].is_left()
        late = await place.connect()  # where the slave was
        assert not late.reader.at_eof()
        assert not strangers[1].reader.at_eof()


async def test_two_slaves_of_one_number_do_not_take_turns() -> None:
    async with Place() as place:
        first = await place.connect()
        await first.greet()
        await first.report(1250)
        second = await place.connect()
        welcome = await second.greet(msgspec.structs.replace(HELLO, boot="second"))
        assert "replication.id (brokerId) = 1 is that of a slave that is connected from 127.0.0.1" in (
            welcome.refusal
        )
        assert await second.is_left()
        assert place.followed == [(1250, 1250)]
        await place.look(20.1)  # the first is gone without a word
        second = await place.connect()
        assert (await second.greet(msgspec.structs.replace(HELLO, boot="second"))).refusal == ""


async def test_a_broker_that_connects_again_has_one_connection() -> None:
    async with Place() as place:
        first = await place.connect()
        await first.greet()
        await first.report(1250)
        again = await place.connect()
        await again.greet()
        assert await first.is_left()
        assert place.followed == []
        await again.report(1250)
        assert place.followed == [(1250, 1250)]


async def test_a_connection_that_fetches_stands_beside_and_counts_for_nothing() -> None:
    async with Place() as place:
        line, fetching = await place.connect(), await place.connect()
        await line.greet()
        await fetching.greet(msgspec.structs.replace(HELLO, fetches=True))
        await fetching.report(1240)
        assert await fetching.reader.readexactly(12) == frame_head(1240, 10)
        assert place.followed == []
        assert place.feeding.acknowledged() == []
        await line.report(1250)
        assert place.feeding.acknowledged() == [1250]


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Pems:
    return certificates.make(tmp_path_factory.mktemp("pems"))


@pytest.mark.parametrize("hello", [True, False])
async def test_a_slave_may_come_by_tls(pems: Pems, hello: bool) -> None:
    async with Place(net=pems.server(tls_server_mode="enforcing")) as place:
        line = await place.connect(client_context(pems.client()))
        if hello:
            assert await line.greet() == Welcome(start=1000, end=1250)
        await line.report(1249)
        assert await line.reader.readexactly(13) == frame_head(1249, 1) + b"\xf9"


async def test_a_plain_slave_at_a_port_for_tls_is_named_in_the_log(
    pems: Pems, caplog: pytest.LogCaptureFixture
) -> None:
    async with Place(net=pems.server(tls_server_mode="enforcing")) as place:
        plain = await place.connect()
        await plain.report(1250)
        assert await plain.is_left()
        assert "a slave without TLS is refused: this replication port takes TLS only" in caplog.text
        assert "replication.tls = off" in caplog.text


async def test_a_permissive_port_takes_both(pems: Pems) -> None:
    async with Place(net=pems.server()) as place:
        for context in (None, client_context(pems.client())):
            line = await place.connect(context)
            await line.report(1250)
        assert place.followed == [(1250, 1250)] * 2


async def test_tls_at_a_plain_port_is_named_in_the_log(pems: Pems, caplog: pytest.LogCaptureFixture) -> None:
    async with Place() as place:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await place.connect(client_context(pems.client()))
        assert "it speaks TLS, which this replication port does not" in caplog.text


async def test_who_never_begins_tls_is_left(pems: Pems) -> None:
    async with Place(net=pems.server(tls_server_mode="enforcing")) as place:
        line = await place.connect()
        await line.say(b"\x16\x03\x01")
        await place.look(20.1)
        assert await line.is_left()


async def test_the_port_closes_with_whoever_waits_there() -> None:
    async with Place() as place:
        waiting = await place.connect()
        await waiting.say(b"\xff")
        await place.feeding.stop()
        assert await waiting.is_left()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", place.feeding.port)
