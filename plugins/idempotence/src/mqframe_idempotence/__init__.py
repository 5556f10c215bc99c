"""Exactly one effect a message: wrappers of listeners that remember message keys.

`Once` with `MemoryStore`, `RedisStore` or `AsyncRedisStore`; `OnceInTransaction` with `SqlStore`,
`AsyncSqlStore`, `SqlAlchemyStore` or `AsyncSqlAlchemyStore`, whose keys are committed with the effect.
"""

from __future__ import annotations

from mqframe_idempotence.counts import Counted, Counts
from mqframe_idempotence.errors import (
    InProgress,
    NoKey,
    StatementRefused,
    StoreAway,
    StoreBusy,
    TableMissing,
    TransactionLost,
    WrongUse,
)
from mqframe_idempotence.keys import business_key, message_id, property_key
from mqframe_idempotence.memory import MemoryStore
from mqframe_idempotence.once import Once, OnceInTransaction, Processing
from mqframe_idempotence.redis_store import AsyncRedisStore, RedisStore
from mqframe_idempotence.sql import AsyncSqlAlchemyStore, AsyncSqlStore, SqlAlchemyStore, SqlStore
from mqframe_idempotence.statements import ddl
from mqframe_idempotence.stores import Attempt, Claim, Store

__all__ = [
    "AsyncRedisStore",
    "AsyncSqlAlchemyStore",
    "AsyncSqlStore",
    "Attempt",
    "Claim",
    "Counted",
    "Counts",
    "InProgress",
    "MemoryStore",
    "NoKey",
    "Once",
    "OnceInTransaction",
    "Processing",
    "RedisStore",
    "SqlAlchemyStore",
    "SqlStore",
    "StatementRefused",
    "Store",
    "StoreAway",
    "StoreBusy",
    "TableMissing",
    "TransactionLost",
    "WrongUse",
    "business_key",
    "ddl",
    "message_id",
    "property_key",
]
