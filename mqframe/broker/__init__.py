"""A broker: takes messages, keeps them, gives them out, and keeps account of its clients."""
