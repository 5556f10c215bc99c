"""What stands around the handlers of a broker: lets requests pass, refuses them, or has them wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from math import ceil
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.core.requests.messages import PullAnswer
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Answer, Call, Handler, Reply, as_reply
from mqframe.hooks.interfaces import BrokerPort
from mqframe_quotas.asked import Asked, Way, asked_by, count_lengths, number
from mqframe_quotas.held_reads import HeldRead, HeldReads
from mqframe_quotas.rules.book import Asker, Book, Over, Payer
from mqframe_quotas.settings import QuotaSettings

_MESSAGES: Final = "maxMsgNums"
_BYTES: Final = "maxMsgBytes"
_VERBS: Final = {"send": "send", "read": "be given"}


class Limiting:
    """Has requests keep to the quotas of `book`.

    `stands`: brings that up to date, and says whether it has any. `held`: reads that wait for their quota.
    """

    def __init__(
        self,
        port: BrokerPort,
        book: Book,
        stands: Callable[[], bool],
        settings: Callable[[], QuotaSettings],
    ) -> None:
        self._port = port
        self._now = port.clock.monotonic
        self._book = book
        self._stands = stands
        self._settings = settings
        self._under_way: dict[Peer, set[Callable[[], object]]] = {}
        self.held = HeldReads(port.clock)

    def around(self, handlers: Mapping[int, Handler]) -> dict[int, Handler]:
        """`handlers`, where those of requests that quotas are about heed them."""
        kinds = asked_by(tuple(handlers))
        return {
            code: self._heeding(handler, kinds[code]) if code in kinds else handler
            for code, handler in handlers.items()
        }

    def closed(self, peer: Peer) -> None:
        """That connection is closed: nothing of it is in flight any more."""
        self.held.forget(peer)
        for done in tuple(self._under_way.get(peer, ())):
            done()
        self._book.disconnected(peer)

    def _heeding(self, handler: Handler, asked: Asked) -> Handler:
        limited = self._send if asked.way is Way.SEND else self._read

        def serve(call: Call) -> Answer | Awaitable[Answer] | None:
            if not self._stands():
                return handler(call)
            payers = self._payers(call, asked)
            over = self._book.connect(call.peer, payers)
            if over is not None:
                raise self._refusal(over)
            if not payers or asked.way is Way.HEARTBEAT:
                return handler(call)
            return limited(handler, call, asked, payers)

        return serve

    def _payers(self, call: Call, asked: Asked) -> list[Payer]:
        fields = call.frame.ext or {}
        topic = fields.get(asked.topic, "")
        if asked.way is Way.SEND and topic.startswith(RETRY_PREFIX):
            return []  # a message that was taken already, and failed: it has to come again
        address = call.peer.address.rpartition(":")[0].strip("[]")
        if topic.startswith(RETRY_PREFIX):
            topic = ""  # a group's own: the group pays
        asker = Asker(call.user, address, topic, fields.get(asked.group, ""))
        return self._book.payers(asker, self._now())

    # Sends

    def _send(
        self, handler: Handler, call: Call, asked: Asked, payers: list[Payer]
    ) -> Answer | Awaitable[Answer] | None:
        body = call.frame.body
        messages = count_lengths((body,)) if asked.batch else 1
        who = (call.peer.address, (call.frame.ext or {}).get(asked.topic))
        over = self._book.send(who, payers, len(body), messages, self._now())
        if over is not None:
            raise self._refusal(over)
        return self._watched(handler, call, lambda: self._book.sent(payers))

    def _watched(
        self, handler: Handler, call: Call, ended: Callable[[], object]
    ) -> Answer | Awaitable[Answer] | None:
        """Serve `call`, and have `ended` called once when it is answered or nobody waits for that."""
        peer, under_way = call.peer, self._under_way

        def done(reply: Reply | None = None) -> None:
            open_calls = under_way.get(peer)
            if open_calls is not None and done in open_calls:
                open_calls.discard(done)
                if not open_calls:
                    del under_way[peer]
                ended()

        under_way.setdefault(peer, set()).add(done)
        call.on_answer = done
        try:
            found = handler(call)
        except BaseException:
            done()
            raise
        if isinstance(found, Awaitable):
            return _then(found, done)
        if found is not None:
            done()
        return found

    # Reads

    def _read(
        self, handler: Handler, call: Call, asked: Asked, payers: list[Payer]
    ) -> Answer | Awaitable[Answer] | None:
        fields = call.frame.ext or {}
        who = (call.peer.address, *(fields.get(name) for name in (asked.topic, asked.group, "queueId")))
        over = self._book.read(who, payers, self._now())
        if over is None:
            return self._given(handler, call, asked, payers)
        most = self._hold_seconds(asked, fields)
        if most <= 0.0:
            if asked.way is Way.POP:
                return self._empty(call, asked, over)
            raise self._refusal(over)

        def wait() -> float:
            again = self._book.read(who, self._payers(call, asked), self._now(), again=True)
            return 0.0 if again is None else again.seconds

        self.held.hold(
            HeldRead(
                call,
                over.seconds,
                most,
                wait,
                lambda: self._given(handler, call, asked, self._payers(call, asked)),
                partial(self._empty, call, asked, over),
                lambda: self._book.gave_up(who, self._payers(call, asked)),
            )
        )
        return None

    def _hold_seconds(self, asked: Asked, fields: Mapping[str, str]) -> float:
        most = self._settings().hold_ms_max
        if asked.way is Way.POP:
            return min(most, number(fields, "pollTime", 0)) / 1000
        return 0.0 if asked.way is Way.PEEK else most / 1000

    def _given(
        self, handler: Handler, call: Call, asked: Asked, payers: list[Payer]
    ) -> Answer | Awaitable[Answer] | None:
        """Serve a read; what it is given, now or later, is paid then."""
        self._cut(call, asked, payers)
        paid = False

        def pay(reply: Reply) -> None:
            nonlocal paid
            if not paid:
                paid = True
                self._pay(reply, payers)

        call.on_answer = pay
        found = handler(call)
        if isinstance(found, Awaitable):
            return _paying(found, pay)
        if found is not None:
            pay(as_reply(found))
        return found

    def _cut(self, call: Call, asked: Asked, payers: list[Payer]) -> None:
        """Have a read ask for no more than there is room for: what it is given is known too late."""
        fields = call.frame.ext
        if not fields:
            return
        messages = self._book.room(payers, "read_messages", self._now())
        if messages is not None and (wanted := number(fields, _MESSAGES, 0)):
            fields[_MESSAGES] = str(min(wanted, messages))
        size = self._book.room(payers, "read_bytes", self._now())
        if size is not None and asked.way is Way.PULL:
            fields[_BYTES] = str(min(number(fields, _BYTES, 0) or size, size, (1 << 31) - 1))

    def _pay(self, reply: Reply, payers: list[Payer]) -> None:
        if reply.code != ResponseCode.SUCCESS or not reply.body:
            return
        parts = reply.body if isinstance(reply.body, list) else [reply.body]
        size = sum(map(len, parts))
        self._book.paid(payers, size, count_lengths(parts), self._now())

    def _empty(self, call: Call, asked: Asked, over: Over) -> Reply:
        """What a read is told that was held as long as it may be: nothing passed by, ask again."""
        fields, remark = call.frame.ext or {}, self._refusal(over).remark
        if asked.way is Way.POP:
            ext = {
                "popTime": str(self._port.clock.now_ms()),
                "invisibleTime": str(number(fields, "invisibleTime", 0)),
                "reviveQid": "0",
                "restNum": "0",
            }
            return Reply(ResponseCode.POLLING_TIMEOUT, ext=ext, remark=remark)
        queue_id, offset = number(fields, "queueId", 0), number(fields, "queueOffset", 0)
        low, high = self._port.store.queues.bounds(fields.get(asked.topic, ""), queue_id)
        where = PullAnswer(
            suggest_which_broker_id=self._port.identity.broker_id,
            next_begin_offset=offset,
            min_offset=low,
            max_offset=high,
        )
        return Reply(ResponseCode.PULL_RETRY_IMMEDIATELY, where, remark=remark)

    def _refusal(self, over: Over) -> Refusal:
        kind, name, limit, most, seconds = over
        broker = self._port.identity.name
        if limit == "connections":
            what = f"may have {most} connections to broker {broker}, and has; connect"
        elif limit == "in_flight":
            what = f"may have {most} sends in flight to broker {broker}, and has; send"
        else:
            way, _, unit = limit.partition("_")
            what = f"may {_VERBS[way]} {most} {unit} a second at broker {broker}; {way}"
        return Refusal(
            ResponseCode.SYSTEM_BUSY,
            f"[QUOTA] {kind} {name} {what} again in {ceil(seconds * 1000)} ms (quota {limit})",
        )


async def _then(found: Awaitable[Answer], done: Callable[[], object]) -> Answer:
    try:
        return await found
    finally:
        done()


async def _paying(found: Awaitable[Answer], pay: Callable[[Reply], object]) -> Answer:
    reply = as_reply(await found)
    pay(reply)
    return reply
