"""The pages of the catalogue."""

from django.urls import path

from registry import views
from registry.pages import edit_views

urlpatterns = [
    path("registry", views.benchmarks, name="registry"),
    path("registry/new", views.benchmark_new, name="benchmark_new"),
    path("registry/subsets/<str:subset_id>", views.subset, name="subset"),
    path("registry/subsets/<str:subset_id>/rows", views.rows_new, name="rows_new"),
    path("registry/subsets/<str:subset_id>/freeze", views.freeze, name="subset_freeze"),
    path("registry/subsets/<str:subset_id>/scorer", views.scorer_new, name="scorer_new"),
    path("registry/subsets/<str:subset_id>/edit", edit_views.subset_edit, name="subset_edit"),
    path("registry/subsets/<str:subset_id>/delete", edit_views.subset_delete, name="subset_delete"),
    path("registry/scorers/<str:impl_id>", views.scorer, name="scorer"),
    path("registry/scorers/<str:impl_id>/edit", edit_views.scorer_edit, name="scorer_edit"),
    path("registry/scorers/<str:impl_id>/delete", edit_views.scorer_delete, name="scorer_delete"),
    path("registry/<str:benchmark_id>", views.benchmark, name="benchmark"),
    path("registry/<str:benchmark_id>/subset", views.subset_new, name="subset_new"),
    path("registry/<str:benchmark_id>/edit", edit_views.benchmark_edit, name="benchmark_edit"),
    path("registry/<str:benchmark_id>/delete", edit_views.benchmark_delete, name="benchmark_delete"),
    path("registry/<str:benchmark_id>/<str:slug>", views.subset_named, name="subset_named"),  # after the words above
]
