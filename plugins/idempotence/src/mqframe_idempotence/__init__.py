"""Exactly one effect a message: wrappers of listeners that remember message keys.

`Once` with `MemoryStore`, `RedisStore` or `AsyncRedisStore`; `OnceInTransaction` with `SqlStore`,
`AsyncSqlStore`, `SqlAlchemyStore` or `AsyncSqlAlchemyStore`, whose keys are committed with the effect.

Each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqframe.hooks.late_names import late_names

if TYPE_CHECKING:
    from mqframe_idempotence.counts import Counted as Counted
    from mqframe_idempotence.counts import Counts as Counts
    from mqframe_idempotence.errors import InProgress as InProgress
    from mqframe_idempotence.errors import NoKey as NoKey
    from mqframe_idempotence.errors import StatementRefused as StatementRefused
    from mqframe_idempotence.errors import StoreAway as StoreAway
    from mqframe_idempotence.errors import StoreBusy as StoreBusy
    from mqframe_idempotence.errors import TableMissing as TableMissing
    from mqframe_idempotence.errors import TransactionLost as TransactionLost
    from mqframe_idempotence.errors import WrongUse as WrongUse
    from mqframe_idempotence.keys import business_key as business_key
    from mqframe_idempotence.keys import message_id as message_id
    from mqframe_idempotence.keys import property_key as property_key
    from mqframe_idempotence.memory import MemoryStore as MemoryStore
    from mqframe_idempotence.once import Once as Once
    from mqframe_idempotence.once import OnceInTransaction as OnceInTransaction
    from mqframe_idempotence.once import Processing as Processing
    from mqframe_idempotence.redis_store import AsyncRedisStore as AsyncRedisStore
    from mqframe_idempotence.redis_store import RedisStore as RedisStore
    from mqframe_idempotence.sql import AsyncSqlAlchemyStore as AsyncSqlAlchemyStore
    from mqframe_idempotence.sql import AsyncSqlStore as AsyncSqlStore
    from mqframe_idempotence.sql import SqlAlchemyStore as SqlAlchemyStore
    from mqframe_idempotence.sql import SqlStore as SqlStore
    from mqframe_idempotence.statements import ddl as ddl
    from mqframe_idempotence.stores import Attempt as Attempt
    from mqframe_idempotence.stores import Claim as Claim
    from mqframe_idempotence.stores import Store as Store

_HOME = {
    name: f"mqframe_idempotence.{module}"
    for module, names in {
        "counts": "Counted Counts",
        "errors": (
            "InProgress NoKey StatementRefused StoreAway StoreBusy TableMissing TransactionLost WrongUse"
        ),
        "keys": "business_key message_id property_key",
        "memory": "MemoryStore",
        "once": "Once OnceInTransaction Processing",
        "redis_store": "AsyncRedisStore RedisStore",
        "sql": "AsyncSqlAlchemyStore AsyncSqlStore SqlAlchemyStore SqlStore",
        "statements": "ddl",
        "stores": "Attempt Claim Store",
    }.items()
    for name in names.split()
}

__getattr__, __dir__ = late_names(__name__, _HOME)
