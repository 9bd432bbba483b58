"""What the documents promise to list, they list."""

import re

from kernel.errors import PROBLEMS
from scripts.document import problems_page
from tests.house.source import ROOMS, ROOT, files, tracked

SETTING = re.compile(r"""(?:env\.(?:text|flag|number|words)\(|os\.environ(?:\.get)?[\[(])\s*f?["']([A-Z][A-Z0-9_]+)""")
OF_THE_SYSTEM = {"PATH", "HOME", "XDG_DATA_HOME", "PYTHONPATH", "DJANGO_SETTINGS_MODULE", "TMPDIR"}
# Joined here so that this file does not name them either.
REGISTRY_HOSTS = [".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("registry", "npmjs", "org"),
                  ("crates", "io"), ("proxy", "golang", "org"))]  # fmt: skip


def test_it_documents_every_setting() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    used = {name for path in files(*ROOMS) for name in SETTING.findall(path.read_text())} - OF_THE_SYSTEM
    assert len(used) > 15, "the pattern no longer finds the settings"
    missing = sorted(name for name in used if f"`{name}`" not in page and f"`{name}<NAME>" not in page)
    assert not missing


def test_it_documents_no_setting_that_is_gone() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    everything = "\n".join(path.read_text() for path in [*files(), *files("tests")])
    listed = re.findall(r"^\| `([A-Z][A-Z0-9_]+)` ", page, re.MULTILINE)
    gone = [name for name in listed if name not in everything and "<" not in name]
    assert not gone


def test_it_documents_every_problem_code() -> None:
    page = (ROOT / "docs" / "problems.md").read_text()
    assert page == problems_page(), "run `make docs`"
    assert all(f"`{code}`" in page for code in PROBLEMS)


def test_it_explains_every_problem_code() -> None:
    thin = [line for line in problems_page().splitlines() if line.startswith("| `") and line.endswith("|  |")]
    assert not thin


def test_it_names_no_package_registry() -> None:
    named = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        named += [f"{path.relative_to(ROOT)}: {host}" for host in REGISTRY_HOSTS if host in text]
    assert not named


def test_m09_it_pins_every_package_by_hash() -> None:
    for lock in (ROOT / "requirements").glob("*.lock"):
        text = lock.read_text().replace("\\\n", " ")
        loose = [
            line for line in text.splitlines() if line and not line.startswith("#") and "--hash=sha256:" not in line
        ]
        assert not loose, lock.name


def test_it_installs_the_same_server_for_users_and_developers() -> None:
    """dev.lock holds all of server.lock in the same versions: what was tested is what runs."""
    pins = {name: set(re.findall(r"^([A-Za-z0-9_.-]+==[^ ;\\]+)", (ROOT / "requirements" / f"{name}.lock").read_text(),
            re.MULTILINE)) for name in ("server", "dev")}  # fmt: skip
    assert pins["server"] <= pins["dev"]
