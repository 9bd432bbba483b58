"""The pages of the catalogue."""

from django.urls import path

from registry import views

urlpatterns = [
    path("registry", views.benchmarks, name="registry"),
    path("registry/new", views.benchmark_new, name="benchmark_new"),
    path("registry/subsets/<str:subset_id>", views.subset, name="subset"),
    path("registry/subsets/<str:subset_id>/rows", views.rows_new, name="rows_new"),
    path("registry/subsets/<str:subset_id>/freeze", views.freeze, name="subset_freeze"),
    path("registry/subsets/<str:subset_id>/scorer", views.scorer_new, name="scorer_new"),
    path("registry/scorers/<str:impl_id>", views.scorer, name="scorer"),
    path("registry/<str:benchmark_id>", views.benchmark, name="benchmark"),
    path("registry/<str:benchmark_id>/subset", views.subset_new, name="subset_new"),
]
