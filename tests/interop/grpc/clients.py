"""Official gRPC clients as programs that are driven by lines of JSON, one program a language.

A line of input is a command: `do`, an `id` that its answer carries, and what the command wants. Commands run
beside each other. Lines of output are answers, `{"id": …, "ok": {…}}` or `{"id": …, "error": {kind, text,
code}}`, and events, which have no `id`.

    open_producer  client, options, topics, checker (whether it has one)
    open_push      client, options, group, subscriptions {topic: [TAG or SQL92, expression]}
    open_simple    client, options, group, subscriptions, await_ms
    send           client, message {topic, body, tag, keys, properties, group, delay_ms, transaction}
                   → id, and recall_handle, offset where the client tells
    end            id_of_message, decision: commit or rollback
    recall         client, topic, handle → id
    receive        client, max, invisible_ms → messages, each with the number that ack and change want
    ack            client, number
    change         client, number, invisible_ms
    close          client
    quit

`client` is a number that the caller chooses. `options`: endpoint, tls, access_key, secret_key,
request_timeout_ms. Bodies are in base64. Events: `{client, got: message}` of push consumers, and
`{client, checked: message, decision}` of producers that were asked about a transaction.

A message says what is to become of it, by properties: `fails`, how many times the listener fails; `hangs_ms`,
how long it takes; `check`, the checker's decisions, one for each time that it is asked: "unknown,commit".

Rust's client has no push consumer: for one stands a loop that receives a message, and acknowledges it.
"""

from __future__ import annotations

import base64
import itertools
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue
from threading import Lock
from typing import Any

import attrs
import pytest

from interop.foreign import SECONDS_MAX, Process
from interop.grpc.doors import Door
from interop.grpc.programs import build, environment

TLS = {"java": True, "go": True, "node": False, "python": False, "rust": False}
"""Whether a language's client comes with TLS as it is installed. Node's and Python's would verify."""
REQUEST_TIMEOUT_MS = {"java": 20_000, "go": 5_000, "node": 20_000, "python": 20_000, "rust": 20_000}
"""Of each request: the machine may be slow. Go's simple consumers do not say how long they want to wait: they
are answered when half of this is left.
"""
SETTLED_SECONDS = 2.0


class ClientError(Exception):
    """A client's own error: `kind`, the name of its class; `code`, the status that it carries, if any."""

    def __init__(self, kind: str, text: str, code: int | None) -> None:
        super().__init__(f"{kind} {code or ''}: {text}")
        self.kind = kind
        self.text = text
        self.code = code


@attrs.frozen
class Got:
    """A message as a client delivered it. `number`: by which simple consumers acknowledge it, else 0."""

    topic: str
    body: bytes
    tag: str | None
    keys: list[str]
    properties: dict[str, str]
    group: str | None
    id: str
    attempt: int
    delivery_ms: int | None
    born_ms: int | None
    number: int
    at: float

    @classmethod
    def of(cls, words: Mapping[str, Any], at: float) -> Got:
        """What a program said at a moment of the monotonic clock."""
        return cls(
            topic=words["topic"],
            body=base64.b64decode(words["body"]),
            tag=words["tag"] or None,
            keys=sorted(words["keys"] or []),
            properties=dict(words["properties"] or {}),
            group=words["group"] or None,
            id=words["id"],
            attempt=words["attempt"],
            delivery_ms=words.get("delivery_ms"),
            born_ms=words.get("born_ms"),
            number=words.get("number", 0),
            at=at,
        )

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


class ClientProgram(Process):
    """A running program. `language`: java, go, node, python or rust; `home`: for what its clients keep."""

    def __init__(self, language: str, home: Path) -> None:
        self.language = language
        self._ids = itertools.count(1)
        self._both = Lock()
        self._answers: dict[int, Queue[dict[str, Any] | None]] = {}
        self._events: dict[int, Queue[dict[str, Any] | None]] = {}
        self._ended = False
        super().__init__(build(language), environment(language, home))

    def hear(self, line: str | None) -> None:
        if line is None:
            with self._both:
                self._ended = True
                waiting = [*self._answers.values(), *self._events.values()]
            for queue in waiting:
                queue.put(None)
        elif line.startswith("{"):
            words = json.loads(line)
            words["at"] = time.monotonic()
            with self._both:
                queue = self._answers.get(words["id"]) if "id" in words else self._events.get(words["client"])
            if queue is not None:
                queue.put(words)

    def ask(self, do: str, seconds: float = SECONDS_MAX, **words: Any) -> dict[str, Any]:
        """Carry out a command. Raises `ClientError`; fails the test when no answer comes in time."""
        return self.later(do, **words).result(seconds)

    def later(self, do: str, **words: Any) -> Answer:
        """Begin a command, and go on."""
        number = next(self._ids)
        queue: Queue[dict[str, Any] | None] = Queue()
        with self._both:
            if self._ended:
                pytest.fail(f"the {self.language} program has ended: {self.said()}")
            self._answers[number] = queue
        self._tell({"id": number, "do": do, **words})
        return Answer(self, do, queue)

    def client(self) -> tuple[int, Queue[dict[str, Any] | None]]:
        """A number for one more client, and its events."""
        with self._both:
            number = len(self._events) + 1
            self._events[number] = Queue()
            return number, self._events[number]

    def _tell(self, words: Mapping[str, Any]) -> None:
        assert self.process.stdin
        with self._both:
            self.process.stdin.write(json.dumps(words) + "\n")
            self.process.stdin.flush()


