"""The audit of extraction: a second reader looks at the stored outputs, and what it reads otherwise is listed."""
