"""Rows of datasets on the Hugging Face Hub: what it has, which files are meant, and what its refusals mean."""
