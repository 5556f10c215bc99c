#!/usr/bin/env python3
"""What it costs a broker to check who sends a message: its processor time for a send, with and without.

    access.py [--rounds 3] [--count 20000] [--window 32] [--speedups FOLDER]

Two brokers run at once and are measured in turns: one serves everybody, one checks signatures and policies
(acl2). The messages have 100 B, 10 properties, and an id, as all clients' have; they are written beforehand
and leave `--window` at a time. Prints µs a message, and the rate with checks as a part of that without.
`--speedups`: two more do so with the compiled code of packages/speedups, which was installed there.
Needs mqframe-plugin-acl.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict

from compare_broker import environment, take_speedups, used
from mqframe_acl import AclHook, AclOptions

from mqframe import Admin
from mqframe.core.requests import encode_fields
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.wire.frame import Frame, FrameDecoder, encode_frame

KEYS = {"access_key": "shop", "secret_key": "secret78"}
ADMIN = {"access_key": "rocketmq", "secret_key": "12345678"}
CHECKS = [
    "--set", "access.authentication=acl2", "--set", "access.authorization=acl2",
    "--set", "access.initial_user=rocketmq:12345678", "--set", "access.inner_credentials=rocketmq:12345678",
]  # fmt: skip
PROPERTIES = "".join(f"property{n}\1value of {n}\2" for n in range(10))


class Server:
    """A name server and a broker in one process of their own."""

    def __init__(self, folder: str, speedups: str, *words: str) -> None:
        command = [sys.executable, "-m", "mqframe", "server", "--nameserver-port", "0", "--broker-port", "0"]
        more = ["--data", folder, "--set", "store.disk_limits=false", *words]
        self.process = subprocess.Popen(
            [*command, *more], stdout=subprocess.PIPE, text=True, env=environment(speedups)
        )
        assert self.process.stdout
        ready = self.process.stdout.readline().split()
        self.nameserver, self.broker = (word.partition("=")[2] for word in ready[1:])

    def processor_seconds(self) -> float:
        """What the process has used until now."""
        return used(self.process.pid)


def frames(count: int, hook: AclHook | None) -> list[bytes]:
    """So many sends."""
    made = []
    for opaque in range(count):
        properties = f"UNIQ_KEY\1{opaque:032X}\2{PROPERTIES}"
        request = SendMessageV2("shop", "orders", "TBW102", 4, 0, 0, 1_700_000_000_000, 0, properties)
        frame = Frame(SendMessageV2.CODE, opaque, 0, None, encode_fields(request), b"x" * 100)
        if hook is not None:
            hook.before("", frame)
        made.append(encode_frame(frame))
    return made


def send(address: str, sends: list[bytes], window: int) -> None:
    """Send them all, `window` at a time, and see that each was stored."""
    host, _, port = address.rpartition(":")
    decoder = FrameDecoder()
    with socket.create_connection((host, int(port))) as connection:
        for at in range(0, len(sends), window):
            part = sends[at : at + window]
            connection.sendall(b"".join(part))
            missing = len(part)
            while missing:
                decoder.receive(connection.recv(1 << 20))
                while (answer := decoder.next_frame()) is not None:
                    assert answer.code == 0, answer.remark
                    missing -= 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--window", type=int, default=32)
    take_speedups(parser)
    options = parser.parse_args()
    found: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        servers = {}
        for kind, leaf in {"": "", **({", compiled": options.speedups} if options.speedups else {})}.items():
            for name, words in {"open": [], "checked": CHECKS}.items():
                servers[name + kind] = Server(f"{folder}/{len(servers)}", leaf, *words)
        hook = AclHook(AclOptions(**KEYS))
        try:
            for name, server in servers.items():
                with Admin(nameserver=server.nameserver, rpc_hooks=[("acl", ADMIN)]) as admin:
                    admin.topics.create("orders", queues=1)
                    if name.startswith("checked"):
                        admin.users.create(KEYS["access_key"], KEYS["secret_key"])
                        admin.policies.set(KEYS["access_key"], ["Topic:orders"], actions=["Pub"])
            signed, plain = frames(options.count, hook), frames(options.count, None)
            for _ in range(options.rounds):
                for name, server in servers.items():
                    before = server.processor_seconds()
                    send(server.broker, signed if name.startswith("checked") else plain, options.window)
                    used = server.processor_seconds() - before
                    found[name].append(used / options.count * 1e6)
        finally:
            for server in servers.values():
                server.process.terminate()
                server.process.wait()
    medians = {name: statistics.median(values) for name, values in found.items()}
    for name, values in found.items():
        print(f"{name:18} {medians[name]:6.1f} µs a message  ({', '.join(f'{each:.1f}' for each in values)})")
    for name in [each for each in medians if each.startswith("open")]:
        checked = medians[name.replace("open", "checked")]
        print(f"rate with checks: {medians[name] / checked:.2f} of that without ({name})")


if __name__ == "__main__":
    main()
