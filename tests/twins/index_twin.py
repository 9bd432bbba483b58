"""A twin of a package index: its pages in both forms, and wheels that are real zip archives."""

import hashlib
import io
import json
import zipfile

from tests.twins.hosts_twin import Hosts, Seen, answer

INDEX, FILES = "index.test", "files.index.test"


def wheel(name: str, version: str, files: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
        archive.writestr(f"{name}-{version}.dist-info/METADATA", f"Name: {name}\nVersion: {version}\n")
    return held.getvalue()


class IndexTwin:
    """``html``: it knows only the old form of pages."""

    def __init__(self, hosts: Hosts) -> None:
        self.wheels: dict[str, dict[str, bytes]] = {}  # package -> file name -> bytes
        self.html = False
        self.lies = False  # the hashes on its pages are those of something else
        for host in (INDEX, FILES):
            if host not in hosts.ports:
                hosts.add(host)
            hosts.scripts[host, "*"] = self._answer  # type: ignore[assignment]

    def publish(self, name: str, version: str, files: dict[str, bytes], tag: str = "py3-none-any") -> None:
        folded = name.replace("-", "_")
        self.wheels.setdefault(name, {})[f"{folded}-{version}-{tag}.whl"] = wheel(folded, version, files)

    def _answer(self, seen: Seen) -> bytes:
        name = seen.path.strip("/").split("/")[-1]
        if seen.host == FILES:
            found = next((each[name] for each in self.wheels.values() if name in each), None)
            return answer(found) if found is not None else answer(b"gone", status="404 Not Found")
        if name not in self.wheels:
            return answer(b"no such package", status="404 Not Found")
        files = [(file, f"https://{FILES}/{file}", self._hash(data)) for file, data in self.wheels[name].items()]
        if self.html or "json" not in (seen.header("accept") or ""):
            links = "".join(f'<a href="{url}#sha256={digest}">{file}</a><br/>' for file, url, digest in files)
            return answer(f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "Content-Type: text/html")
        told = [{"filename": file, "url": url, "hashes": {"sha256": digest}} for file, url, digest in files]
        body = json.dumps({"meta": {"api-version": "1.0"}, "name": name, "files": told}).encode()
        return answer(body, "Content-Type: application/vnd.index.simple.v1+json")

    def _hash(self, data: bytes) -> str:
        return hashlib.sha256(data + (b"!" if self.lies else b"")).hexdigest()
