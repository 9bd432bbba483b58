"""What stands between a role and the rest of the machine."""
