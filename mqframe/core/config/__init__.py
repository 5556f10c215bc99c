"""Settings: typed fields, where their values come from, and which source wins."""
