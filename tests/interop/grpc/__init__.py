"""Official clients that speak gRPC, and what they see of a door."""
