"""KvAdmin: `AsyncKvAdmin` for plain threads.

Generated from mqframe_admin.client.kv, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.kv import AsyncKvAdmin


class KvAdmin(SyncSubject[AsyncKvAdmin]):
    """Values that name servers hold, by namespace and key."""

    def put(self, namespace: str, key: str, value: str) -> None:
        """Store a value in all name servers."""
        self._call(self._client.put, namespace, key, value)

    def get(self, namespace: str, key: str) -> str | None:
        """A value that a name server holds, or `None`."""
        return self._call(self._client.get, namespace, key)

    def delete(self, namespace: str, key: str) -> None:
        """Remove a value from all name servers."""
        self._call(self._client.delete, namespace, key)

    def list_each(self, namespace: str) -> list[dict[str, str]]:
        """All values of a namespace as each name server that answers holds them, which may differ.

        Raises `RetryError` when none answers.
        """
        return self._call(self._client.list_each, namespace)

    def list(self, namespace: str) -> dict[str, str]:
        """All values of a namespace; empty when there are none."""
        return self._call(self._client.list, namespace)
