"""The download of a public trace by its address and its SHA-256 checksum."""

from __future__ import annotations

import hashlib
import re
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path

from aqmlab._core import SpecError
from aqmlab.ui import output_files

MOST_BYTES = 256_000_000
"""The longest file that is downloaded, ours: hours of a trace of Mahimahi at 100 Mbit/s."""

_TIMEOUT_S = 30
_CHUNK_BYTES = 65_536


def fetch(url: str, file: Path, sha256: str) -> bool:
    """Download a file if its content has the checksum. Return false if it was there already.

    Parameters
    ----------
    url
        An address that begins with ``https://`` or ``http://``.
    file
        The file to write. A file with another content is not replaced.
    sha256
        The SHA-256 checksum in hexadecimal.

    Raises
    ------
    SpecError
        When the address or the checksum is not one, the server does not send the file, its content has another
        checksum, or another file has the name.
    OSError
        When the file cannot be written.
    """
    if not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise SpecError(f"--sha256: expected 64 hexadecimal digits, got {sha256}")
    if not url.startswith(("https://", "http://")):
        raise SpecError(f"URL: must begin with https:// or http://, got {url}")
    if file.exists():
        with file.open("rb") as present:
            found = hashlib.file_digest(present, "sha256").hexdigest()
        if found == sha256.lower():
            return False
        raise SpecError(f"{file}: exists with the checksum {found}, expected {sha256.lower()}")
    content = _download(url)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256.lower():
        raise SpecError(f"{url}: must have the checksum {sha256.lower()}, got {found}")
    with output_files.opened(file) as out:
        out.write(content)
    return True


def _download(url: str) -> bytes:
    content = bytearray()
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as response:
            while chunk := response.read(_CHUNK_BYTES):
                content += chunk
                if len(content) > MOST_BYTES:
                    raise SpecError(f"{url}: must have at most {MOST_BYTES:,} bytes")
    except urllib.error.HTTPError as error:
        raise SpecError(f"{url}: the server answered {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise SpecError(f"{url}: cannot be read: {error.reason}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise SpecError(f"{url}: cannot be read: {error}") from None
    return bytes(content)
