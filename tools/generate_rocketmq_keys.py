"""Writes the table of RocketMQ's keys into `mqframe_cli/settings/rocketmq_keys.py`, from its jars.

    python tools/generate_rocketmq_keys.py DIRECTORY...            write the table
    python tools/generate_rocketmq_keys.py --check DIRECTORY...    fail when it lacks a key

Each directory holds the jars of one version, those of `rocketmq-proxy` and `rocketmq-container` among them
(4.9 has none). What the classes below have of setters, as `MixAll.properties2Object` takes them, and of
fields, as a broker writes them into its file, becomes a key; of clients, which have no file, only setters of
texts, numbers and switches. What a version has dropped stays. Needs `javap`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
TABLE: Final = ROOT / "packages/cli/src/mqframe_cli/settings/rocketmq_keys.py"
CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "broker": ("common.BrokerConfig", "common.BrokerIdentity", "container.BrokerContainerConfig"),
    "store": ("store.config.MessageStoreConfig", "tieredstore.MessageStoreConfig"),
    "network": ("remoting.netty.NettyServerConfig", "remoting.netty.NettyClientConfig"),
    "access": ("auth.config.AuthConfig",),
    "name server": ("common.namesrv.NamesrvConfig",),
    "controller": ("common.ControllerConfig", "common.JraftConfig"),
    "proxy": ("proxy.config.ProxyConfig",),
    "client": (
        "client.ClientConfig",
        "client.producer.DefaultMQProducer",
        "client.consumer.DefaultMQPushConsumer",
        "client.consumer.DefaultLitePullConsumer",
    ),
}
SYSTEM: Final = ("remoting.netty.TlsSystemConfig", "remoting.netty.NettySystemConfig")
"""Classes whose constants name properties of Java's."""
STARTUP: Final = ("rmqAddressServerDomain", "rmqAddressServerSubGroup")
"""Keys that only BrokerStartup reads."""
SIMPLE: Final = ("int", "long", "double", "boolean", "float", "java.lang.String")
_SETTER: Final = re.compile(r"public (?:[\w.<>\[\]]+ )+set([A-Za-z]\w*)\(([^,)]+)\)")
_FIELD: Final = re.compile(
    r"^  (?:private |protected |public |volatile |final )*[\w.<>, \[\]]+ (\w+);$", re.MULTILINE
)
PACKAGE: Final = "org.apache.rocketmq."
_EACH: Final = re.compile(r"^Compiled from ", re.MULTILINE)
_HEAD: Final = re.compile(
    r"^(?:public |abstract |final )*class org\.apache\.rocketmq\.([\w.]+)", re.MULTILINE
)
_CONSTANT: Final = re.compile(r'= "([a-z]+\.[\w.]+)";')


def keys_of(directory: Path, name: str) -> Iterator[str]:
    """The keys of the class `name`, without its package's beginning; none where there is no such class."""
    text = shown(directory, name)
    of_clients = name.startswith("client.")
    for found in _SETTER.finditer(text):
        if not of_clients or found[2] in SIMPLE:
            yield found[1][0].lower() + found[1][1:]
    for found in () if of_clients else _FIELD.finditer(text):
        if " static " not in found[0]:
            yield found[1]


def shown(directory: Path, name: str) -> str:
    """What javap says of a class; nothing where there is no such class."""
    return shown_together(directory).get(name, "")


@cache
def shown_together(directory: Path) -> dict[str, str]:
    """What javap says of each class, asked once: most of its time goes into its start."""
    names = [f"{PACKAGE}{name}" for name in (*chain.from_iterable(CLASSES.values()), *SYSTEM)]
    command = ["javap", "-p", "-constants", "-cp", f"{directory}/*", *names]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = {}
    for text in _EACH.split(said):
        head = _HEAD.search(text)
        if head is not None:
            found[head[1]] = text
    return found


def block(name: str, keys: set[str]) -> str:
    """A frozenset of `keys` as source text."""
    lines = textwrap.wrap(" ".join(sorted(keys)), 100, break_long_words=False, break_on_hyphens=False)
    body = "\n".join(f"        {line}" for line in lines)
    return f'    "{name}": frozenset(\n        """\n{body}\n        """.split()\n    ),\n'


def main(words: list[str]) -> int:
    """Write the table; with `--check` it stays, and the number of what it lacks is returned."""
    directories = [Path(each) for each in words if each != "--check"]
    sys.path.insert(0, str(TABLE.parents[2]))
    from mqframe_cli.settings.rocketmq_keys import JAVA_PROPERTIES, KEYS_BY_PART

    parts = {}
    for part, names in CLASSES.items():
        parts[part] = set(KEYS_BY_PART.get(part, ()))
        parts[part] |= {key for each in directories for name in names for key in keys_of(each, name)}
    parts["broker"] |= {*STARTUP}
    texts = [shown(each, name) for each in directories for name in SYSTEM]
    properties = set(JAVA_PROPERTIES).union(*(_CONSTANT.findall(text) for text in texts))
    if "--check" in words:
        known = {*JAVA_PROPERTIES}.union(*KEYS_BY_PART.values())
        lacking = sorted(properties.union(*parts.values()) - known)
        print("\n".join(lacking))
        return len(lacking)
    text = TABLE.read_text()
    head = text[: text.index("KEYS_BY_PART: Final")]
    table = "".join(block(part, keys) for part, keys in parts.items())
    wrapped = "\n".join(f"    {line}" for line in textwrap.wrap(" ".join(sorted(properties)), 100))
    tail = text[text.index('"""Properties of Java') :]
    TABLE.write_text(
        f"{head}KEYS_BY_PART: Final[Mapping[str, frozenset[str]]] = {{\n{table}}}\n"
        f'JAVA_PROPERTIES: Final = frozenset(\n    """\n{wrapped}\n    """.split()\n)\n{tail}'
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
