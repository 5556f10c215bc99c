"""What tests of mqframe, of its plugins and of applications are built on."""
