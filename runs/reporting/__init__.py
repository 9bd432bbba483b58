"""What a run tells at its end: the report, what mends what did not pass, the audit of its readings, and plain words."""
