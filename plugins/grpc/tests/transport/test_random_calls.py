"""Whatever clients do, in whatever order their bytes come: each call gets its answer, and nothing is kept."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random

from bent_bytes import bent
from grpc_wire import Peer, Wire, answer_name, message
from h2.events import SettingsAcknowledged
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes
from hypothesis import given, settings
from hypothesis import strategies as st

RPCS = ("Echo", "Held", "Many", "Both")
_STEPS = 60


class Player:
    """One client that does this and that, by `chance`."""

    def __init__(self, wire: Wire, chance: Random) -> None:
        self.wire = wire
        self.chance = chance
        window = chance.choice((0, 1, 100, 65535, 1 << 20))
        self.peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: window}, greet=chance.random() < 0.7)
        self.peer.credits = window > 1000 and chance.random() < 0.5
        self.left: dict[int, bytes] = {}
        self.expected: dict[int, list[bytes]] = {}
        self.held: dict[int, bytes] = {}
        self.cancelled: set[int] = set()
        self.names = 0

    def step(self) -> None:
        often, seldom = (self.send, self.move), (self.open, self.cancel, self.room, self.release, self.change)
        self.chance.choice((*often, *often, *seldom, self.ping, self.read))()

    def open(self) -> None:
        chance, peer = self.chance, self.peer
        if len(self.left) > 8:
            return
        rpc = chance.choice(RPCS)
        self.names += 1
        name = b"%d." % self.names + b"n" * chance.choice((0, 3, 200, 20_000))
        count, size = chance.choice((0, 1, 5)), chance.choice((20, 3000, 50_000))
        if rpc == "Many":
            name = b"%d:%d" % (count, size)
            expected = [answer_name(n, size).encode() for n in range(count)]
            names = [name]
        else:
            names = [name] if rpc != "Both" else [name + b"%d" % n for n in range(count)]
            expected = list(names)
        number = peer.headers(rpc, grpc_timeout=chance.choice(("", "3S", "1H")))
        self.expected[number] = expected
        if rpc == "Held":
            self.held[number] = name
        self.left[number] = b"".join(map(message, names))

    def send(self) -> None:
        if not self.left:
            return
        number = self.chance.choice(list(self.left))
        data = self.left[number]
        room = self.peer.http.local_flow_control_window(number)
        size = min(self.chance.choice((0, 1, 7, 1000, 16_000, 100_000)), len(data), room, 16_000)
        end = size == len(data) and self.chance.random() < 0.8
        padding = self.chance.choice((None, None, 0, 30)) if room > size + 300 else None
        self.peer.http.send_data(number, data[:size], end_stream=end, pad_length=padding)
        self.left[number] = data[size:]
        if end:
            del self.left[number]

    def cancel(self) -> None:
        going = [n for n in self.expected if n not in self.cancelled and not self.peer.answers[n].ended]
        if going and self.chance.random() < 0.4:
            number = self.chance.choice(going)
            self.peer.cancel(number)
            self.cancelled.add(number)
            self.left.pop(number, None)

    def room(self) -> None:
        number = self.chance.choice([None, *self.expected])
        self.give(number, self.chance.choice((1, 50, 30_000, 200_000)))

    def give(self, number: int | None, size: int) -> None:
        if number is None or (number not in self.cancelled and not self.peer.answers[number].ended):
            with suppress(ProtocolError):  # it was ended by what this client has not read yet
                self.peer.http.increment_flow_control_window(size, number)

    def change(self) -> None:
        # h2 takes the first acknowledgement for that of a change, though it is that of its first settings.
        if self.chance.random() < 0.3 and self.peer.count(SettingsAcknowledged):
            window = self.chance.choice((0, 3000, 65535, 1 << 20))
            self.peer.http.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})

    def ping(self) -> None:
        self.peer.http.ping(b"12345678")

    def move(self) -> None:
        self.peer.push(self.chance.choice((1, 9, 100, 5000, None)))

    def read(self) -> None:
        self.peer.transport.stuck = self.chance.random() < 0.3
        if not self.peer.transport.stuck:
            self.peer.transport.drain()
        self.peer.pull()

    def release(self) -> None:
        if self.held:
            self.wire.release(self.held.pop(self.chance.choice(list(self.held))))

    async def finish(self) -> None:
        """Do what is left to do, so that all calls can end."""
        peer = self.peer
        peer.transport.stuck = False
        peer.transport.drain()
        await self.wire.settle()  # there is room for all of a call now
        for number, data in list(self.left.items()):
            peer.data(number, data, end=True)
        self.left.clear()
        while self.held:
            self.release()
        peer.credits = True
        await self.wire.settle()
        peer.http.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 24})
        self.give(None, 1 << 24)


@settings(max_examples=100)
@given(st.integers(0, 1 << 40))
async def test_each_call_gets_its_answer(seed: int) -> None:
    chance = Random(seed)
    wire = Wire(message_bytes_max=200_000)
    players = [Player(wire, chance) for _ in range(chance.choice((1, 2, 3)))]
    for _ in range(_STEPS):
        chance.choice(players).step()
        if chance.random() < 0.2:
            await asyncio.sleep(0)
        if chance.random() < 0.05:
            await wire.settle()
    for player in players:
        await player.finish()
    await wire.settle()
    for player in players:
        for number, expected in player.expected.items():
            answer = player.peer.answers[number]
            if number not in player.cancelled:
                assert (answer.messages, answer.status, answer.ended) == (expected, 0, True)
        assert player.peer.farewell is None
        assert player.peer.connection.calls == 0
        assert balanced(player.peer)
    assert wire.at_rest()
    assert wire.clock.timers == 0


def balanced(peer: Peer) -> bool:
    """Whether both sides count the same room, in both directions, and nothing is left over."""
    calls, leaving = peer.connection._calls, peer.connection._leaving
    owed = peer.connection._taken_bytes
    http = peer.connection._http
    assert http.granted == peer.http.outbound_flow_control_window
    assert http.granted + owed == 65535 + (16 << 20)
    assert http.window == peer.http.inbound_flow_control_window
    assert http.streams == {}
    assert (calls.held_bytes, leaving.waiting_bytes) == (0, 0)
    assert (leaving._ready, leaving._waiting) == ({}, {})
    return peer.connection.unsent_bytes == 0


async def recorded(chance: Random) -> bytes:
    """All that a client sent that did this and that."""
    wire = Wire(message_bytes_max=200_000)
    player = Player(wire, chance)
    for _ in range(_STEPS):
        player.step()
    await player.finish()
    await wire.settle()
    return bytes(player.peer.sent)


@settings(max_examples=100)
@given(st.integers(0, 1 << 40))
async def test_bytes_that_are_wrong_harm_one_connection_at_most(seed: int) -> None:
    chance = Random(seed)
    raw = bent(await recorded(chance), chance)
    wire = Wire(message_bytes_max=200_000)
    other = wire.connect()
    held = other.call("Held", b"theirs")
    peer = wire.connect(greet=False)
    peer.http.clear_outbound_data_buffer()
    peer.reads = False
    while raw:
        size = chance.choice((1, 50, 1000, 100_000))
        if not peer.transport.is_closing():
            peer.connection.data_received(raw[:size])
        raw = raw[size:]
        if chance.random() < 0.3:
            await wire.settle()
    await wire.settle()
    wire.release(b"theirs")
    echo = other.call("Echo", b"more")
    await wire.settle()
    assert other.answers[held].messages == [b"theirs"]
    assert other.answers[echo].messages == [b"more"]
    peer.vanish()
    await wire.settle()
    assert wire.server.connections == {other.connection}
    assert peer.connection.calls == 0
    assert wire.at_rest()
    assert wire.clock.timers == 0


@settings(max_examples=50)
@given(st.integers(0, 1 << 40))
async def test_a_connection_may_be_lost_at_any_time(seed: int) -> None:
    chance = Random(seed)
    wire = Wire(message_bytes_max=200_000)
    player = Player(wire, chance)
    for _ in range(chance.randrange(_STEPS)):
        player.step()
        if chance.random() < 0.2:
            await asyncio.sleep(0)
    chance.choice(
        (
            player.peer.vanish,
            player.peer.connection.close,
            player.peer.connection.abort,
            lambda: player.peer.send_raw(b"\0\0\0\0\0\0\0\0\0"),
        )
    )()
    player.peer.push()
    player.peer.transport.stuck = False
    player.peer.transport.drain()
    await wire.settle()
    if not player.peer.transport.lost:
        player.peer.vanish()
        await wire.settle()
    assert wire.at_rest()
    assert (wire.server.connections, wire.clock.timers) == (set(), 0)
