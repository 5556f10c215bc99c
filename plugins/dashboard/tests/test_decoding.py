"""Bodies that others decode."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_dashboard import decoding
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.decoding import CHARS_MAX, decoded


class Upper:
    """Knows what is in bodies that begin with a known word, which name servers keep."""

    def __init__(self, admin: Any) -> None:
        self._kv = admin.kv

    def value(self, message: Any) -> Any:
        [table] = self._kv.list_each("WORDS")
        both = self._kv.list("WORDS") == table and self._kv.get("WORDS", "known") == table["known"]
        return {"said": message, "tables": both} if message.startswith(table["known"]) else None


class Broken:
    def __init__(self, admin: Any) -> None:
        raise RuntimeError("no library")


class FakeKv:
    def __init__(self) -> None:
        self.kv = self

    async def list_each(self, namespace: str) -> Any:
        return [{"known": f"{namespace}:"}]

    async def list(self, namespace: str) -> Any:
        return {"known": f"{namespace}:"}

    async def get(self, namespace: str, key: str) -> str:
        return f"{namespace}:"


@pytest.fixture
def offer(monkeypatch):
    def offer(*kinds: Any) -> None:
        entries = [SimpleNamespace(name=each.__name__, load=lambda each=each: each) for each in kinds]
        monkeypatch.setattr(
            decoding, "entry_points", lambda group: entries if group == decoding.GROUP else []
        )

    return offer


async def test_what_a_distribution_knows_is_json(offer):
    offer(Broken, Upper)
    admin: Any = FakeKv()
    messages: Any = ["WORDS: hello", "other", "WORDS:" + "x" * CHARS_MAX]
    found: Any = await decoded(Asking(admin, admin), messages)
    assert found[messages[0]] == '{\n  "said": "WORDS: hello",\n  "tables": true\n}'
    assert messages[1] not in found
    assert len(found[messages[2]]) == CHARS_MAX + 1


async def test_without_such_a_distribution_nothing_is_decoded(offer):
    offer()
    admin: Any = FakeKv()
    messages: Any = ["WORDS: hello"]
    assert await decoded(Asking(admin, admin), messages) == {}
    offer(Upper)
    assert await decoded(Asking(admin, admin), []) == {}
