"""The pages of runs."""

from django.urls import path

from runs import views
from runs.pages.connections import views as connections
from runs.pages.lineage import views as lineage
from runs.pages.owner import views as owner
from runs.pages.report import views as report
from runs.pages.vault import views as vault

urlpatterns = [
    path("", views.home, name="home"),
    path("runs", views.runs, name="runs"),
    path("runs/new", views.launch, name="launch"),
    path("runs/new/words", views.launch_in_words, name="launch_in_words"),
    path("runs/<uuid:run_id>", views.run, name="run"),
    path("runs/<uuid:run_id>/approve", views.approve, name="run_approve"),
    path("runs/<uuid:run_id>/report", report.report, name="run_report"),
    path("runs/<uuid:run_id>/remark", report.remark, name="run_remark"),
    path("runs/<uuid:run_id>/mend", report.mend, name="run_mend"),
    path("runs/<uuid:run_id>/fork", lineage.fork, name="run_fork"),
    path("runs/<uuid:run_id>/flips", lineage.flips, name="run_flips"),
    path("runs/<uuid:run_id>/halt", views.halt, name="run_halt"),
    path("runs/<uuid:run_id>/visibility", owner.visibility, name="run_visibility"),
    path("runs/<uuid:run_id>/destroy", owner.destroy, name="run_destroy"),
    path("runs/<uuid:run_id>/files/<str:artifact_id>", views.file, name="run_file"),
    path("runs/<uuid:run_id>/tasks/<str:task_id>", views.task, name="run_task"),
    path("manage/secrets", vault.secret_list, name="manage_secrets"),
    path("manage/secrets/<str:secret_id>", vault.secret, name="manage_secret"),
    path("manage/secrets/<str:secret_id>/rotate", vault.secret_rotate, name="manage_secret_rotate"),
    path("manage/secrets/<str:secret_id>/edit", vault.secret_edit, name="manage_secret_edit"),
    path("manage/secrets/<str:secret_id>/delete", vault.secret_delete, name="manage_secret_delete"),
    path("manage/hosts", vault.host_list, name="manage_hosts"),
    path("manage/hosts/allow", vault.host_allow, name="manage_host_allow"),
    path("manage/hosts/default", vault.host_default, name="manage_host_default"),
    path("manage/hosts/starter-pack", vault.host_starter_pack, name="manage_starter_pack"),
    path("manage/hosts/<str:entry_id>/remove", vault.host_remove, name="manage_host_remove"),
    path("manage/connections", connections.models, name="manage_connections"),
    path("manage/connections/<str:connection_id>", connections.connection, name="manage_connection"),
    path("manage/connections/<str:connection_id>/edit", connections.edit, name="manage_connection_edit"),
    path("manage/connections/<str:connection_id>/test", connections.test, name="manage_connection_test"),
    path("manage/connections/<str:connection_id>/delete", connections.delete, name="manage_connection_delete"),
    path("manage/compute", connections.compute, name="manage_compute"),
]
