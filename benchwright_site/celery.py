"""Celery, as a wake-up bus and nothing more: ids in, no results out, redelivery harmless."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchwright_site.settings")

from django.conf import settings  # noqa: E402 (the settings module is named first)

app = Celery("benchwright")
app.conf.update(
    broker_url=settings.CELERY_BROKER_URL,
    broker_connection_retry_on_startup=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    worker_hijack_root_logger=False,
    imports=["runs.jobs"],
)
if settings.CELERY_BROKER_URL.startswith("filesystem"):
    folder = str(settings.BROKER_DIR)
    app.conf.broker_transport_options = {
        "data_folder_in": folder,
        "data_folder_out": folder,
        "control_folder": str(settings.BROKER_DIR / "control"),
        "polling_interval": 0.02,
    }
