"""Clients made from files, environment and code; strategies in every way in which they can be named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest

import mqframe
from mqframe import (
    AllocationStrategy,
    AsyncProducer,
    AsyncPushConsumer,
    MessageQueue,
    PluginError,
    PluginManager,
    Producer,
    ProducerSettings,
    PushConsumer,
    RpcHook,
    SettingError,
    SimpleConsumer,
)

CLIENTS = [
    name
    for name in mqframe.__all__
    if name.removeprefix("Async")
    in {
        "Producer",
        "TransactionProducer",
        "PushConsumer",
        "LitePullConsumer",
        "SimpleConsumer",
        "Puller",
        "Admin",
    }
]
QUEUES = [MessageQueue("t", "b", number) for number in range(8)]
MEMBERS = [f"member-{number}" for number in range(3)]


class Rotated(AllocationStrategy):
    """Every so many-th queue, beginning a little later."""

    @attrs.frozen
    class Options:
        by: int = 1

    def __init__(self, options: Options = Options(by=3)) -> None:
        self.by = options.by

    def allocate(
        self, group: str, current: str, queues: Sequence[MessageQueue], members: Sequence[str]
    ) -> list[MessageQueue]:
        return list(queues)[(members.index(current) + self.by) % len(members) :: len(members)]


class RotatedByThree(Rotated):
    """What an application derives."""


class Watch(RpcHook):
    """An RPC hook that does nothing."""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def file(own_folder: Path) -> Callable[[str], Path]:
    def write(text: str, name: str = "app.toml") -> Path:
        path = own_folder / name
        path.write_text('[client]\nnameserver = "127.0.0.1:9876"\n' + text)
        return path

    return write


def inner(client: Any) -> Any:
    """The asyncio client behind either face."""
    return getattr(client, "_client", client)


def strategy(consumer: Any) -> Any:
    return inner(consumer)._plan.allocation.strategy


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_can_be_made_from_a_file(name: str, file: Callable[[str], Path]) -> None:
    cls = getattr(mqframe, name)
    section = cls._section
    group = "" if section == "admin" else 'group = "one"\n'
    client = cls.from_config(file(f"[{section}]\n{group}"))
    assert isinstance(client, cls)
    if group and section != "puller":
        assert client.group == "one"


@pytest.mark.parametrize("cls", [Producer, AsyncProducer])
def test_code_comes_before_the_environment_and_that_before_the_file(
    cls: type[Any], file: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file('[producer]\ngroup = "shop"\nretries_sync = 3\nretries_async = 3\nlinger_seconds = 1\n')
    monkeypatch.setenv("MQFRAME_PRODUCER_RETRIES_SYNC", "4")
    monkeypatch.setenv("MQFRAME_PRODUCER_RETRIES_ASYNC", "4")
    settings = inner(cls.from_config(path, retries_async=5))._settings
    assert isinstance(settings, ProducerSettings)
    assert (settings.linger_seconds, settings.retries_sync, settings.retries_async) == (1.0, 4, 5)
    assert settings.compression == "zlib"


def test_a_profile_comes_before_its_section_and_after_the_environment(
    file: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(
        '[consumer.billing]\ngroup = "billing"\nconsume_threads = 2\nconsume_from = 2026-01-01T00:00:00Z\n'
        '[consumer]\ngroup = "other"\nconsume_threads = 9\nconsume_tasks = 9\n'
    )
    billing = inner(PushConsumer.from_config(path, "billing"))
    plan = billing._plan
    assert (billing.group, plan.settings.consume_threads, plan.settings.consume_tasks) == ("billing", 2, 9)
    assert plan.begin[1] == int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    other = inner(PushConsumer.from_config(path))
    assert (other.group, other._plan.settings.consume_threads) == ("other", 9)
    monkeypatch.setenv("MQFRAME_CONSUMER_CONSUME_THREADS", "5")
    assert inner(PushConsumer.from_config(path, "billing"))._plan.settings.consume_threads == 5
    monkeypatch.setenv("MQFRAME_CONSUMER_BILLING__CONSUME_THREADS", "6")
    assert inner(PushConsumer.from_config(path, "billing"))._plan.settings.consume_threads == 6
    assert inner(PushConsumer.from_config(path))._plan.settings.consume_threads == 5


def test_without_a_name_the_file_in_the_working_folder_is_read(file: Callable[..., Path]) -> None:
    file('[simple]\ngroup = "here"\n', "mqframe.toml")
    assert SimpleConsumer.from_config().group == "here"


def test_without_a_file_the_environment_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQFRAME_SIMPLE_GROUP", "there")
    monkeypatch.setenv("MQFRAME_CLIENT_NAMESERVER", "127.0.0.1:9876")
    assert SimpleConsumer.from_config().group == "there"


def test_a_strategy_is_the_same_however_it_is_named(file: Callable[[str], Path]) -> None:
    plugins = PluginManager()

    class Brought:
        @staticmethod
        @mqframe.hookimpl
        def register_allocation_strategies() -> dict[str, Any]:
            return {"rotated": Rotated}

    plugins.register(Brought, "brought")
    here = f"{__name__}:Rotated"
    options = "[plugins.rotated]\nby = 3\n"
    named = file(f'[consumer]\ngroup = "g"\nallocate = "rotated"\n{options}')
    made = [PushConsumer.from_config(named, plugins=plugins)]
    at_place = file(
        f'[consumer]\ngroup = "g"\nallocate = "{here}"\n[plugins."{here}"]\nby = 3\n', "place.toml"
    )
    made.append(PushConsumer.from_config(at_place))
    bare = file(f'[consumer]\ngroup = "g"\n{options}', "bare.toml")
    made += [
        PushConsumer.from_config(bare, allocate="rotated", plugins=plugins),
        PushConsumer.from_config(bare, allocate=Rotated(), plugins=plugins),
        PushConsumer.from_config(bare, allocate=(RotatedByThree, {"by": 3}), plugins=plugins),
        PushConsumer("g", allocate="rotated", allocate_options={"by": 3}, plugins=plugins),
        PushConsumer("g", allocate=(here, {"by": 3})),
        PushConsumer("g", allocate=Rotated(Rotated.Options(by=3))),
        PushConsumer("g", allocate=RotatedByThree, allocate_options=Rotated.Options(by=3)),
    ]
    expected = [Rotated().allocate("g", member, QUEUES, MEMBERS) for member in MEMBERS]
    for consumer in made:
        found = [strategy(consumer).allocate("g", member, QUEUES, MEMBERS) for member in MEMBERS]
        assert found == expected


def test_options_reach_a_plugin_wherever_it_is_chosen(
    file: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(
        '[consumer]\ngroup = "g"\nallocate = "consistenthash"\n[plugins.consistent_hash]\nvirtual_nodes = 7\n'
    )
    assert strategy(PushConsumer.from_config(path))._virtual_nodes == 7
    monkeypatch.setenv("MQFRAME_PLUGINS_CONSISTENT_HASH__VIRTUAL_NODES", "8")
    assert strategy(AsyncPushConsumer.from_config(path))._virtual_nodes == 8
    in_code = AsyncPushConsumer.from_config(path, allocate=("consistent_hash", {"virtual_nodes": 9}))
    assert strategy(in_code)._virtual_nodes == 9


TWO_GROUPS = """
[consumer]
allocate = "by_config"

