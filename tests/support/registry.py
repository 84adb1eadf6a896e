"""A registry on loopback: what an engine asks when it pulls, answered from an image of its own."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG = "application/vnd.docker.container.image.v1+json"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@dataclass
class Registry:
    """What is served: blobs and manifests by digest, and digests by tag."""

    port: int = 0
    blobs: dict[str, bytes] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def push(self, client: Any, tag: str, content: bytes) -> str:
        """Serve an image that holds one file under a tag; its digest."""
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as archive:
            entry = tarfile.TarInfo("content")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        rootfs = {"type": "layers", "diff_ids": [digest_of(layer.getvalue())]}
        machine = client.version()
        config = {"os": "linux", "architecture": machine["Arch"], "rootfs": rootfs, "config": {}}
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": self._keep(json.dumps(config).encode(), _CONFIG),
            "layers": [self._keep(gzip.compress(layer.getvalue(), mtime=0), _LAYER)],
        }
        self.tags[tag] = str(self._keep(json.dumps(manifest).encode(), _MANIFEST)["digest"])
        return self.tags[tag]

    def _keep(self, data: bytes, kind: str) -> dict[str, Any]:
        self.blobs[digest_of(data)] = data
        return {"mediaType": kind, "size": len(data), "digest": digest_of(data)}


@contextmanager
def registry() -> Iterator[Registry]:
    """A registry that is up; its port is one that engines take without encryption: loopback's."""
    served = Registry()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, _, name = self.path.removeprefix("/v2/").rpartition("/")
            digest = served.tags.get(name, name)
            data = b"{}" if self.path == "/v2/" else served.blobs.get(digest)
            self.send_response(200 if data is not None else 404)
            self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
            if data is not None and kind.endswith("manifests"):
                self.send_header("Content-Type", _MANIFEST)
                self.send_header("Docker-Content-Digest", digest)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data or b"")

        do_HEAD = do_GET  # noqa: N815 - the library's name

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
