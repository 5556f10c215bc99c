"""What the timer decides: slots, places, recalls, and the bytes of its files."""
