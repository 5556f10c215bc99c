"""Free memory goes back to the system, seen from outside."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

GLIBC = platform.libc_ver()[0] == "glibc"
HOLES = """
from pathlib import Path
from mqframe.net.heap import give_back

def resident_mib():
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmRSS"))
    return int(line.split()[1]) // 1024

pieces = [bytes([number % 251]) * 65_536 for number in range(4_000)]
kept = pieces[::50]
del pieces
before = resident_mib()
give_back()
print(before, resident_mib())
assert all(piece == piece[:1] * 65_536 for piece in kept)
"""
SERVER = """
import asyncio
from pathlib import Path
from mqframe.core.wire.frame import Frame, encode_frame
from mqframe.net.server import Server
from mqframe_testing.manual_clock import ManualClock

def resident_mib():
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmRSS"))
    return int(line.split()[1]) // 1024

async def main():
    clock = ManualClock()
    server = Server({}, clock)
    port = await server.start("127.0.0.1", 0)
    half = memoryview(encode_frame(Frame(1, 1, body=bytes(4 << 20))))[: 3 << 20]
    before, writers = resident_mib(), []
    for _ in range(60):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writers.append(writer)
        for at in range(0, len(half), 1 << 16):
            writer.write(half[at : at + (1 << 16)])
            await writer.drain()
    while int(server.counters()["budget.halfFrames.used"]) < 60 * len(half):
        await asyncio.sleep(0)
    most = resident_mib()
    for writer in writers:
        writer.transport.abort()
    while server.peers:
        await asyncio.sleep(0)
    await clock.aadvance(120)
    await asyncio.get_running_loop().shutdown_default_executor()  # waits for the thread that gives back
    print(most - before, resident_mib() - before)
    await server.stop()

asyncio.run(main())
"""


def numbers(program: str) -> list[int]:
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return [int(number) for number in ran.stdout.split()]


@pytest.mark.skipif(not GLIBC, reason="what a C library keeps is its own business; this is glibc's")
@pytest.mark.parametrize("program", [HOLES, SERVER], ids=["holes", "half frames of a server"])
def test_what_is_free_between_blocks_in_use_is_given_back(program: str) -> None:
    most, after = numbers(program)
    assert most > 150
    assert after < most // 3
