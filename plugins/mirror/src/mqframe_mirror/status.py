"""How far a mirror is, asked of the brokers that keep its progress: also while it does not run."""

from __future__ import annotations

from typing import Any

from mqframe_mirror.link import MirrorLink
from mqframe_mirror.reading import bounds, message_at
from mqframe_mirror.settings import MirrorSettings
from mqframe_mirror.side import MirrorSide

Row = dict[str, Any]


async def mirror_status(
    settings: MirrorSettings, *, arguments: dict[str, Any] | None = None, clock: Any = None
) -> list[Row]:
    """A row for each queue that is copied, as brokers know it.

    `committed`: before that offset all is at the target, `None` of a queue that was never copied; `lag`:
    messages behind it; `seconds`: how long the first of these has been stored.

    Raises what calls raise.
    """
    source = MirrorSide(settings.source, arguments, clock)
    target = MirrorSide(settings.target, arguments, clock)
    try:
        await source.find_name()
        await target.find_name()
        link = MirrorLink(source, target, settings)
        await source.open(link.group)
        hidden = await source.hidden_topics()
        chosen = settings.choice.chosen(await source.puller.topics(), hidden, target.name)
        return [row for topic in chosen for row in await _rows(source, topic)]
    finally:
        await source.close()
        await target.close()


async def _rows(source: MirrorSide, topic: str) -> list[Row]:
    rows = []
    for queue in await source.puller.queues(topic):
        begin, end = await bounds(source.puller, queue)
        committed = await source.puller.committed(queue)
        at = min(max(begin, committed or 0), end)
        first = await message_at(source.puller, queue, at) if at < end else None
        waited = 0 if first is None else max(0, source.clock.now_ms() - first.store_timestamp)
        place = f"{queue.broker_name}/{queue.queue_id}"
        row = {"topic": topic, "queue": place, "committed": committed, "end": end}
        rows.append({**row, "lag": end - at, "seconds": round(waited / 1000, 1)})
    return rows
