"""The commands of `mqframe spark`. Thin: they check what was typed, start Spark, and show what came of it."""
