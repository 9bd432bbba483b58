"""The map of the site."""

from django.contrib import admin
from django.urls import include, path

from benchwright_site.api import api

urlpatterns = [
    path("v1/", api.urls),
    path("accounts/", include("allauth.account.urls")),
    path("admin/", admin.site.urls),
    path("", include("runs.urls")),
]
