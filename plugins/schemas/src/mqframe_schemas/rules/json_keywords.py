"""Keywords of JSON schemas that are numbers or words: the reader's may be no narrower than the writer's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqframe_schemas.rules.compatibility import Difference
from mqframe_schemas.rules.json_shape import canonical

Schema = Mapping[str, Any]


def differing_numbers(old: Schema, new: Schema, path: str, *, whole: bool) -> list[Difference]:
    """Limits and multiples; `whole`: there were integers only."""
    found = []
    if not _stays_within(old, new, "minimum", "exclusiveMinimum", 1):
        found.append(Difference(path, "it could be smaller before"))
    if not _stays_within(old, new, "maximum", "exclusiveMaximum", -1):
        found.append(Difference(path, "it could be larger before"))
    step = new.get("multipleOf")
    if step is not None and not _is_multiple(old.get("multipleOf", 1 if whole else None), step):
        found.append(Difference(path, f"it could be other before than a multiple of {step}"))
    return found


def differing_strings(old: Schema, new: Schema, path: str) -> list[Difference]:
    """Lengths and patterns."""
    found = _lengths(old, new, "Length", path, "characters")
    if "pattern" in new and new["pattern"] != old.get("pattern"):
        found.append(Difference(path, "whether it fits 'pattern', which is new or changed, cannot be told"))
    return found


def differing_arrays(old: Schema, new: Schema, path: str) -> list[Difference]:
    """Lengths, and whether items may come twice."""
    found = _lengths(old, new, "Items", path, "items")
    if new.get("uniqueItems") and not old.get("uniqueItems"):
        found.append(Difference(path, "an item could be there twice before"))
    return found


def _lengths(old: Schema, new: Schema, what: str, path: str, unit: str) -> list[Difference]:
    found = []
    if new.get(f"min{what}", 0) > old.get(f"min{what}", 0):
        found.append(Difference(path, f"it could have fewer {unit} before"))
    most = new.get(f"max{what}")
    if most is not None and old.get(f"max{what}", most + 1) > most:
        found.append(Difference(path, f"it could have more {unit} before"))
    return found


def _stays_within(old: Schema, new: Schema, inclusive: str, exclusive: str, sign: int) -> bool:
    """Whether the writer's limit keeps within the reader's. `sign`: 1 for lower ones, -1 for upper ones."""
    for key in (inclusive, exclusive):
        if key in new:
            limit = sign * new[key]
            beyond = exclusive in old and sign * old[exclusive] >= limit
            at = sign * old[inclusive] if inclusive in old else None
            if not (beyond or (at is not None and (at > limit or (at == limit and key == inclusive)))):
                return False
    return True


def _is_multiple(old: Any, step: Any) -> bool:
    if old is None:
        return False
    if canonical(old) == canonical(step):
        return True
    return isinstance(old, int) and isinstance(step, int) and old % step == 0
