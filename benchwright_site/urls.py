"""The map of the site."""

from django.apps import apps
from django.contrib import admin
from django.urls import include, path

from accounts import manage_api, staff, views
from benchwright_site import health
from benchwright_site.api import api

admin.site.site_header = admin.site.site_title = "Benchwright"
apps.get_app_config("accounts").verbose_name = "Users and tokens"  # allauth has Accounts
apps.get_app_config("secrets_vault").verbose_name = "Secrets and hosts"
staff.guard(admin.site)

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("v1/", api.urls),
    path("manage/api/tokens", manage_api.Tokens.as_view(), name="manage_api_tokens"),
    path("manage/api/tokens/<str:token_id>", manage_api.Token.as_view(), name="manage_api_token"),
    path("manage/api/tokens/<str:token_id>/rotate", manage_api.Rotation.as_view(), name="manage_api_rotation"),
    path("manage", views.manage, name="manage"),
    path("manage/", views.manage),
    path("manage/tokens", views.token_list, name="manage_tokens"),
    path("manage/tokens/<str:token_id>/rotate", views.token_rotate, name="manage_token_rotate"),
    path("manage/tokens/<str:token_id>/revoke", views.token_revoke, name="manage_token_revoke"),
    path("manage/security", views.security, name="manage_security"),
    path("manage/security/end-others", views.sessions_end, name="manage_sessions_end"),
    path("manage/security/<str:session_id>/end", views.session_end, name="manage_session_end"),
    path("accounts/", include("allauth.account.urls")),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("admin/", admin.site.urls),
    path("", include("registry.urls")),
    path("", include("runs.urls")),
]
