"""Ordinary sends laid out natively, verdicts of filters, what a log says.

Python is the reference, and has the unusual."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, Protocol, final

from typing_extensions import Buffer

from mqframe.core.messages.message import Message, SendResult
from mqframe.core.storage.record_filter import RecordFilter
from mqframe.hooks.interfaces.message_filter import Matches

__all__ = [
    "INTERFACE", "AckReader", "FieldReader", "Gathered", "GatheredMessages", "Gatherer", "InFlight", "Inbox",
    "Keys", "Laid", "LoopPromise", "NewEntries", "PullAnswers", "PullReader", "ReceivedTranslator",
    "RecordMessage", "RecordVerdicts", "SendLayout", "SentReader", "Signers", "ThreadPromise",
    "any_may_have", "describe_log", "encode_elements", "guard", "lay_commit", "offsets_of", "read_messages",
    "rise_in", "spell_ids", "store_bytes_of",
]  # fmt: skip

_Place = tuple[bytes, int, int, int, int, Callable[[tuple[str, int]], object | None]]
"""Where records go: the sender's host, packed; log offset of the next record; bytes that they may take
together; store time, ms; longest body, bytes; what is called once for each topic and queue id: `None` for
none, else an object whose `next_offset` is where the queue goes on."""

_LaidRecord = tuple[int, bytes, int]
"""Bytes of a record, its queue entry, the tags code in that."""

INTERFACE: Final[int]
"""Number of this interface; another one has other classes, or takes other arguments."""

@final
class Keys:
    """Index keys of records, in the order of the log."""

    def __len__(self) -> int:
        """How many keys."""
    def __getitem__(self, at: int) -> tuple[int, int]:
        """(hash, log offset) of the key at that place."""
    def pairs(self) -> list[tuple[int, int]]:
        """(hash, log offset) of each key, as `KeyHashes.pairs` makes them."""
    def by_time(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """As `HashedPairs.by_time`."""
    def of_one_second(self, skip: int, most: int, begin: int) -> tuple[int, int] | None:
        """As `HashedPairs.of_one_second`."""

@final
class Laid:
    """Sends that were laid out; nothing of it is stored yet."""

    @property
    def stopped(self) -> int:
        """Index into the data of the first byte that was not served."""
    @property
    def unknown(self) -> str | None:
        """Topic of the frame at which it stopped, if nothing but that it is not admitted spoke against it."""
    @property
    def undecided(self) -> tuple[str, int, int, str] | None:
        """Of what kind the frame is at which it stopped, if that is not known: its topic, which is admitted,
        its queue, its bits of transactions, the pair among its properties whose name is of `diverting`."""
    @property
    def at_once(self) -> bool:
        """Whether none of the answers waits; all of them may otherwise."""
    @property
    def count(self) -> int:
        """How many messages."""
    @property
    def end(self) -> int:
        """Log offset behind the last record."""
    @property
    def records(self) -> bytes:
        """The records, joined, from the end of the log on."""
    @property
    def answers(self) -> bytes:
        """Frames of answers, joined; one-way requests have none."""
    @property
    def runs(self) -> list[tuple[int, Any, int, bytes, list[int]]]:
        """One a queue, in order of their ends: log offset behind its last record, queue, queue offset of
        the first message, queue entries joined, tags codes."""
    @property
    def puts(self) -> list[tuple[Any, bool, int, int, int]]:
        """Messages of one topic, with or without a sharding key, with records of about one size: topic,
        whether their requests have such a key, how many, bytes of their records, of how many requests. For
        the size those of a batch count by their average. Of kinds that wait elsewhere: as what they are
        counted (`divert`), in the place of the topic."""
    @property
    def kinds(self) -> list[tuple[int, bool, int]]:
        """Request code, whether one-way, how many requests."""
    @property
    def keys(self) -> Keys:
        """Index keys of all records."""

@final
class SendLayout:
    """Lays out the ordinary sends at the beginning of what was read. Belongs to one thread.

    `suffix`: what the broker puts behind all properties; `guarded`: followed by a CRC over the whole record,
    as a property. `words`: a message in whose properties one occurs
    is not ordinary, but where that is in a pair by which its kind is known; nor is a batch with one of
    `batch_words` anywhere in it. `diverting`: names of properties of which each value makes a kind; `apart`:
    a message with another one of these is of none. `at_once`: with one of these
    among the properties of a request its answer does not wait. `store_host`: packed.
    `offset_id_head`: what offset ids begin with, before the 16 digits of the log offset. `answer`: the parts
    of an answer's header from its beginning to the message id, the fields that all answers share, each with
    its comma, from behind the fields to the number of the request, and behind this number.
    `frame_bytes_max`, `header_bytes_max`: as of `FrameDecoder`. `text_max`: longest properties of a request,
    bytes. `batch_messages_max`: messages of a batch, and keys of all of them; `batch_keys_max`: keys of one.
    `size_bounds`: sizes of records, in order, up to which they are counted.

    Raises `ValueError` for a host of another size than 8 or 20 bytes, and for bounds that are not in order.
    """

    def __new__(
        cls,
        *,
        suffix: bytes,
        guarded: bool,
        words: list[bytes],
        diverting: list[bytes],
        apart: list[bytes],
        batch_words: list[bytes],
        at_once: list[bytes],
        store_host: bytes,
        offset_id_head: bytes,
        answer: tuple[bytes, bytes, bytes, bytes],
        frame_bytes_max: int,
        header_bytes_max: int,
        text_max: int,
        batch_messages_max: int,
        batch_keys_max: int,
        size_bounds: list[int],
    ) -> SendLayout: ...
    def admit(self, topic: str, queues: int, sys_flag: int) -> None:
        """Messages may be sent to `topic`, queues 0 to `queues` - 1; `sys_flag` is or-ed to theirs."""
    def knows(self, topic: str) -> bool:
        """Whether `topic` was admitted."""
    def forget(self) -> None:
        """Admit no topic any more, and know no kind."""
    def divert(
        self,
        topic: str,
        queue_id: int,
        bits: int,
        pair: str,
        way: tuple[str, int, list[bytes], int | None, Any] | None,
    ) -> None:
        """Messages of this kind, see `Laid.undecided`, are stored so; `None`: they are left.

        `way`: topic and queue; what stands behind the broker's own properties, in parts between which the
        unique key stands; how long after its storage a message is due, ms, where its entry says that, `None`
        where it has a tags code; as what it is counted. 16,384 kinds are known at once.
        """
    def forget_ways(self) -> None:
        """Know no kind any more."""
    def lay_one(
        self,
        topic: str,
        numbers: tuple[int, int, int, int, int, int, int],
        properties: str,
        body: bytes,
        place: _Place,
    ) -> Laid | None:
        """Lay out one send that is no frame, as `lay` does; there are no answers of it.

        `numbers`: queue id, system flag, time of birth (ms), flag, how often it was consumed in vain; queues
        of a topic that is made, how often it may be consumed in vain, which only have to be such as headers
        hold. `None`: it is not ordinary, or its topic was not admitted. Raises `OverflowError` for numbers
        that fit no record, `UnicodeEncodeError` for text that cannot be one, `TypeError` for another body
        than bytes.
        """
    def lay(self, data: bytes, start: int, place: _Place, signers: Signers | None = None) -> Laid | None:
        """Lay out frames of `data` from `start` on, up to the first that is not whole or not ordinary, or
        whose answer waits where those before do not, or the other way round.

        With `signers` it also has to be signed by one of them, who may send it.

        Nothing outside is changed. `None` when no frame was served, except for an `unknown` topic. Raises
        what the function of `place` raises.
        """

@final
class NewEntries:
    """Entries of one index file with `slots` slots that are not in it yet.

    `slot_map`, below, is the beginning of the file: header and slots.
    """

    def __new__(cls, slots: int) -> NewEntries: ...
    def __len__(self) -> int:
        """How many entries."""
    def add(
        self,
        keys: Keys | Sequence[tuple[int, int]],
        skip: int,
        most: int,
        number: int,
        seconds: int,
        first_seconds: int,
        slot_map: Buffer,
        before_cut: Callable[[int, int], int],
    ) -> int:
        """Note entries for at most `most` of `keys` behind the first `skip`, numbered from `number` on.

        `seconds`: of each but the first, which has `first_seconds`. `before_cut`: called with a slot and the
        entry that it names, where that is not older than those here; returns the one it named before. Returns
        how many slots are used for the first time. When it raises, nothing was noted.
        """
    def entries(self) -> bytes:
        """All entries, joined."""
    def write_slots(self, slot_map: Buffer) -> None:
        """Have the slots name their newest entries."""
    def clear(self) -> None:
        """Forget all entries: they are written."""

@final
class FieldReader:
    """Reads the blocks of header fields of one HTTP/2 client, as `FieldReader` of the service `grpc` does.

    `bytes_max`: longest list of fields, as the protocol counts it; `table_bytes_max`: what a table may take;
    `known`: the fields that both sides know, from number 0 on, each with what it takes. `broken(text)`,
    `too_long(bytes_max)`: make the exception to be raised; `unpacked(text)`: text out of Huffman's code.
    """

    def __new__(
        cls,
        bytes_max: int,
        table_bytes_max: int,
        known: Sequence[tuple[tuple[str, str], int]],
        broken: Callable[[str], Exception],
        too_long: Callable[[int], Exception],
        unpacked: Callable[[bytes], bytes],
    ) -> FieldReader: ...
    @property
    def table(self) -> list[tuple[tuple[str, str], int]]:
        """The fields that the client may refer to, the newest first, each with what it takes."""
    @property
    def table_bytes(self) -> int:
        """What all of them take."""
    @property
    def read_bytes(self) -> int:
        """What the fields of the last block took."""
    def read(self, data: bytes) -> list[tuple[str, str]]:
        """The fields in one block, in their order. Raises what `broken`, `too_long` or `unpacked` make."""

@final
class RecordVerdicts:
    """A filter of records by `matches` that remembers what it said of the same values.

    `matches` looks at the properties called `names` and at nothing else. `wanted`: the filter by it that
    remembers nothing, asked about everything that is not plain, and where `matches` raises.
    """

    def __new__(cls, wanted: RecordFilter, matches: Matches, names: list[str]) -> RecordVerdicts: ...
    def __len__(self) -> int:
        """Combinations of values that are remembered."""
    def __call__(self, record: Buffer) -> bool:
        """Whether `record`, all its bytes, is wanted."""
    def look_ahead(
        self,
        number: int,
        picked: list[tuple[int, int, int]],
        size: int,
        entries: bytes,
        limits: tuple[int, int],
        queue_id: int,
        log_start: int,
        window: tuple[memoryview, int, int],
    ) -> tuple[int, int]:
        """As `RecordsAhead.look_ahead`."""

@final
class PullReader:
    """Reads pulls with JSON headers by their patterns: the header without the numbers that change.

    These are queue id, queue offset, commit offset and opaque, each of 1 to 18 digits. Python says what it
    thinks of a pattern; it is kept, for 16,384 patterns of 8 MiB together.
    """

    def __new__(cls) -> PullReader: ...
    def __len__(self) -> int:
        """Patterns of which something is kept."""
    def read(
        self, data: bytes, start: int, signers: Signers | None = None
    ) -> tuple[int, Any | None, int, int, int, int] | None:
        """The pull whose frame begins at byte `start` of `data`, all of it; `None` where none does.

        With `signers` it is signed by one of them. Its pattern is without the signature then.

        Where it ends, what is kept of its pattern, `None` for nothing, queue id, queue offset, commit offset,
        opaque. That there are more numbers of these names in its header is for whoever sees the first pull
        of a pattern to find.
        """
    def know(self, data: bytes, start: int, what: Any, signed: bool = False) -> None:
        """Keep `what` of the pattern of the pull that begins at byte `start` of `data`.

        `signed`: the signature does not belong to that.
        """

@final
class Signers:
    """Who signs the requests of one connection, as `SignsByFields` says, and what they may send.

    Of a request every part has to be plain: no field comes twice, none but the properties has escapes, and
    none is one that old clients leave unsigned. Once one was signed wrongly, nothing is taken any more.
    """

    def __new__(cls) -> Signers: ...
    @property
    def barred(self) -> bool:
        """Whether one was signed wrongly."""
    def know(self, user: str, key: bytes | None) -> None:
        """`user` signs with `key`; `None`: there is nobody of that name, which takes as long to see."""
    def grant(self, user: str, code: int, topic: str) -> None:
        """Requests `code` to send to `topic` may be taken of `user`, who is known. 256 are remembered."""
    def asked(self) -> tuple[str, tuple[int, str] | None] | None:
        """What has to be said before what the last call stopped at can be taken; `None` the second time.

        A user who is not known; or one who is, and code and topic of a send.
        """

class _LogFile(Protocol):
    """As `LogFile`."""

    @property
    def view(self) -> memoryview: ...
    def read_now(self, at: int, size: int, /) -> bytearray | None: ...

@final
class PullAnswers:
    """Makes the answers to pulls of one kind."""

    def __new__(
        cls,
        codes: list[int] | None,
        verdicts: RecordVerdicts | None,
        messages: int,
        size_bytes: int,
        topic: tuple[int, bytes] | None,
        headers: tuple[list[bytes], list[bytes]],
    ) -> PullAnswers:
        """`codes`: tags codes of which messages are given, `None`: all; `verdicts`: on each of their records,
        `None`: all are wanted; `messages`, `size_bytes`: at most.

        `topic`: as `topic_part` has it, what records are to say; `None` where they may be of any. `headers`:
        of an answer with messages, and of one that found none, what stands before, between and behind next,
        lowest and highest offset and opaque.
        """
    def answer(
        self,
        entries: bytes,
        pull: tuple[int, int, int, int, int],
        log: tuple[Sequence[_LogFile], int, int, int, int],
    ) -> tuple[bytes, int, int, int, list[tuple[int, int]]] | None:
        """What one gets of `entries`, as `mqframe.store.queues.choosing.choose` and `Lookup.get` have it.

        `pull`: queue id, offset of the first entry, lowest and highest offset, opaque. `log`: its files, the
        offsets at which it begins and ends, bytes of a file, the offset from which on maps are read.

        The whole frame, how many entries are done with, records, their bytes, their stretches of the log;
        `None` where there are no entries, the disk has to be waited for, or anything is unusual.
        """

@final
class ReceivedTranslator:
    """Messages of a pop as clients of gRPC get them: `Translates` in mqframe_grpc/calls/translated.py.

    `reserved`: properties that clients are not shown; `left`: with one of these Python looks at the message;
    `kinds`: numbers of MD5, of a plain body, of messages without and with a group.
    """

    def __init__(
        self, reserved: frozenset[str], left: frozenset[str], kinds: tuple[int, int, int, int]
    ) -> None: ...
    def translate(
        self, records: bytes, topic: str, resource: bytes, places: tuple[str, str], words: tuple[str, str]
    ) -> list[tuple[bytes, str, int, int, int, int]] | None:
        """The messages in `records`, all of `topic`; `None` where one is not ordinary, or not where the pop
        says. `resource`: the topic as the client named it; `places`: where the pop began in each queue, and
        what it took; `words`: of each handle those behind the start, and the broker's name."""

