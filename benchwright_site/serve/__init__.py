"""`manage.py serve`: every part of an installation under one supervisor."""
