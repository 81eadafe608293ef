"""The download of a trace, from a server on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from threading import Thread

import pytest

from conftest import Command

CONTENT = b"1\n2\n4\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "lte.up").write_bytes(CONTENT)
    with HTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path / "public"))) as httpd:
        thread = Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


def test_a_file_with_the_checksum_is_written_once(server: str, aqmlab: Command, tmp_path: Path) -> None:
    target = tmp_path / "lte.up"
    arguments = ("trace", "fetch", f"{server}/lte.up", str(target), "--sha256", SHA256.upper())
    assert aqmlab(*arguments).out == f"{target}: downloaded\n"
    assert target.read_bytes() == CONTENT
    (tmp_path / "public" / "lte.up").unlink()
    assert aqmlab(*arguments).out == f"{target}: is there already\n"


def test_other_content_is_refused_and_not_written(server: str, aqmlab: Command, tmp_path: Path) -> None:
    outcome = aqmlab("trace", "fetch", f"{server}/lte.up", str(tmp_path / "lte.up"), "--sha256", "0" * 64)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert f"must have the checksum {'0' * 64}, got {SHA256}" in outcome.err
    assert not (tmp_path / "lte.up").exists()


def test_another_file_of_that_name_is_not_replaced(server: str, aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "lte.up").write_text("mine")
    outcome = aqmlab("trace", "fetch", f"{server}/lte.up", str(tmp_path / "lte.up"), "--sha256", SHA256)
    assert outcome.code == 2
    assert "exists with the checksum" in outcome.err
    assert (tmp_path / "lte.up").read_text() == "mine"


@pytest.mark.parametrize(
    ("url", "sha256", "message"),
    [
        ("ftp://example.org/a", SHA256, "URL: must begin with https:// or http://, got ftp://example.org/a"),
        ("file:///etc/hosts", SHA256, "URL: must begin with"),
        ("http://127.0.0.1:9/a", "abc", "--sha256: expected 64 hexadecimal digits, got abc"),
        ("http://127.0.0.1:9/a", SHA256, "http://127.0.0.1:9/a: cannot be read: "),
    ],
)
def test_a_mistake_in_a_download_is_one_line(
    url: str, sha256: str, message: str, aqmlab: Command, tmp_path: Path
) -> None:
    outcome = aqmlab("trace", "fetch", url, str(tmp_path / "a"), "--sha256", sha256)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert message in outcome.err


def test_a_missing_page_is_one_line(server: str, aqmlab: Command, tmp_path: Path) -> None:
    outcome = aqmlab("trace", "fetch", f"{server}/none", str(tmp_path / "a"), "--sha256", SHA256)
    assert (outcome.code, "the server answered 404" in outcome.err) == (2, True)