@final
class SentReader:
    """Requests of gRPC to send: `ReadsSends` in mqframe_grpc/calls/ordinary_sends.py.

    `reserved`: properties that clients may not set; `limits`: bytes of a body, bytes and number of
    properties, bytes of a message group.
    """

    def __init__(self, reserved: frozenset[str], limits: tuple[int, int, int, int]) -> None: ...
    def read(self, request: bytes) -> tuple[str, str, str, str, bytes, int] | None:
        """Topic, message id, message group, properties, body and ms of the birth of the one message; `None`
        where there is another number of them, or anything may be wrong with it."""

@final
class AckReader:
    """Requests of gRPC to acknowledge: `ReadsAcks` in mqframe_grpc/calls/ordinary_acks.py.

    `status`: that of success, as it travels.
    """

    def __init__(self, status: bytes) -> None: ...
    def read(
        self, request: bytes
    ) -> tuple[str, str, str, str, tuple[int, int, int, int, str, str, int, int], int, bytes] | None:
        """Topic, group, message id, receipt handle, its first eight words, its ninth, -1 without one, and the
        answer where all goes well; `None` where there is another number of messages, or the handle is not as
        doors make them."""

@final
class RecordMessage:
    """A message made from its record, of which it takes what somebody looks at.

    It has what a `ReceivedMessage` holds, by the same names; `mqframe_speedups.messages` gives it the rest.
    """

    @property
    def properties(self) -> dict[str, str]:
        """All properties by name, split once."""
    @property
    def tag(self) -> str | None:
        """The tag, or `None`."""
    def may_have(self, name: bytes) -> bool:
        """As `ReceivedMessage.may_have`."""

