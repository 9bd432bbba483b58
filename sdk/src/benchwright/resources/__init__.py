"""The calls of /v1, grouped by resource."""
