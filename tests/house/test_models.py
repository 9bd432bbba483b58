"""Foreign keys go down the house, as imports do; a string in a key hides from an import linter."""

from django.apps import apps
from django.db.migrations.loader import MigrationLoader

STOREYS = {"contenttypes": 0, "auth": 0, "accounts": 1, "secrets_vault": 2, "registry": 2, "runs": 3}


def test_it_points_foreign_keys_downwards_only() -> None:
    wrong = []
    for label in ("accounts", "secrets_vault", "registry", "runs"):
        for model in apps.get_app_config(label).get_models():
            for field in model._meta.get_fields():
                target = field.related_model
                if field.auto_created or target is None or isinstance(target, str):
                    continue
                other = target._meta.app_label
                if other != label and STOREYS.get(other, 9) >= STOREYS[label]:
                    wrong.append(f"{model.__name__}.{field.name} -> {target.__name__}")
    assert not wrong


def test_a_later_migration_locks_one_table_at_a_time() -> None:
    """Old workers insert meanwhile: two tables that are altered in one transaction are a deadlock with them."""
    loader = MigrationLoader(None)
    for label in ("accounts", "secrets_vault", "registry", "runs"):
        names = sorted(name for room, name in loader.disk_migrations if room == label)
        assert names[0] == "0001_initial"
        for number, name in enumerate(names, start=1):
            assert name.startswith(f"{number:04}_"), "one line, without branches"
            assert "auto" not in name, "named by intent"
            later = loader.disk_migrations[label, name]
            assert number == 1 or len(later.operations) == 1 or not later.atomic, name
