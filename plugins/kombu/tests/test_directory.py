from __future__ import annotations

import pytest
from mqframe_kombu.directory import LEASE_MS, Binding, Directory, Exchange, QueueRecord

from mqframe.core.errors import ConnectError


class Tables:
    """An administrator of key-value tables of name servers, of which one may be away."""

    def __init__(self) -> None:
        self.values: dict[str, dict[str, str]] = {}
        self.one_away = False
        self.all_away = False
        self.kv = self

    async def put(self, table: str, key: str, value: str) -> None:
        if not self.all_away:
            self.values.setdefault(table, {})[key] = value
        self._complain()

    async def get(self, table: str, key: str) -> str | None:
        if self.all_away:
            raise ConnectError("all away")
        return self.values.get(table, {}).get(key)

    async def delete(self, table: str, key: str) -> None:
        if not self.all_away:
            del self.values[table][key]
        self._complain()

    async def list(self, table: str) -> dict[str, str]:
        return dict(self.values.get(table, {}))

    def _complain(self) -> None:
        if self.one_away or self.all_away:
            raise ConnectError("one is away")


def staged(host: str = "") -> tuple[Tables, Directory, Directory]:
    tables = Tables()
    one, two = Directory(tables, host), Directory(tables, host)  # type: ignore[arg-type]
    return tables, one, two


@pytest.mark.parametrize("host", ["", "/", "shop/eu"])
async def test_what_one_process_notes_another_sees(host: str) -> None:
    tables, one, two = staged(host)
    topic = Exchange("topic", durable=True)
    assert await one.exchange("e") is None
    assert await one.declare_exchange("e", topic) == topic
    assert await two.declare_exchange("e", Exchange("direct")) == topic
    assert await two.type_of("e") == "topic"
    assert await two.type_of("never") == "direct"
    await one.bind("e", Binding("b", "x.#"))
    await two.bind("e", Binding("a", 'k"ü'))
    await two.bind("e", Binding("a", 'k"ü'))
    assert await one.bindings("e") == [Binding("a", 'k"ü'), Binding("b", "x.#")]
    assert await two.all_bindings() == [("e", binding) for binding in await one.bindings("e")]
    await two.unbind("e", Binding("never", ""))
    await two.unbind_queue("b")
    assert await one.bindings("e") == [Binding("a", 'k"ü')]
    await one.delete_exchange("e")
    await one.delete_exchange("e")
    assert await one.exchange("e") is None
    assert not any(tables.values.values())


async def test_queues_are_noted() -> None:
    _, one, two = staged()
    record = QueueRecord(durable=True, max_priority=9, message_ttl=5, dead_letter_exchange="d", seen=3)
    await one.put_queue("q", record)
    assert await two.queue("q") == record
    assert await two.queues() == {"q": record}
    await two.forget_queue("q")
    await two.forget_queue("q")
    assert await one.queue("q") is None


async def test_hosts_do_not_see_each_other() -> None:
    tables = Tables()
    for host in ("", "a", "a/b"):
        directory = Directory(tables, host)  # type: ignore[arg-type]
        assert await directory.bindings("b/e") == await directory.bindings("e") == []
        await directory.declare_exchange("e", Exchange())
        await directory.bind("e", Binding(host, ""))
        await directory.bind("b/e", Binding("other", ""))
        assert await directory.bindings("e") == [Binding(host, "")]


async def test_one_name_server_may_be_away_but_not_all() -> None:
    tables, one, _ = staged()
    tables.one_away = True
    await one.bind("e", Binding("q", ""))
    assert await one.bindings("e") == [Binding("q", "")]
    await one.unbind("e", Binding("q", ""))
    assert await one.bindings("e") == []
    tables.all_away = True
    with pytest.raises(ConnectError):
        await one.bind("e", Binding("q", ""))


@pytest.mark.parametrize(
    ("record", "silent_ms", "over"),
    [
        (QueueRecord(durable=True), 10**12, False),
        (QueueRecord(auto_delete=True), 10**12, False),
        (QueueRecord(auto_delete=True, consumed=True), LEASE_MS, False),
        (QueueRecord(auto_delete=True, consumed=True), LEASE_MS + 1, True),
        (QueueRecord(expires=10_000), LEASE_MS + 1, True),
        (QueueRecord(expires=2 * LEASE_MS), 2 * LEASE_MS, False),
        (QueueRecord(expires=2 * LEASE_MS), 2 * LEASE_MS + 1, True),
        (QueueRecord(exclusive=True), LEASE_MS + 1, True),
    ],
)
def test_when_a_queue_is_over(record: QueueRecord, silent_ms: int, over: bool) -> None:
    assert record.is_over(silent_ms) is over
