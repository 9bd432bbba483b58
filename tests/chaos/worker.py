"""A worker for one run, as Celery would wake it: advance, and look again until the run has ended."""

import os
import sys
import time

import django

if __name__ == "__main__":
    django.setup()
    from kernel.database import conninfo
    from runs import pipeline, states
    from runs.doorbell import Bell
    from runs.models import Run

    bell = Bell(conninfo())
    while Run.objects.filter(id=sys.argv[1], status__in=states.ACTIVE).exists():
        pipeline.advance(sys.argv[1], pipeline.Worker(f"worker:{os.getpid()}", bell))
        time.sleep(0.05)
    bell.close()
