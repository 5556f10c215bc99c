"""The hello between two brokers of mqframe, first of all on a replication connection (replication.md §1.7).

    follower to leader: i64 `HELLO`, i32 length, JSON of a `Hello`
    leader to follower: i32 length, JSON of a `Welcome`

A `Welcome` with a `refusal` ends the connection. One with a `challenge` asks for a second hello, whose
`access` signs `signed_frame(hello, challenge)`; another welcome answers that. After a welcome that has
neither the follower sends its first report. No slave of Apache's begins with a negative number.

**Never say it to a master of Apache's**: that takes the last eight bytes of what it reads for a report, and
answers sends by it from then on. Masters that take a hello have `replicationProtocol` among their counters,
which followers ask for first.

    reader = HelloReader()
    while (hello := reader.read(received())) is None: ...
    follow_on(reader.rest)  # bytes that came behind it

Sans-io, and bounded: the readers take bytes in any pieces, wait for `MESSAGE_BYTES_MAX` at most, and raise
`FrameError` as soon as what came can be no such message.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Annotated, Final, Generic, NamedTuple, TypeVar

import msgspec

from mqframe.core.errors import FrameError
from mqframe.core.wire.frame import Frame

PROTOCOL: Final = 1
"""The version of what is spoken here. Both sides say theirs; the leader refuses another one."""
MESSAGE_BYTES_MAX: Final = 1 << 20
"""The longest JSON of either message, bytes."""
REFUSAL_CHARS_MAX: Final = 1000
"""The longest refusal that is said, and passed on: names of strangers may be in it."""
_MARK: Final = b"\xffmqframe"
HELLO: Final = int.from_bytes(_MARK, "big", signed=True)
"""What stands in the place of a first report."""

HELLO_CODE: Final = 0
"""Of `signed_frame`; no request has it."""

_SIZE: Final = struct.Struct(">i")
_Int32 = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Offset = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class EpochStart(NamedTuple):
    """An epoch, and the log offset of its first byte, bytes."""

    epoch: _Int32
    start: _Offset


class Hello(msgspec.Struct, frozen=True):
    """Who follows, and what it has.

    `id`: number among the brokers of the name; `file_bytes`: size of log files; `end`: log offset behind its
    last whole record; `boot`: names the run of the process, another text for each start; `epoch`, `history`:
    0 and empty outside of elected groups; `access`: fields that sign it, empty without access control;
    `is_clean`: whether it has everything that it ever acknowledged;
    `fetches`: the connection is for one stretch of the log, stands beside the one that follows, and what it
    reports is not how far the slave is.
    """

    cluster: str
    broker: str
    id: _Int32
    file_bytes: _Offset
    end: _Offset
    boot: str
    epoch: _Int32 = 0
    history: tuple[EpochStart, ...] = ()
    access: dict[str, str] = {}
    fetches: bool = False
    is_clean: bool = True
    protocol: _Int32 = PROTOCOL


class Welcome(msgspec.Struct, frozen=True):
    """What the leader says to a `Hello`.

    `refusal`: why it does not take the follower, a sentence; empty: it does. `challenge`: what a second,
    signed hello has to answer first; empty: nothing. `id`: the leader's number; `start`, `end`: what its log
    holds; `confirmed`: up to where that is safe; `epoch`, `history`: as in `Hello`.
    """

    refusal: str = ""
    challenge: str = ""
    id: _Int32 = 0
    epoch: _Int32 = 0
    history: tuple[EpochStart, ...] = ()
    start: _Offset = 0
    end: _Offset = 0
    confirmed: _Offset = 0
    protocol: _Int32 = PROTOCOL


T = TypeVar("T", bound=Hello | Welcome)


def encode_hello(hello: Hello) -> bytes:
    """What a follower sends first. Raises `FrameError` where it is too long."""
    return _MARK + _encode(hello)


def encode_welcome(welcome: Welcome) -> bytes:
    """What a leader answers. Raises `FrameError` where it is too long."""
    return _encode(welcome)


def signable(hello: Hello, challenge: str) -> bytes:
    """What is signed of `hello` as the answer to `challenge`: all of it but the signature itself.

    It is a digest, so that no leader gets a follower to sign a request by a challenge that looks like one.
    """
    said = msgspec.json.encode([challenge, msgspec.structs.replace(hello, access={})])
    return b"replication hello " + hashlib.sha256(said).hexdigest().encode()


def signed_frame(hello: Hello, challenge: str) -> Frame:
    """What stands for `hello` where requests are signed and checked: its `access` fields, and `signable`."""
    return Frame(HELLO_CODE, ext=dict(hello.access), body=signable(hello, challenge))


def is_hello(first: bytes) -> bool | None:
    """Whether a connection that begins with `first` begins with a hello; `None`: too few bytes to tell."""
    if not _MARK.startswith(first[: len(_MARK)]):
        return False
    return True if len(first) >= len(_MARK) else None


class _MessageReader(Generic[T]):
    def __init__(self, kind: type[T], mark: bytes, stranger: str) -> None:
        self._kind = kind
        self._mark = mark
        self._stranger = stranger
        self._came = bytearray()
        self._found: T | None = None

    @property
    def rest(self) -> bytes:
        """What came behind the message; empty before that is whole."""
        return bytes(self._came) if self._found is not None else b""

    def read(self, data: bytes) -> T | None:
        """Take `data` in; the message once it is whole. Raises `FrameError` for what is none."""
        came, mark = self._came, self._mark
        came += data
        if self._found is not None:
            return self._found
        if not mark.startswith(came[: len(mark)]):
            raise FrameError(f"{bytes(came[:16])!r} begins no {self._kind.__name__}: {self._stranger}")
        begin = len(mark) + _SIZE.size
        if len(came) < begin:
            return None
        (size,) = _SIZE.unpack_from(came, len(mark))
        if not 0 < size <= MESSAGE_BYTES_MAX:
            raise FrameError(
                f"a {self._kind.__name__} of {size} bytes, between 1 and {MESSAGE_BYTES_MAX} are taken:"
                f" {self._stranger}"
            )
        if len(came) < begin + size:
            return None
        self._found = _decode(bytes(came[begin : begin + size]), self._kind)
        del came[: begin + size]
        return self._found


class HelloReader(_MessageReader[Hello]):
    """Finds the `Hello` of a follower; a plain slave's report is a `FrameError`."""

    def __init__(self) -> None:
        super().__init__(Hello, _MARK, "a slave that sends none, or no slave at all")


class WelcomeReader(_MessageReader[Welcome]):
    """Finds the `Welcome` of a leader."""

    def __init__(self) -> None:
        super().__init__(Welcome, b"", "what is connected to is no replication port of mqframe")


def _encode(message: Hello | Welcome) -> bytes:
    text = msgspec.json.encode(message)
    if len(text) > MESSAGE_BYTES_MAX:
        raise FrameError(
            f"a {type(message).__name__} of {len(text)} bytes, at most {MESSAGE_BYTES_MAX} may be sent: its"
            f" history has {len(message.history)} epochs"
        )
    return _SIZE.pack(len(text)) + text


def _decode(text: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise FrameError(f"a {kind.__name__} that cannot be read: {problem}") from None