def read_messages(records: bytes, broker_name: str) -> list[RecordMessage] | None:
    """The messages in `records`, which lie one behind the other, read from the broker `broker_name`.

    `None` where one is not of the usual kind: version 1, IPv4 hosts, whole.
    """

def offsets_of(messages: Sequence[object]) -> list[int] | None:
    """The queue offsets of `messages`; `None`, here as below: they are no list of `RecordMessage` alone."""

def store_bytes_of(messages: Sequence[object]) -> int | None:
    """Bytes of their records together."""

def any_may_have(messages: Sequence[object], name: bytes) -> bool | None:
    """Whether `name` stands anywhere in the text of the properties of any."""

def rise_in(messages: Sequence[object], topic: str, queue_id: int, first: int) -> bool:
    """Whether all are known to be of the queue `queue_id` of `topic`, from offset `first` on, in order."""

def guard(messages: Sequence[object], bytes_max: int, check_crc: bool) -> bool:
    """Has bodies unpack to `bytes_max` at most, `check_crc`: not without a check; whether that is done."""

def encode_elements(messages: Sequence[Message], unique_ids: list[str], usual: type[Message]) -> bytes | None:
    """The body of a batch request with `messages`, all of the class `usual`, and their unique keys.

    `None` where one is in some way unusual: something of it is no text, it is too long, or it is a reply.
    """

