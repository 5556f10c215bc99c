"""What serves each RPC."""
