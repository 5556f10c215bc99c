"""Messages: their fields, properties, ids, names of topics, and what is checked before one is sent."""
