"""The pages of runs."""

from django.urls import path

from runs import views

urlpatterns = [
    path("", views.home, name="home"),
    path("runs", views.runs, name="runs"),
    path("runs/new", views.launch, name="launch"),
    path("runs/<uuid:run_id>", views.run, name="run"),
    path("runs/<uuid:run_id>/report", views.report, name="run_report"),
    path("runs/<uuid:run_id>/halt", views.halt, name="run_halt"),
    path("runs/<uuid:run_id>/files/<str:artifact_id>", views.file, name="run_file"),
    path("runs/<uuid:run_id>/tasks/<str:task_id>", views.task, name="run_task"),
]
