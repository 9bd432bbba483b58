"""What the builtin driver does in each phase."""
