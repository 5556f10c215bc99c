"""The send hook and the consume hook `trace`."""
