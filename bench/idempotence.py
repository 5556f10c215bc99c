#!/usr/bin/env python3
"""How many messages a second one worker handles once, with the plugin `idempotence` and without a broker.

    idempotence.py [--rounds 3] [--count 20000] [--batch 32]

Starts a Redis, a PostgreSQL and a MariaDB on this machine (needs their programs) and calls
wrapped listeners with new messages, one call after the other, each store once a round in an order that turns.
The listener does nothing, so that what is measured is the store alone. By 1 and by `--batch`; of a batch all
keys are claimed in one round trip and finished in another. PostgreSQL, MariaDB and SQLite commit to the disk
each time (`fsync` is on). Prints every run, then medians.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "plugins/idempotence/tests"), str(ROOT / "tests")]

from database_servers import (  # noqa: E402
    MariaServer,
    PostgresServer,
    maria_program,
    postgres_folder,
)
from mqframe_idempotence import MemoryStore, Once, OnceInTransaction, RedisStore, SqlStore  # noqa: E402
from redis_server import RedisServer  # noqa: E402
from stores_to_try import message  # noqa: E402

from mqframe import ConsumeResult, ListenerContext, MessageQueue  # noqa: E402

Listener = Callable[[Any, Any], Any]
QUEUE = MessageQueue("orders", "broker-a", 0)


def beside(store: Any) -> Listener:
    return Once(store, "bench").listener(lambda messages, context: ConsumeResult.SUCCESS)


def within(store: Any) -> Listener:
    store.create_table()
    once = OnceInTransaction[Any](store, "bench")
    return once.listener(lambda messages, context, session: ConsumeResult.SUCCESS)


def rate(listener: Listener, prefix: str, count: int, batch: int) -> float:
    """Messages a second."""
    messages = [message(f"{prefix}-{number}", number) for number in range(count)]
    started = time.perf_counter()
    for start in range(0, count, batch):
        context = ListenerContext(QUEUE, "bench")
        assert listener(messages[start : start + batch], context) is ConsumeResult.SUCCESS
    return count / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=32)
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mqframe-bench-"))
    folder.chmod(0o755)
    for name in ("redis", "postgres", "mariadb"):
        (folder / name).mkdir()
    programs, program, maria = postgres_folder(), shutil.which("redis-server"), maria_program()
    assert programs, "PostgreSQL is not installed"
    assert program, "redis-server is not installed"
    assert maria, "MariaDB is not installed"
    redis, postgres = RedisServer(program, folder / "redis"), PostgresServer(programs, folder / "postgres")
    mariadb = MariaServer(maria, folder / "mariadb")
    try:
        redis.start()
        postgres.start(fsync=True)
        mariadb.start(fsync=True)
        stores = {
            "memory": beside(MemoryStore(keys_max=10_000_000)),
            "redis": beside(RedisStore(redis.client())),
            "postgres": within(SqlStore(postgres.connect, keep_connections=True)),
            "mariadb": within(SqlStore(mariadb.connect, keep_connections=True)),
            "sqlite": within(SqlStore(lambda: sqlite3.connect(folder / "keys.db"), keep_connections=True)),
        }
        measure(stores, arguments)
    finally:
        redis.stop()
        postgres.stop()
        mariadb.stop()
        shutil.rmtree(folder, ignore_errors=True)


def measure(stores: dict[str, Listener], arguments: argparse.Namespace) -> None:
    runs = [(name, size) for size in (1, arguments.batch) for name in stores]
    found: dict[tuple[str, int], list[float]] = {run: [] for run in runs}
    for number in range(arguments.rounds):
        turn = number % len(runs)
        for name, size in runs[turn:] + runs[:turn]:
            # Commits take milliseconds: fewer messages say as much.
            count = arguments.count if size > 1 or name in ("memory", "redis") else arguments.count // 10
            per_second = rate(stores[name], f"{number}-{size}", count, size)
            found[name, size].append(per_second)
            print(f"round {number + 1}  {name:9s} by {size:4d} {per_second:10.0f} msg/s", flush=True)
    for (name, size), rates in found.items():
        print(f"median   {name:9s} by {size:4d} {statistics.median(rates):10.0f} msg/s")


if __name__ == "__main__":
    main()