class Answer:
    """What a command of `program` will be answered."""

    def __init__(self, program: ClientProgram, do: str, queue: Queue[dict[str, Any] | None]) -> None:
        self._program = program
        self._do = do
        self._queue = queue

    def result(self, seconds: float = SECONDS_MAX) -> dict[str, Any]:
        """Wait for it."""
        said = self._program.said
        try:
            words = self._queue.get(timeout=seconds)
        except Empty:
            pytest.fail(f"{self._program.language}: no answer to {self._do} in {seconds} s: {said()}")
        if words is None:
            pytest.fail(f"{self._program.language}: the program ended during {self._do}: {said()}")
        if "error" in words:
            raise ClientError(**words["error"])
        return {**words["ok"], "at": words["at"]}


class Client:
    """One client of a program."""

    def __init__(self, program: ClientProgram) -> None:
        self.program = program
        self.number, self._events = program.client()
        self._open = False

    def open(self, do: str, **words: Any) -> None:
        """Start it."""
        self.program.ask(do, client=self.number, **words)
        self._open = True

    def ask(self, do: str, **words: Any) -> dict[str, Any]:
        """Have it do something."""
        return self.program.ask(do, client=self.number, **words)

    def next_event(self, seconds: float = SECONDS_MAX) -> dict[str, Any] | None:
        """What it says next, `None` when it says nothing in time."""
        try:
            words = self._events.get(timeout=max(seconds, 0.001))
        except Empty:
            return None
        if words is None:
            pytest.fail(f"{self.program.language}: the program ended: {self.program.said()}")
        return words

    def close(self) -> float:
        """Close it as its users do; the seconds that this took."""
        begun = time.monotonic()
        self._open = False
        self.program.ask("close", client=self.number)
        return time.monotonic() - begun

    def leave(self) -> None:
        """Begin to close it, unless that was done."""
        if self._open and self.program.process.poll() is None:
            self._open = False
            self.program.later("close", client=self.number)


class GrpcProducer(Client):
    """A producer."""

    def send(
        self,
        topic: str,
        body: bytes | str,
        *,
        tag: str | None = None,
        keys: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        group: str | None = None,
        delay_ms: int | None = None,
        transaction: bool = False,
    ) -> dict[str, Any]:
        """Send a message: its `id`, and `recall_handle` where there is one. Raises `ClientError`."""
        message = {
            "topic": topic,
            "body": base64.b64encode(body.encode() if isinstance(body, str) else body).decode(),
            "tag": tag,
            "keys": list(keys),
            "properties": dict(properties or {}),
            "group": group,
            "delay_ms": delay_ms,
            "transaction": transaction,
        }
        return self.ask("send", message=message)

    def end_transaction(self, message_id: str, decision: str) -> None:
        """Commit or roll back what was sent in a transaction."""
        self.ask("end", id_of_message=message_id, decision=decision)

    def recall(self, topic: str, handle: str) -> str:
        """Call a delayed message back; its id."""
        recalled: str = self.ask("recall", topic=topic, handle=handle)["id"]
        return recalled

    def checked(self, seconds: float = SECONDS_MAX) -> tuple[Got, str]:
        """The next message that it was asked about, and its decision; fails the test when there is none."""
        words = self.next_event(seconds)
        if words is None:
            pytest.fail(f"{self.program.language}: nobody asked about a transaction in {seconds} s")
        return Got.of(words["checked"], words["at"]), words["decision"]


