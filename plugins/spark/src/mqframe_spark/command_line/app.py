"""`mqframe spark`."""

from __future__ import annotations

from mqframe_cli.extension import new_app

from mqframe_spark.command_line import looking, moving, pipelines, tidying

app = new_app(help="Topics and Spark: pipelines on streams, and ready-made jobs.")
app.command("run")(pipelines.run)
app.command()(moving.drain)
app.command()(moving.replay)
app.command("republish-dlq")(moving.republish_dlq)
app.command()(looking.report)
app.command()(looking.search)
app.command()(tidying.compact)
app.command()(tidying.vacuum)
