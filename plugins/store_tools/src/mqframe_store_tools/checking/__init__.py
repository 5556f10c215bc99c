"""The files of a store that no broker uses: checked, decoded, built again from the log."""
