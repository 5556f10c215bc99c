"""Text on a terminal: harmless characters, bodies, tables that fit."""