def spell_ids(head: str, numbers: Iterable[int]) -> list[str]:
    """As `mqframe.core.messages.ids.spell_ids`."""

def lay_commit(
    half: bytes,
    goal: tuple[str, int, int, int],
    op_goal: tuple[str, int, int, int],
    op: tuple[bytes, bytes],
    place: tuple[bytes, int, int, int],
) -> tuple[bytes, _LaidRecord, _LaidRecord, Keys] | None:
    """The record of the message that a half becomes, and one behind it that ends the half.

    `half`: all bytes of its record; `goal`, `op_goal`: topic, queue, queue offset and flag of the system of
    each; `op`: body and properties of the second one; `place`: the store's host, packed, log offset, store
    time (ms), longest body. Both records, joined, what queues get of them, index keys; `None` where the half
    or what it becomes is in any way unusual: other hosts than IPv4, properties that are not as this project
    writes them, a CRC among them.
    """

def describe_log(
    some: bytes, first: int, crc: bool, apart: Sequence[str], keys_from: int
) -> tuple[int, int, int, int, int, list[tuple[tuple[str, int], int, bytes, int]], Keys] | None:
    """The parts of a `LogRuns` about the ordinary records at the beginning of `some`, if there are any.

    `first`: the log offset of `some`. `crc`, `apart`: as `LogReading.read` has them. Keys are those of
    records from log offset `keys_from` on.
    """

