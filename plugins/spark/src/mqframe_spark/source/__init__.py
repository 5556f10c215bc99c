"""Reading topics: what the driver plans, what tasks read."""
