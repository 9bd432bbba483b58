"""The harnesses: what drives Materialize. A variant each, one table."""