@final
class InFlight:
    """As `InFlightCount`. Each call is one step for all threads."""

    def __init__(self, count_max: int, bytes_max: int) -> None: ...
    @property
    def count_max(self) -> int:
        """How many there may be."""
    @property
    def bytes_max(self) -> int:
        """How many bytes they may have."""
    @property
    def count(self) -> int:
        """How many there are."""
    @property
    def bytes(self) -> int:
        """How many bytes they have."""
    def acquire(self, size: int) -> bool:
        """As `InFlightCount.acquire`."""
    def release(self, size: int, count: int = 1) -> None:
        """As `InFlightCount.release`."""

@final
class GatheredMessages(Sequence[Message]):
    """The messages of a batch."""

    def __len__(self) -> int: ...
    def __getitem__(self, at: int) -> Message: ...  # type: ignore[override]
    def encoded(self, unique_ids: list[str]) -> bytes | None:
        """The body of a batch request of them; `None` where Python has to make it."""

@final
class Gathered:
    """As `Batch`, and what holds its messages, as `Items`."""

    queue: Hashable
    due: float
    bytes: int
    closed: bool
    @property
    def items(self) -> Gathered:
        """Itself."""
    @property
    def message(self) -> Message:
        """Its first one."""
    @property
    def size(self) -> int:
        """Its bytes."""
    @property
    def count(self) -> int:
        """How many messages it has."""
    def append(self, item: Any) -> None:
        """Put an item at the end, or all of another one, which has none afterwards; sizes are not counted."""
    def __len__(self) -> int: ...
    def __getitem__(self, at: int) -> Any: ...
    def messages(self) -> GatheredMessages:
        """Each message."""
    def settle(self, result: SendResult, ids: list[str]) -> list[tuple[Any, Any]]:
        """Who is to get which result yet: promises that nobody looks at find their own."""
    def body_bytes(self) -> int:
        """Bytes of all bodies."""
    def bound(self) -> int:
        """How many are bound to a queue."""

