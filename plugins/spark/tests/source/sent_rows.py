"""What was sent to topics, to be compared with what arrived."""

from mqframe import Message, Producer, Puller

Row = tuple[str, str, int, int, bytes]
"""Topic, broker, queue, offset and body."""


class Sender:
    """Sends to topics, evenly over their queues, and remembers what was stored.

    `stores`: the folders of the brokers, as the option `path` takes them.
    """

    def __init__(self, nameserver: str, stores: str = "") -> None:
        self.nameserver = nameserver
        self.stores = stores
        self.rows: list[Row] = []

    def send(self, count: int, *topics: str) -> None:
        with (
            Producer(group="sender", nameserver=self.nameserver) as producer,
            Puller(nameserver=self.nameserver) as puller,
        ):
            for topic in topics:
                for queue in puller.queues(topic):
                    for number in range(count):
                        body = b"%d of %d" % (number, len(self.rows))
                        sent = producer.send(Message(topic, body), queue=queue)
                        row = (topic, queue.broker_name, queue.queue_id, sent.queue_offset, body)
                        self.rows.append(row)
