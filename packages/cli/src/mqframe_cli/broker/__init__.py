"""`mqframe broker`."""
