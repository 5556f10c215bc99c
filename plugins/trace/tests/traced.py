"""What tests of the hooks share: a port that keeps what it is handed, and sends to trace."""

from collections.abc import Callable

from mqframe_trace import SendTrace, TraceOptions
from mqframe_trace.records import TraceRecord, decode_records

from mqframe.core.errors import CallTimeout
from mqframe.core.messages.message import Message, MessageQueue, SendResult, SendStatus
from mqframe.hooks.interfaces import SendContext

QUEUE = MessageQueue("orders", "broker-a", 1)
ADDRESS = "10.0.0.9:10911"


class Port:
    """Keeps messages and periodic calls. `full`: takes nothing more."""

    def __init__(self) -> None:
        self.client_id = "10.0.0.1@42"
        self.sent: list[Message] = []
        self.actions: list[tuple[float, Callable[[], None]]] = []
        self.full = False
        self.now = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.now

    def send(self, message: Message) -> bool:
        if not self.full:
            self.sent.append(message)
        return not self.full

    def every(self, seconds: float, action: Callable[[], None]) -> None:
        self.actions.append((seconds, action))

    @property
    def records(self) -> list[TraceRecord]:
        return [record for message in self.sent for record in decode_records(message.body.decode())]


def sent_result(**changes: object) -> SendResult:
    fields = {
        "status": SendStatus.SEND_OK, "message_id": "ID1", "queue": QUEUE, "queue_offset": 7,
        "offset_message_id": "OFF1", "region_id": "R",
    }  # fmt: skip
    return SendResult(**(fields | changes))


def send_once(hook: SendTrace, port: Port, result: SendResult | None, *messages: Message) -> None:
    batch = messages or (Message("orders", b"body", "paid", ["k1", "k2"]),)
    ids = [f"ID{number}" for number in range(1, len(batch) + 1)]
    context = SendContext("shop", batch, ids, QUEUE, ADDRESS, "sync", port.now)
    hook.before(context)
    port.now += 12
    context.result = result
    context.error = None if result else CallTimeout("3 s")
    hook.after(context)


def attached(kind: type, **options: object) -> tuple:
    hook, port = kind(TraceOptions(**options)), Port()
    hook.attach(port)
    return hook, port
