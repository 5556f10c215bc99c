"""What every client stands on: its identity, connections, routes, and requests from brokers."""
