"""What `test_packaging` runs where the wheels were installed, apart from this checkout."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BARE_KERNEL = """
import asyncio
import sys
import tempfile
import threading
from pathlib import Path

import mqframe
from mqframe import Broker, BrokerSections, BrokerSettings, Message, NameServer, NameServerSettings, Producer
from mqframe import PushConsumer, StoreSettings
from mqframe.net.clock import SystemClock


def work(nameserver):
    got, done = [], threading.Event()
    consumer = PushConsumer(group="billing", nameserver=nameserver, consume_from="first")

    @consumer.on("orders")
    def handle(message):
        if message.body == b"2" and message.reconsume_times == 0:
            raise ValueError("not yet")
        got.append(message.body)
        if len(got) == 10:
            done.set()

    with Producer("shop", nameserver=nameserver) as producer:
        for number in range(10):
            producer.send(Message("orders", b"%d" % number), sharding_key="anna")
        with consumer:
            assert done.wait(60)
    assert sorted(got) == [b"%d" % number for number in range(10)]
    assert got[-1] == b"2"


async def serve(folder):
    clock = SystemClock()
    names = NameServer(NameServerSettings(port=0), clock)
    await names.start()
    settings = BrokerSettings(port=0, nameservers=(names.address,))
    broker = Broker(BrokerSections(settings, StoreSettings(directory=folder, disk_limits=False)), clock)
    await broker.start()
    try:
        await asyncio.to_thread(work, names.address)
    finally:
        await broker.stop()
        await names.stop()


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(serve(Path(folder)))
for name in ("SimpleConsumer", "Puller", "TransactionProducer", "ReplicationSettings"):
    try:
        getattr(mqframe, name)
    except AttributeError as problem:
        print(problem)
print("loaded:", *sorted(name for name in sys.modules if name.startswith("mqframe_")))
"""
"""Serves a producer and a consumer, to whom a failure comes again; says what is missing, what was loaded."""

EVERY_HELP = '''
import json

import typer
from typer.testing import CliRunner

from mqframe_cli.app import app


def paths(command, path):
    yield path
    for name, child in getattr(command, "commands", {}).items():
        yield from paths(child, (*path, name))


def wrong(path):
    """What is not as it should be about the help of a command."""
    result = CliRunner().invoke(app, [*path, "--help"], prog_name="mqframe")
    usage = " ".join(("Usage: mqframe", *path))
    return "" if result.exit_code == 0 and usage in result.output else f"{result.output}{result.exception!r}"


root = typer.main.get_command(app)
context = root.make_context("mqframe", [], resilient_parsing=True)
found = [()]
for name in root.list_commands(context):
    found += paths(root.get_command(context, name), (name,))
print(json.dumps({" ".join(path): wrong(path) for path in found}))
'''
"""Writes a JSON object: each command, and what is wrong with its help; "" for nothing."""

EVERY_PLUGIN = """
from mqframe.hooks.manager import PluginManager

for plugin in PluginManager().installed(options=True):
    if plugin.distribution != "mqframe":
        print(plugin.distribution, plugin.problem or "loads")
"""
"""Writes a line for each plugin of another distribution."""


def run(*command: object, cwd: Path | None = None, path: str = "") -> str:
    """What a command says; it has to succeed. `path`: where programs are looked for first."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=outside(path) if path else None,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


@contextmanager
def server(command: str, cwd: Path, path: str) -> Iterator[str]:
    """Run README's server on free ports; gives its name server's address."""
    more = ["--nameserver-port", "0", "--broker-port", "0", "--set", "store.disk_limits=false"]
    words = [*command.split(), *more]
    running = subprocess.Popen(words, cwd=cwd, env=outside(path), stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        line = running.stdout.readline()
        assert line.startswith("ready "), line
        yield re.findall(r"nameserver=(\S+)", line)[0]
    finally:
        running.terminate()
        running.communicate(timeout=60)
        assert running.returncode == 0


def outside(path: str) -> dict[str, str]:
    """An environment that says nothing about this checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MQFRAME", "PYTHON"))}
    return {**kept, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "NAMESRV_ADDR": ""}
