"""Files of rows: fetched to disk, and read by a process of its own."""