@final
class Gatherer:
    """Takes messages that are as they usually are into the open batches of their topics."""

    def __init__(
        self,
        open: dict[str, Any],
        known_route: Callable[[str], object],
        in_flight: InFlight,
        waiters: Any,
        source: Callable[[], object],
        split: Callable[[SendResult, list[str]], list[SendResult]],
        usual: type[Message],
        fields: Callable[[Message], tuple[object, ...]],
        item: Callable[..., object],
        reserved: frozenset[str],
        body_below: int,
        messages_max: int,
        bytes_max: int,
    ) -> None: ...
    def batch(self, queue: Hashable, due: float) -> Gathered:
        """A batch without messages."""
    def take(self, message: Message) -> LoopPromise | None:
        """What waits for the result of `message`, which is in a batch now; `None` where Python has to."""
    def inbox(self) -> Inbox:
        """What threads hand messages over by."""
    def handing_over(self) -> tuple[Inbox, Callable[[Message], ThreadPromise | None]]:
        """That, and its `take`."""

@final
class Inbox:
    """What threads hand over: items, and in between messages gathered, in order."""

    def take(self, message: Message) -> ThreadPromise | None:
        """What waits for the result of `message`, which is handed over now; `None` where Python has to."""
    def append(self, item: Any) -> None:
        """Hand an item over."""
    def popleft(self) -> Any:
        """The first item, or messages gathered, which get no more. Raises `IndexError` when empty."""
    def __len__(self) -> int: ...

@final
class LoopPromise:
    """Stands for a future of asyncio."""

@final
class ThreadPromise:
    """Stands for a future of `concurrent.futures`."""