[consumer.left]
group = "left"
allocate_options = { queues = ["t/b/0", "t/b/1"] }

[consumer.right]
group = "right"

[consumer.right.plugins.by_config]
queues = ["t/b/7"]

[plugins.by_config]
queues = ["t/b/3"]

[lite_pull]
group = "other"
allocate = "by_config"
"""


def held(consumer: Any) -> list[int]:
    found = strategy(consumer).allocate("g", "me", QUEUES, ["me"])
    return [queue.queue_id for queue in found]


def test_groups_in_one_file_use_a_strategy_with_options_of_their_own(
    file: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(TWO_GROUPS)
    assert held(PushConsumer.from_config(path, "left")) == [0, 1]
    assert held(PushConsumer.from_config(path, "right")) == [7]
    assert held(PushConsumer.from_config(path, group="g")) == [3]
    assert held(mqframe.LitePullConsumer.from_config(path)) == [3]
    monkeypatch.setenv("MQFRAME_CONSUMER_LEFT__ALLOCATE_OPTIONS__QUEUES", "t/b/4")
    assert held(PushConsumer.from_config(path, "left")) == [4]
    monkeypatch.setenv("MQFRAME_CONSUMER_RIGHT__PLUGINS__BY_CONFIG__QUEUES", "t/b/5;t/b/6")
    assert held(PushConsumer.from_config(path, "right")) == [5, 6]
    monkeypatch.setenv("MQFRAME_CONSUMER_PLUGINS__BY_CONFIG__QUEUES", "t/b/2")
    assert held(PushConsumer.from_config(path, group="g")) == [2]
    assert held(mqframe.LitePullConsumer.from_config(path)) == [3]
    code = {"queues": ["t/b/1"]}
    assert held(PushConsumer.from_config(path, "left", allocate_options=code)) == [1]


def test_options_of_a_strategy_go_when_something_stronger_chooses_another(
    file: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(
        '[consumer]\ngroup = "g"\nallocate = "by_config"\nallocate_options = { queues = ["t/b/0"] }\n'
        '[consumer.even]\nallocate = "averagely"\n'
        '[consumer.ring]\nallocate_options = { virtual_nodes = 3 }\nallocate = "consistent_hash"\n'
    )
    assert held(PushConsumer.from_config(path)) == [0]
    assert len(held(PushConsumer.from_config(path, "even"))) == len(QUEUES)
    assert strategy(PushConsumer.from_config(path, "ring"))._virtual_nodes == 3
    assert len(held(PushConsumer.from_config(path, allocate="averagely"))) == len(QUEUES)
    monkeypatch.setenv("MQFRAME_CONSUMER_ALLOCATE", "averagely")
    assert len(held(PushConsumer.from_config(path))) == len(QUEUES)


def test_an_option_of_an_offset_store_stands_in_its_section_too(file: Callable[[str], Path]) -> None:
    path = file('[consumer]\ngroup = "g"\noffset_store = "sqlite"\noffset_store_options = { flie = "x" }\n')
    with pytest.raises(SettingError, match="option flie of plugin sqlite"):
        PushConsumer.from_config(path)


def test_rpc_hooks_of_all_clients_count_where_a_section_names_none(file: Callable[[str], Path]) -> None:
    hook = f"{__name__}:Watch"
    path = file(f'rpc_hooks = ["{hook}"]\n[producer]\ngroup = "g"\n[producer.plain]\nrpc_hooks = []\n')
    assert [type(each) for each in inner(Producer.from_config(path))._parts.rpc_hooks] == [Watch]
    assert inner(Producer.from_config(path, "plain"))._parts.rpc_hooks == ()


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (
            "[consumer]\nalocate = 1\n",
            {},
            "consumer.alocate from app.toml [consumer]",
        ),
        ("[consumers]\ngroup = 1\n", {}, "did you mean consumer?"),
        ("[producer]\ngruop = 'x'\n", {}, "did you mean producer.group"),
        ("[consumer]\nconsume_threads = 'many'\n", {}, "consumer.consume_threads = 'many' from app.toml"),
        ("[consumer.a]\nconsume_thread = 1\n", {}, "did you mean consume_threads"),
        ("[consumer.audit]\n", {"profile": "audti"}, "no profile [consumer.audti]"),
        ("[consumer]\n", {}, "consumer.group must be set"),
        ("[consumer]\ngroup = 'g'\n", {"nameservr": "x"}, "did you mean nameserver?"),
        ("[consumer]\ngroup = 'g'\n", {"consume_threads": 0}, "argument consume_threads"),
        ("[consumer]\ngroup = 'g'\nallocate = 'averagly'\n", {}, "did you mean averagely"),
        ("[consumer]\ngroup = 'g'\nconsume_hooks = 'a:b'\n", {}, "No module named 'a'"),
        ("[consumer]\ngroup = 'g'\noffset_store = 'sqllite'\n", {}, "did you mean sqlite"),
        ("[consumer]\ngroup = 'g'\nconsume_from = 'earliest'\n", {}, '"first"'),
        ("[plugins.consistant_hash]\nvirtual_nodes = 1\n", {}, "did you mean consistent_hash"),
        (
            "[consumer]\ngroup = 'g'\nallocate = 'consistent_hash'\n[plugins.consistent_hash]\nnodes = 1\n",
            {},
            "option nodes of plugin consistent_hash from app.toml [plugins.consistent_hash]",
        ),
        ("[consumer\n", {}, "app.toml"),
        ("[consumer]\nplugins = 3\n", {}, "consumer.plugins from app.toml [consumer]: must be a table"),
        ("[consumer.a.plugins]\nx = 3\n", {"profile": "a"}, "must be a table of options"),
        ("[client.plugins.acl]\naccess_key = 'x'\n", {}, "client.plugins.acl from app.toml"),
        ("[consumer]\ngroup = 'g'\nallocate_options = 3\n", {}, "consumer.allocate_options = 3"),
        (
            "[consumer.a]\ngroup = 'g'\n[consumer.a.plugins.consistant_hash]\nx = 1\n",
            {"profile": "a"},
            "did you mean consistent_hash",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    text: str, arguments: dict[str, Any], said: str, file: Callable[[str], Path]
) -> None:
    file(text)
    with pytest.raises((SettingError, PluginError, mqframe.FixError)) as caught:
        PushConsumer.from_config("app.toml", **arguments)
    assert said in str(caught.value)


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(SettingError, match=r"configuration nowhere\.toml cannot be read"):
        Producer.from_config("nowhere.toml", group="g")
