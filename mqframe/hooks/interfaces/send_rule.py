"""Send rules: what a broker checks and changes in a producer's message before it is stored."""

from __future__ import annotations

from typing import NamedTuple

from mqframe.core.requests.messages import SendFieldsV2, SendMessage
from mqframe.core.requests.replies import SendReplyMessage
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.core.wire.frame import Body

SendFields = SendMessage | SendFieldsV2 | SendReplyMessage
"""The decoded header of a send, whichever form it has."""


class PendingRecord:
    """A message or batch that was received and is not stored yet.

    `fields`: what its sender says of it (group, topic, queue, birth, attempts); `body`: as it was received,
    good until the handler's turn ends; `is_batch`: whether that holds several messages
    (`mqframe.core.messages.batch`), of which `properties` are those that they share.

    A rule may change `topic`, `queue_id`, `sys_flag` (where and as what it is stored) and `properties`
    (split, the broker's own among them), and `counted_as`, the topic in whose numbers it appears. `answer`:
    header fields that the answer gets besides the usual ones.
    """

    __slots__ = (
        "answer", "body", "counted_as", "fields", "is_batch", "properties", "queue_id", "sys_flag",
        "topic",
    )  # fmt: skip

    def __init__(
        self,
        fields: SendFields,
        body: Body,
        queue_id: int,
        properties: dict[str, str],
        *,
        is_batch: bool = False,
    ) -> None:
        """A record that goes where its sender wants it."""
        self.fields = fields
        self.topic = fields.topic
        self.counted_as = fields.topic
        self.queue_id = queue_id
        self.sys_flag = fields.sys_flag
        self.body = body
        self.properties = properties
        self.is_batch = is_batch
        self.answer: dict[str, str] = {}


class StoredAt(NamedTuple):
    """Where a message or batch was stored. `queue_id`: the one that its sender is told."""

    queue_id: int
    stored: Stored | StoredBatch


class SendRule:
    """Looks at messages of producers before they are stored. Synchronous; may not block.

    `names`: properties of which a message must have one to be shown, `None` for every message, which makes
    each send slower. `hint`: text that all of these names contain, if they share one: it is looked for first,
    once for all, and the names only where it is found. `batches`: whether batches are shown, too; `names` is
    then looked for in the properties that the request gives to all its messages and in the batch itself,
    where a name that only looks like one, in a body, may show a batch that has none. A batch may be refused,
    answered or made shorter: `body` may be replaced by a batch of some of its messages, what `after` is told
    is then about these.

    Rules run in the order in which services are registered, the broker's own first.
    """

    names: frozenset[str] | None = frozenset()
    hint: str = ""
    batches: bool = False

    @property
    def alike_while(self) -> object:
        """Anything but `None` promises: while it is this very object, `before` does the same to all messages
        for one queue with one value of the one property of `names` that they have, unless others are reserved
        (but KEYS, TAGS and such). Unique keys may be copied. So it need not be shown each of them.
        """
        return None

    def before(self, record: PendingRecord) -> StoredAt | None:
        """Pass `record` (return `None`), change it, or divert it to another topic or queue.

        A result answers the sender as if the message had been stored there just now, and nothing is stored;
        where the broker waits for the disk, the answer waits until the end of that result is on it. Fields
        in `record.answer` take the place of the usual ones (`transactionId`, of the message that is there).
        Raises `Refusal` to refuse the message; any other exception refuses it as well (1, SYSTEM_ERROR).
        """
        return None

    def after(self, record: PendingRecord, result: StoredAt) -> None:
        """`record` was stored, perhaps not on disk yet; not called when the store took nothing.

        What is put into `record.answer` still gets into the answer. Exceptions are logged and isolated.
        """
