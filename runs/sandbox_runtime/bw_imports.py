"""Two finders: one adapts a module right after it is imported, one puts off the import of large libraries."""

import sys
from collections.abc import Callable


def spec_of(name: str, busy: set):
    """What the other finders say of a module; ``busy`` keeps the one that asks out of it."""
    import importlib.util

    busy.add(name)
    try:
        return importlib.util.find_spec(name)
    finally:
        busy.discard(name)


class AfterImport:
    """A finder that lets the usual finders work and then calls what waits for the module."""

    def __init__(self) -> None:
        self.waiting: dict = {}
        self.busy: set = set()

    def find_spec(self, name, path=None, target=None):
        if name not in self.waiting or name in self.busy:
            return None
        spec = spec_of(name, self.busy)
        if spec is not None and spec.loader is not None:
            spec.loader = Adapting(spec.loader, self.waiting[name])
        return spec


class Adapting:
    """A loader that adapts what it has loaded."""

    def __init__(self, loader, adapt: Callable) -> None:
        self.loader = loader
        self.adapt = adapt

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.adapt(module)


finder = AfterImport()


def after_import(name: str, adapt: Callable) -> None:
    """Call ``adapt(module)`` once the module exists."""
    if name in sys.modules:
        adapt(sys.modules[name])
        return
    finder.waiting[name] = adapt
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)


NAMES = {"requests", "httpx", "openai"}


class Lazily:
    """A finder for the names above that puts off executing the module."""

    def __init__(self) -> None:
        self.busy: set = set()

    def find_spec(self, name, path=None, target=None):
        if name not in NAMES or name in self.busy:
            return None
        spec = spec_of(name, self.busy)
        if spec is not None and spec.loader is not None:
            import importlib.util

            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def put_off_large_ones() -> None:
    """Large libraries that only solve needs are loaded when first touched, so that the other roles start small."""
    sys.meta_path.insert(0, Lazily())


class Pattern:
    """A regular expression that is compiled when it is first used."""

    def __init__(self, *given) -> None:
        self.given = given

    def __getattr__(self, name):
        import re

        compiled = re.compile(*self.given)
        vars(self).update({each: getattr(compiled, each) for each in dir(compiled) if each[0] != "_"})
        return getattr(compiled, name)


class PuttingOffPatterns:
    """A finder for modules that spend most of their import on patterns which few programs use."""

    names = frozenset({"urllib3.util.url"})

    def __init__(self) -> None:
        self.busy: set = set()

    def find_spec(self, name, path=None, target=None):
        # While another thread runs, it could meet the changed re.compile.
        if name not in self.names or name in self.busy or len(sys._current_frames()) > 1:
            return None
        spec = spec_of(name, self.busy)
        if spec is not None and spec.loader is not None:
            spec.loader = WithPatterns(spec.loader, None)
        return spec


class WithPatterns(Adapting):
    """A loader under which re.compile compiles later."""

    def exec_module(self, module):
        import re

        module.__loader__ = module.__spec__.loader = self.loader
        compiling, re.compile = re.compile, Pattern
        try:
            self.loader.exec_module(module)
        finally:
            re.compile = compiling


def put_off_patterns() -> None:
    sys.meta_path.insert(0, PuttingOffPatterns())
