"""Where a run comes from, what was made of it, and what that changed."""
