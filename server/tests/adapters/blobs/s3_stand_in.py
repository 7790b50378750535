"""The few operations of S3 that a store of objects needs, on loopback; signatures are not checked."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree as Xml

_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_TIME = "2026-01-01T00:00:00.000Z"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, bucket: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = f"/{bucket}"
        self.objects: dict[str, bytes] = {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _key(self) -> str:
        return unquote(urlsplit(self.path).path).removeprefix(self.server.root).strip("/")

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def do_PUT(self) -> None:
        body = self._body()
        self.server.objects[self._key()] = body
        self._send(200, etag=_etag(body))

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        if "list-type" in asked:
            self._send(200, self._listed(asked.get("prefix", [""])[0]))
        elif (data := self.server.objects.get(self._key())) is not None:
            self._send(200, data, etag=_etag(data))
        else:
            self._send(404, b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>")

    do_HEAD = do_GET

    def do_DELETE(self) -> None:
        self.server.objects.pop(self._key(), None)
        self._send(204)

    def do_POST(self) -> None:
        result = Xml.Element("DeleteResult", xmlns=_NAMESPACE)
        for found in Xml.fromstring(self._body()).iter():
            if found.tag.endswith("Key"):
                self.server.objects.pop(found.text or "", None)
                Xml.SubElement(Xml.SubElement(result, "Deleted"), "Key").text = found.text
        self._send(200, Xml.tostring(result))

    def _listed(self, prefix: str) -> bytes:
        result = Xml.Element("ListBucketResult", xmlns=_NAMESPACE)
        Xml.SubElement(result, "IsTruncated").text = "false"
        for key, data in sorted(self.server.objects.items()):
            if key.startswith(prefix):
                entry = Xml.SubElement(result, "Contents")
                for name, text in (("Key", key), ("LastModified", _TIME), ("Size", str(len(data)))):
                    Xml.SubElement(entry, name).text = text
                Xml.SubElement(entry, "ETag").text = _etag(data)
        return Xml.tostring(result)

    def _send(self, status: int, data: bytes = b"", etag: str | None = None) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.send_header("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        if etag:
            self.send_header("etag", etag)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


def _etag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()[:32]}"'


@contextmanager
def s3_stand_in(bucket: str) -> Iterator[str]:
    """The address of a stand-in that holds one empty bucket."""
    server = _Server(bucket)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
