"""Every setting of an installation, read top to bottom. docs/settings.md explains each environment variable."""

import hashlib
import sys
from pathlib import Path

from kernel import env

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.data_folder()

# --- Who we are ---
PRODUCTION = env.flag("BENCHWRIGHT_PRODUCTION")
DEBUG = env.flag("BENCHWRIGHT_DEBUG") and not PRODUCTION
TESTING = "pytest" in sys.modules
PUBLIC_URL = env.text("BENCHWRIGHT_PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
ALLOWED_HOSTS = env.words("BENCHWRIGHT_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
SIGNUP_OPEN = env.flag("BENCHWRIGHT_SIGNUP", not PRODUCTION)
# One trusted user: their own base URLs may point at private addresses.
SINGLE_USER = env.flag("BENCHWRIGHT_SINGLE_USER", not PRODUCTION)
# Only what these hops say of the caller's address and scheme is believed (benchwright_site.middleware.hops).
TRUSTED_PROXIES = env.networks("BENCHWRIGHT_TRUSTED_PROXIES")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL.startswith("https://") else []


def _secret_key() -> str:
    """The environment's, else one kept in the data folder (`manage.py serve` makes it), else refuse in production."""
    given = env.text("BENCHWRIGHT_SECRET_KEY")
    if given:
        return given
    kept = DATA_DIR / "keys" / "django"
    if kept.is_file():
        return kept.read_text().strip()
    if PRODUCTION:
        raise env.BadSetting("BENCHWRIGHT_SECRET_KEY", "must be set in production")
    return "not-secret-" + hashlib.sha256(str(DATA_DIR).encode()).hexdigest()


SECRET_KEY = _secret_key()

# --- Where things live ---
DATABASE_URL = env.text("DATABASE_URL")
# Without DATABASE_URL a private PostgreSQL lives in the data folder and listens on a socket only.
EMBEDDED_DATABASE = not DATABASE_URL
POSTGRES_DIR = DATA_DIR / "postgres"
RUN_DIR = env.socket_folder(DATA_DIR)  # sockets between our own processes
DATABASE_SOCKETS = RUN_DIR / "db"
DATABASES = {"default": env.database(DATABASE_URL or f"postgresql://postgres:@/postgres?host={DATABASE_SOCKETS}")}
DATABASES["default"]["CONN_MAX_AGE"] = 60
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# The web server gives each request a thread of its own: there, connections live in a pool instead of in threads.
if env.flag("BENCHWRIGHT_DATABASE_POOL"):
    DATABASES["default"]["CONN_MAX_AGE"] = 0
    POOL_SIZE = int(env.number("BENCHWRIGHT_DATABASE_POOL_SIZE", 24, least=2))
    DATABASES["default"]["OPTIONS"]["pool"] = {"min_size": 2, "max_size": POOL_SIZE, "timeout": 10}
if env.text("BENCHWRIGHT_TEST_DATABASE"):
    DATABASES["default"]["TEST"] = {"NAME": env.text("BENCHWRIGHT_TEST_DATABASE")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = env.text("REDIS_URL")
CACHES = {
    "default": (
        {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
        if REDIS_URL
        else {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cache"}
    )
}

# --- Rooms ---
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "channels",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "rest_framework",
    "accounts",
    "secrets_vault",
    "registry",
    "runs",
    "benchwright_site",
]
AUTH_USER_MODEL = "accounts.User"
ROOT_URLCONF = "benchwright_site.urls"
ASGI_APPLICATION = "benchwright_site.asgi.application"
WSGI_APPLICATION = "benchwright_site.wsgi.application"
MIDDLEWARE = [
    "benchwright_site.middleware.hops.Hops",
    "benchwright_site.middleware.requests.RequestLog",
    "benchwright_site.middleware.browsers.SecurityHeaders",
    "benchwright_site.middleware.manners.ApiManners",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]

# --- Language and time ---
LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

# --- Sign-in ---
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_ADAPTER = "accounts.users.SignUp"
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Benchwright] "
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_ON_GET = False
# Failed logins: 5 in 5 minutes for one address, 10 a minute from one IP (the admin's login goes the same way).
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/300s/key"}
FRESH_LOGIN_SECONDS = 15 * 60  # minting a token asks for the password again after this
# The second step: time codes and recovery codes. Without verified addresses nobody could add one, hence the third line.
MFA_ADAPTER = "accounts.second_step.SecondStep"
MFA_TOTP_ISSUER = "Benchwright"
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_TOTP_TOLERANCE = 1  # a phone's clock may be half a minute off
MFA_RECOVERY_CODES_SHOW_ONCE = True
STAFF_SECOND_STEP = env.flag("BENCHWRIGHT_STAFF_SECOND_STEP", PRODUCTION)  # does the admin ask for one?
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/manage"
EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PUBLIC_URL.startswith("https://")
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [],  # accounts.manage_api pins the strict JSON door on its views
}

# --- Work ---
# A Celery message is only a wake-up (the database is the queue), so the default bus may be a folder of files.
BROKER_DIR = DATA_DIR / "broker"
CELERY_BROKER_URL = env.text("BENCHWRIGHT_BROKER_URL", REDIS_URL or "filesystem://localhost//")
if CELERY_BROKER_URL.startswith("filesystem"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_DIR),
        "data_folder_out": str(BROKER_DIR),
        "control_folder": str(BROKER_DIR / "control"),
        "polling_interval": 0.05,
    }
elif CELERY_BROKER_URL.startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        # What a dead worker took comes again after this; the sweeper rings within seconds. What a living one works on
        # longer comes again too, and finds the run taken.
        "visibility_timeout": 3600,
        "socket_connect_timeout": 2,  # a launch must not wait for a broker that is gone
        "socket_timeout": 30,
        "socket_keepalive": True,
        "retry_on_timeout": True,
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # however long it is away
CELERY_BROKER_CONNECTION_TIMEOUT = 2
CELERY_TASK_DEFAULT_QUEUE = "benchwright"  # other programs may share the broker
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False  # the lease says whose work it is, not the broker
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_IMPORTS = ["runs.jobs"]
LEASE_SECONDS = env.number("BENCHWRIGHT_LEASE_SECONDS", 15, least=0.5)
SWEEP_SECONDS = env.number("BENCHWRIGHT_SWEEP_SECONDS", min(2.0, LEASE_SECONDS / 2), least=0.1)
LIMIT_CHECK_SECONDS = env.number("BENCHWRIGHT_LIMIT_CHECK_SECONDS", 2, least=0.1)

# --- Gateway and sandbox ---
# Started by root, gateway and egress become the first user, all other parts the second (serve/walls). 0: neither.
VAULT_UID = env.count("BENCHWRIGHT_VAULT_UID", 60580)
HOUSE_UID = env.count("BENCHWRIGHT_HOUSE_UID", 60581)
GATEWAY_PEER = env.count("BENCHWRIGHT_GATEWAY_PEER", 0)  # the uid and gid, besides its own, that may call the gateway
GATEWAY_SOCKET = env.text("BENCHWRIGHT_GATEWAY_SOCKET", str(RUN_DIR / "gateway.sock"))
EGRESS_SOCKET = env.text("BENCHWRIGHT_EGRESS_SOCKET", str(RUN_DIR / "egress.sock"))
GATEWAY_JOURNAL_DIR = Path(env.text("BENCHWRIGHT_JOURNAL_DIR", str(DATA_DIR / "journal")))
KEYS_DIR = DATA_DIR / "keys"
EGRESS_CERTIFICATE = KEYS_DIR / "egress_public"  # what sandboxes trust
EGRESS_AUTHORITY = env.text(
    "BENCHWRIGHT_EGRESS_AUTHORITY", str(KEYS_DIR / "egress_private")
)  # what the proxy signs with
EGRESS_ENVIRONMENT = env.text("BENCHWRIGHT_EGRESS_ENVIRONMENT", str(BASE_DIR / ".venv-egress"))
ARTIFACTS_DIR = Path(env.text("BENCHWRIGHT_ARTIFACTS_DIR", str(DATA_DIR / "artifacts")))  # shared by web and workers
SNAPSHOTS_DIR = Path(env.text("BENCHWRIGHT_SNAPSHOTS_DIR", str(DATA_DIR / "snapshots")))  # fetched rows
RUNTIME_DIR = Path(env.text("BENCHWRIGHT_RUNTIME_DIR", str(DATA_DIR / "runtime")))
UNSAFE_LOCAL = env.flag("BENCHWRIGHT_UNSAFE_LOCAL")

# --- Where rows come from ---
HUGGINGFACE_URL = env.text("BENCHWRIGHT_HUGGINGFACE_URL", "https://huggingface.co").rstrip("/")
DATASETS_SERVER_URL = env.text("BENCHWRIGHT_DATASETS_SERVER_URL", "https://datasets-server.huggingface.co").rstrip("/")
# Written in parts, as in secrets_vault.host_policy.builtin.
PACKAGE_INDEX_URL = env.text(
    "BENCHWRIGHT_PACKAGE_INDEX_URL", "https://" + ".".join(("py" + "pi", "org")) + "/simple"
).rstrip("/")
SOURCE_BYTES = env.count("BENCHWRIGHT_SOURCE_MB", 256) << 20  # of one file, and of what is unpacked from it
SOURCE_ROWS = env.count("BENCHWRIGHT_SOURCE_ROWS", 100_000)

# --- Limits of the doors ---
BODY_LIMIT_BYTES = 1 << 20
ROWS_BODY_LIMIT_BYTES = 32 << 20
DATA_UPLOAD_MAX_MEMORY_SIZE = ROWS_BODY_LIMIT_BYTES
# Requests a minute under /v1: of one token, of all tokens of an account, of one address without a token. 0: no limit.
RATE_TOKEN = env.count("BENCHWRIGHT_RATE_TOKEN", 6000)
RATE_ACCOUNT = env.count("BENCHWRIGHT_RATE_ACCOUNT", 12_000)
RATE_ADDRESS = env.count("BENCHWRIGHT_RATE_ADDRESS", 1200)
MAX_ACTIVE_RUNS = env.count("BENCHWRIGHT_MAX_ACTIVE_RUNS", 1000)  # of one account; 0: no limit
MAX_STREAMS = env.count("BENCHWRIGHT_MAX_STREAMS", 100)  # of one account in one web process; 0: no limit
APPEND_SLASH = False

# --- Logs ---
# One JSON line per request, failure or sign-in on standard error; whoever runs the process keeps or forwards it.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"bare": {"format": "%(message)s"}, "lines": {"()": "benchwright_site.logs.JsonLines"}},
    "handlers": {
        "requests": {"class": "logging.StreamHandler", "formatter": "bare"},  # JSON already
        "lines": {"class": "logging.StreamHandler", "formatter": "lines"},
    },
    "loggers": {
        "benchwright.requests": {"handlers": ["requests"], "level": "INFO", "propagate": TESTING},
        "benchwright.security": {"handlers": ["lines"], "level": "INFO", "propagate": TESTING},
        "benchwright.errors": {"handlers": ["lines"], "level": "WARNING", "propagate": TESTING},
        "django.request": {"level": "ERROR"},  # refusals have their line already
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}
