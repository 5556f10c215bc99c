"""What a scrape shows, read by prometheus-client."""

from __future__ import annotations

from typing import Any

from mqframe_metrics import BrokerSource
from mqframe_metrics.serving.gathering import Gatherer
from prometheus_client.parser import text_string_to_metric_families


def parsed(text: str) -> Any:
    """The metric families of a text."""
    return list(text_string_to_metric_families(text))


async def scrape(*sources: Any, series_max: int = 1000) -> str:
    """The text that these sources make."""
    gatherer = Gatherer(series_max)
    gatherer.sources += sources
    return b"".join(await gatherer.text()).decode()


class Scrape:
    """Values by name and labels; labels that all series share are left out."""

    def __init__(self, text: str) -> None:
        self.samples = [sample for family in parsed(text) for sample in family.samples]

    def value(self, name: str, /, **labels: str) -> float | None:
        """The value of the one series of `name` that has these labels; `None` when there is none."""
        found = [
            sample.value
            for sample in self.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]
        assert len(found) <= 1, f"{name} {labels}: {len(found)} series"
        return found[0] if found else None

    def labels(self, name: str) -> list[dict[str, str]]:
        """The labels of each series of `name`."""
        return [sample.labels for sample in self.samples if sample.name == name]


async def of_broker(world: Any, **options: Any) -> Scrape:
    """What the broker of `world` shows now."""
    if not hasattr(world, "metrics"):
        world.metrics = BrokerSource(world.cluster.broker)
    return Scrape(await scrape(world.metrics, **options))
