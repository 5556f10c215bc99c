from pathlib import Path

import pytest
from mqframe_offsetstore import LocalOffsetStore
from mqframe_testing.conformance import MemoryWire, OffsetStoreConformance

from mqframe.core.errors import MessageError, StoreError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire import loose_json
from mqframe.hooks.interfaces import OffsetStore, OffsetStoreContext, ReadFrom

QUEUE = MessageQueue("orders", "broker-a", 0)
JAVA_FILE = b"""{
\t"offsetTable":{{
\t\t\t"brokerName":"broker-a",
\t\t\t"queueId":0,
\t\t\t"topic":"orders"
\t\t}:42
\t}
}"""


class TestLocalConformance(OffsetStoreConformance):
    def make(self, context: OffsetStoreContext) -> OffsetStore:
        return LocalOffsetStore(context)


@pytest.fixture
def store(tmp_path: Path) -> LocalOffsetStore:
    return LocalOffsetStore(OffsetStoreContext("billing", "10.0.0.1@42", MemoryWire(), tmp_path))


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


async def persist(store: LocalOffsetStore, offset: int) -> None:
    store.update(QUEUE, offset, increase_only=False)
    await store.persist([QUEUE])


def test_lies_where_the_java_client_looks(store: LocalOffsetStore, tmp_path: Path) -> None:
    assert store.path == tmp_path / "10.0.0.1@42" / "billing" / "offsets.json"


async def test_a_namespace_is_in_the_file_as_the_java_client_has_it(tmp_path: Path) -> None:
    context = OffsetStoreContext("shop%billing", "c", MemoryWire(), tmp_path, "shop%{}".format)
    store = LocalOffsetStore(context)
    await persist(store, 7)
    table = loose_json.loads((tmp_path / "c/shop%billing/offsets.json").read_bytes())["offsetTable"]
    assert table == {MessageQueue("shop%orders", "broker-a", 0): 7}
    again = LocalOffsetStore(context)
    await again.load()
    assert await again.read(QUEUE, ReadFrom.MEMORY_THEN_STORE) == 7


@pytest.mark.parametrize(("group", "client"), [("..", "c"), ("g", "../../c"), ("g", "/etc"), ("", "c")])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, group: str, client: str) -> None:
    with pytest.raises(MessageError, match="cannot name a folder"):
        LocalOffsetStore(OffsetStoreContext(group, client, MemoryWire(), tmp_path))


def test_the_directory_can_be_chosen(tmp_path: Path) -> None:
    context = OffsetStoreContext("billing", "c", MemoryWire(), tmp_path)
    store = LocalOffsetStore(context, LocalOffsetStore.Options(directory=tmp_path / "else"))
    assert store.path == tmp_path / "else" / "c" / "billing" / "offsets.json"


async def test_reads_what_the_java_client_wrote(store: LocalOffsetStore) -> None:
    put(store.path, JAVA_FILE)
    await store.load()
    assert store.snapshot("orders") == {QUEUE: 42}


async def test_writes_the_form_of_the_java_client(store: LocalOffsetStore) -> None:
    await persist(store, 7)
    text = store.path.read_bytes()
    assert text == b'{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"orders"}:7}}'
    assert loose_json.loads(text) == {"offsetTable": {QUEUE: 7}}


async def test_the_version_before_is_kept(store: LocalOffsetStore) -> None:
    await persist(store, 7)
    first = store.path.read_bytes()
    await persist(store, 8)
    assert store.path.with_name("offsets.json.bak").read_bytes() == first


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"offsetTable":{"x":1}}'])
async def test_a_damaged_file_is_replaced_by_its_backup(store: LocalOffsetStore, damage: bytes) -> None:
    put(store.path, damage)
    put(store.path.with_name("offsets.json.bak"), JAVA_FILE)
    await store.load()
    assert await store.read(QUEUE, ReadFrom.STORE) == 42
    await persist(store, 43)
    assert loose_json.loads(store.path.read_bytes()) == {"offsetTable": {QUEUE: 43}}
    assert store.path.with_name("offsets.json.bak").read_bytes() == JAVA_FILE


async def test_two_damaged_files_are_an_error_that_names_them(store: LocalOffsetStore) -> None:
    put(store.path, b"{")
    put(store.path.with_name("offsets.json.bak"), b"{")
    with pytest.raises(StoreError, match=r"offsets\.json\.bak is damaged"):
        await store.load()