class GrpcPushConsumer(Client):
    """A push consumer."""

    def take(self, count: int, seconds: float = SECONDS_MAX) -> list[Got]:
        """The next `count` messages; fails the test when they do not come in time."""
        end = time.monotonic() + seconds
        found: list[Got] = []
        while len(found) < count:
            words = self.next_event(end - time.monotonic())
            if words is None:
                pytest.fail(
                    f"{self.program.language}: {len(found)} of {count} messages in {seconds} s: "
                    f"{[each.body[:40] for each in found]}"
                )
            found.append(Got.of(words["got"], words["at"]))
        return found

    def within(self, seconds: float) -> list[Got]:
        """What comes in the next `seconds`."""
        end = time.monotonic() + seconds
        found = []
        while (words := self.next_event(end - time.monotonic())) is not None:
            found.append(Got.of(words["got"], words["at"]))
        return found


class GrpcSimpleConsumer(Client):
    """A simple consumer."""

    def receive(self, count: int = 32, invisible_ms: int = 30_000) -> list[Got]:
        """Ask once: what is there, or what comes within its await time. Raises `ClientError`."""
        answer = self.ask("receive", max=count, invisible_ms=invisible_ms)
        return [Got.of(words, answer["at"]) for words in answer["messages"]]

    def take(self, count: int, invisible_ms: int = 30_000, seconds: float = SECONDS_MAX) -> list[Got]:
        """Ask until there are `count` messages; fails the test when they do not come in time."""
        end = time.monotonic() + seconds
        found: list[Got] = []
        while len(found) < count:
            if time.monotonic() > end:
                pytest.fail(f"{self.program.language}: {len(found)} of {count} messages in {seconds} s")
            found += self.receive(min(count - len(found), 32), invisible_ms)
        return found

    def ack(self, *messages: Got) -> None:
        """Acknowledge messages, one after the other. Raises `ClientError`."""
        for message in messages:
            self.ask("ack", number=message.number)

    def change(self, message: Got, invisible_ms: int) -> None:
        """Have a message come again after `invisible_ms`. Raises `ClientError`."""
        self.ask("change", number=message.number, invisible_ms=invisible_ms)


class Clients:
    """Makes clients of one `program`, and ends them. `door`: where they knock.

    `access`: access_key and secret_key of all of them.
    """

    def __init__(self, program: ClientProgram, door: Door, access: Mapping[str, str] | None = None) -> None:
        self.program = program
        self.language = program.language
        self.door = door
        self._access = access or {}
        self._made: list[Client] = []

    def options(self, **more: Any) -> dict[str, Any]:
        """What each client is opened with, but for `more`."""
        return {
            "endpoint": self.door.endpoint,
            "tls": TLS[self.language],
            "access_key": self._access.get("access_key"),
            "secret_key": self._access.get("secret_key"),
            "request_timeout_ms": REQUEST_TIMEOUT_MS[self.language],
            **more,
        }

    def producer(self, *topics: str, checker: bool = False, **options: Any) -> GrpcProducer:
        """Start a producer. Raises `ClientError`."""
        made = GrpcProducer(self.program)
        self._made.append(made)
        made.open("open_producer", options=self.options(**options), topics=topics, checker=checker)
        return made

    def push(self, group: str, subscriptions: Mapping[str, str], **options: Any) -> GrpcPushConsumer:
        """Start a push consumer; expressions by topic, which "sql:" marks as SQL92. Raises `ClientError`."""
        made = GrpcPushConsumer(self.program)
        self._made.append(made)
        filters = _filters(subscriptions)
        made.open("open_push", options=self.options(**options), group=group, subscriptions=filters)
        return made

    def simple(
        self, group: str, subscriptions: Mapping[str, str], await_ms: int = 2_000, **options: Any
    ) -> GrpcSimpleConsumer:
        """Start a simple consumer; expressions as of `push`. Raises `ClientError`."""
        made = GrpcSimpleConsumer(self.program)
        self._made.append(made)
        words = {"group": group, "subscriptions": _filters(subscriptions), "await_ms": await_ms}
        made.open("open_simple", options=self.options(**options), **words)
        if self.language == "python" and self.door.apache:
            # It does not wait for its settings, without which Apache's proxy refuses to give it messages.
            time.sleep(SETTLED_SECONDS)
        return made

    def end(self) -> None:
        """Begin to close those that were not closed; many would wait for what their last polls bring."""
        for client in self._made:
            client.leave()


def _filters(subscriptions: Mapping[str, str]) -> dict[str, list[str]]:
    return {
        topic: ["SQL92", text.removeprefix("sql:")] if text.startswith("sql:") else ["TAG", text]
        for topic, text in subscriptions.items()
    }
