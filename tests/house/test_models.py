"""Foreign keys go down the house, as imports do; a string in a key hides from an import linter."""

from django.apps import apps

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


def test_it_has_one_first_migration_per_room() -> None:
    for label in ("accounts", "secrets_vault", "registry", "runs"):
        from_files = sorted(p.name for p in (apps.get_app_config(label).path and __import__("pathlib").Path(
            apps.get_app_config(label).path) / "migrations").glob("0*.py"))  # fmt: skip
        assert from_files == ["0001_initial.py"], label
