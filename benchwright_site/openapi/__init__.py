"""The description of /v1 (OpenAPI 3.1): what django-ninja knows of each route, completed by the tables here."""
