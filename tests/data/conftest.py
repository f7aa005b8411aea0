"""What the tests of the data room share: an unreliable web server and the real data, where it is at hand."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


class UnreliableServer:
    """A local web server: `serve(path, content, fault)` offers content, perhaps faultily; `requests` counts calls."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[bytes, str]] = {}
        self.requests: list[str] = []
        self.released = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.requests.append(self.path)
                content, fault = owner.pages.get(self.path, (b"", "missing"))
                if fault == "missing":
                    self.send_error(404)
                    return
                if fault == "silent":
                    owner.released.wait(20)
                    return
                self.send_response(200)
                asked = self.headers.get("Accept-Encoding", "")
                if fault == "packs if asked" and "gzip" in asked:
                    content, fault = gzip.compress(content), "gzip header"
                if fault == "gzip header":
                    self.send_header("Content-Encoding", "gzip")
                if fault != "endless":
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if fault in ("trickling", "endless"):
                    self.send_on(content, fault)
                    return
                self.wfile.write(content[: len(content) // 2] if fault in ("cut", "stalled") else content)
                if fault == "stalled":
                    self.wfile.flush()
                    owner.released.wait(20)

            def send_on(self, content: bytes, fault: str) -> None:
                """Send byte by byte, or over and over again, until nobody listens any more."""
                part = content if fault == "endless" else content[:1]
                with suppress(OSError):
                    while not owner.released.wait(0 if fault == "endless" else 0.02):
                        self.wfile.write(part)
                        self.wfile.flush()

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def serve(self, path: str, content: bytes, fault: str = "") -> str:
        self.pages[path] = (content, fault)
        return f"http://127.0.0.1:{self.server.server_port}{path}"

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[UnreliableServer]:
    for variable in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    running = UnreliableServer()
    yield running
    running.close()


@pytest.fixture
def local_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty local data folder, named by BPD_DATA_DIR, and a short patience for downloads."""
    folder = tmp_path / "local_data"
    folder.mkdir()
    monkeypatch.setenv("BPD_DATA_DIR", str(folder))
    monkeypatch.setenv("BPD_DOWNLOAD_TIMEOUT", "0.5")
    return folder


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with real data; the test is skipped without it."""
    candidates = [os.environ.get("BPD_DATA_DIR"), Path(__file__).resolve().parents[3] / "shared" / "data"]
    for candidate in candidates:
        if candidate and (Path(candidate) / "multi30k" / "train.en.gz").is_file():
            return Path(candidate)
    pytest.skip("no real data: set BPD_DATA_DIR to a folder that holds multi30k/ and wmt/")
