#!/usr/bin/env python3
"""How long one request keeps all others waiting: the longest turn of the loop, by request.

    stalls.py [--topics 20000] [--only heartbeat,acks] [--over 50] [--sync-ms 0]

Starts a name server and a broker in this process, fills their tables, and sends each request with the largest
bodies that its limits let pass (and larger ones, which have to be refused as quickly). Prints for each the
longest callback of the loop in ms of processor time, so that other programs on the machine do not count, the
answer's code and the time to it. `--over`: print only what is above so many ms. `--sync-ms`: how long each
wait for the disk takes, as on a slow one; callbacks are measured by the clock then, for they do not work
while they wait, so that the machine has to be idle.
"""

from __future__ import annotations

import argparse
import asyncio
import asyncio.events
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from mqframe_testing.cluster import Cluster
from stall_cases import Case, acks, heartbeats, locks, operators, reads, registrations, sends

from mqframe.core.codes import FLAG_RESPONSE
from mqframe.core.wire.frame import Frame, FrameDecoder, encode_frame
from mqframe.log import show

ANSWER_SECONDS: Final = 30.0


class Longest:
    """The longest callback of the loop whose thread is `thread`, in seconds as `clock` counts them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.seconds = 0.0
        self.thread: int | None = None
        run = asyncio.events.Handle._run

        def timed(handle: asyncio.events.Handle) -> Any:
            if threading.get_ident() != self.thread:
                return run(handle)
            began = clock()
            try:
                return run(handle)
            finally:
                self.seconds = max(self.seconds, clock() - began)

        asyncio.events.Handle._run = timed  # type: ignore[method-assign]


def ask(address: str, case: Case) -> tuple[int, str]:
    """The answer's code and the beginning of its remark; -1 where the connection ends without one."""
    host, _, port = address.rpartition(":")
    decoder = FrameDecoder(1 << 30)
    frame = encode_frame(Frame(case.code, 1, 0, None, case.ext, case.body, "JAVA", case.version))
    try:
        with socket.create_connection((host, int(port)), ANSWER_SECONDS) as connection:
            connection.sendall(frame)
            while True:
                answer = decoder.next_frame()
                if answer is not None and not answer.flag & FLAG_RESPONSE:
                    continue  # a notice
                if answer is not None:
                    return answer.code, f"{len(answer.body)} B {(answer.remark or '')[:90]}"
                data = connection.recv(1 << 18)
                if not data:
                    return -1, "closed"
                decoder.receive(data)
    except OSError as problem:
        return -1, str(problem)


def slow_disk(seconds: float) -> None:
    """From now on each sync of a file or folder takes `seconds` more."""

    def slowly(sync: Callable[[int], None]) -> Callable[[int], None]:
        def wait(descriptor: int) -> None:
            time.sleep(seconds)
            sync(descriptor)

        return wait

    os.fsync, os.fdatasync = slowly(os.fsync), slowly(os.fdatasync)


def fill(cluster: Cluster, topics: int) -> None:
    """Topics, groups and offsets as a large installation has them, and one topic with messages."""
    state: Any = cluster.broker.service_port

    def make() -> None:
        for number in range(topics):
            state.topics.ensure(f"t{number}", 8)
            if number % 4 == 0:
                state.groups.find_or_create(f"g{number // 4}", True)
                for queue_id in range(8):
                    state.offsets.commit(f"g{number // 4}", f"t{number}", queue_id, 1)
        for number in range(min(topics, 5_000)):
            state.offsets.commit("g0", f"t{number}", 0, 1)
        state.topics.ensure("many", 16)
        state.topics.ensure("filled", 1)

    async def run() -> None:
        make()

    cluster.run(run())
    wide = {
        "topic": "wide",
        "perm": "6",
        "defaultTopic": "TBW102",
        "topicFilterType": "SINGLE_TAG",
        "order": "false",
    }
    for queues in (65_535, 1_024):
        code, _ = ask(
            cluster.broker.address,
            Case("", 17, {**wide, "readQueueNums": str(queues), "writeQueueNums": str(queues)}),
        )
        if code == 0:
            break
    ext = {
        "a": "producers", "b": "filled", "c": "TBW102", "d": "8", "e": "0", "f": "0", "g": "1700000000000",
        "h": "0", "i": "", "j": "0", "k": "false", "m": "true",
    }  # fmt: skip
    properties = b"KEYS\x01same\x02a1\x015"
    one = struct.pack(">iiiii", 22 + 10 + len(properties), 0, 0, 0, 10) + b"x" * 10
    one += struct.pack(">h", len(properties)) + properties
    for _ in range(20):
        ask(cluster.broker.address, Case("", 320, ext, one * 1_000))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topics", type=int, default=20_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--over", type=float, default=0.0)
    parser.add_argument("--sync-ms", type=float, default=0.0)
    options = parser.parse_args()
    show(level="CRITICAL")
    parts: dict[str, Callable[[], Iterator[Case]]] = {
        "heartbeats": heartbeats, "acks": acks, "locks": locks, "sends": sends, "reads": reads,
        "operators": operators, "registrations": lambda: registrations(options.topics),
    }  # fmt: skip
    longest = Longest(time.perf_counter if options.sync_ms else time.thread_time)
    with Cluster() as cluster:
        longest.thread = cluster._thread.ident
        fill(cluster, options.topics)
        time.sleep(1)
        slow_disk(options.sync_ms / 1000)
        for name in options.only.split(",") if options.only else parts:
            for case in parts[name]():
                longest.seconds = 0.0
                began = time.perf_counter()
                address = cluster.nameserver if case.to_name_server else cluster.broker.address
                code, what = ask(address, case)
                took = time.perf_counter() - began
                time.sleep(0.3)  # what the request leaves behind
                if longest.seconds * 1000 >= options.over:
                    print(
                        f"{case.name:45} {longest.seconds * 1000:9.1f} ms  {code:5} {took:7.2f} s  {what}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
