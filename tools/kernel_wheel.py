"""Pack the kernel of `make kernel` for users who do not build it: `python tools/kernel_wheel.py SOURCE DIST`.

It writes two files to the directory DIST. The wheel `aqmlab-kernel` has the stripped kernel and its engine. The kernel
is under GPL-2.0: the archive beside the wheel has its complete source, which is SOURCE and the directory `kernel`. The
licence asks that both are offered in the same place.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import licences
from aqmlab import __version__
from aqmlab.cells import kernel

ROOT = Path(__file__).parents[1]
PACKAGE = kernel.PACKAGE

VERSION = __version__.partition("+")[0]

METADATA = f"""\
Metadata-Version: 2.4
Name: {PACKAGE.replace("_", "-")}
Version: {VERSION}
Summary: The Linux kernel in virtual time, for aqmlab
License-Expression: GPL-2.0-only AND MIT AND Zlib
License-File: COPYING
License-File: licences.txt
Requires-Python: >=3.11
Requires-Dist: aqmlab=={VERSION}
Description-Content-Type: text/markdown

"""

SOURCE_NOTE = """
## Source

This package has the kernel as a program, Linux {release}.
Its complete source, with all scripts of the build, is the file `{archive}`, which is offered beside this package.
To build it: `sh kernel/build {source} linux-aqmlab`.
"""

COMPRESSION_LEVEL = 9


def main(source: Path, dist: Path) -> Iterator[Path]:
    """Write the wheel and the archive of the source, and yield their paths."""
    dist.mkdir(parents=True, exist_ok=True)
    archive = dist / f"{PACKAGE}-{VERSION}-source.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(source, source.name, filter=_nobody)
        tar.add(ROOT / "kernel", "kernel", filter=_nobody)
    yield archive
    with tempfile.TemporaryDirectory() as folder:
        engine = Path(folder, kernel.ENGINE.name)
        subprocess.run(["strip", "-o", engine, kernel.ENGINE], check=True)
        yield _write_wheel(dist, engine, note=SOURCE_NOTE, archive=archive.name, source=source.name)


def _write_wheel(dist: Path, engine: Path, *, note: str, archive: str, source: str) -> Path:
    tag = f"py3-none-manylinux_2_{_glibc([kernel.PROGRAM, engine])}_x86_64"
    about = (ROOT / "kernel/README.md").read_text(encoding="utf-8")
    note = note.format(release=kernel.release(), archive=archive, source=source)
    info = f"{PACKAGE}-{VERSION}.dist-info"
    files: dict[str, bytes] = {
        f"{PACKAGE}/__init__.py": b'"""The Linux kernel in virtual time, which aqmlab runs."""\n',
        **{f"{PACKAGE}/{file.name}": file.read_bytes() for file in (kernel.PROGRAM, kernel.RELEASE, engine)},
        f"{info}/licenses/COPYING": (ROOT / "kernel/LICENSE").read_bytes(),
        f"{info}/licenses/licences.txt": licences.text(["aqmlab-kernel"], []).encode(),
        f"{info}/METADATA": (METADATA + about + note).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: aqmlab\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    }
    record = f"{info}/RECORD"
    files[record] = "".join([*map(_recorded, files, files.values()), f"{record},,\n"]).encode()
    wheel = dist / f"{PACKAGE}-{VERSION}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL) as packed:
        for name, content in files.items():
            # The same bytes in every build; a program stays one.
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if name == f"{PACKAGE}/{kernel.PROGRAM.name}" else 0o100644) << 16
            packed.writestr(entry, content, zipfile.ZIP_DEFLATED, COMPRESSION_LEVEL)
    return wheel


def _recorded(name: str, content: bytes) -> str:
    """Return a file's line of RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def _glibc(programs: list[Path]) -> int:
    """Return the minor version of the oldest glibc that runs these programs."""
    symbols = subprocess.run(["objdump", "-T", *programs], check=True, capture_output=True, text=True).stdout
    return max(int(minor) for minor in re.findall(r"\(GLIBC_2\.(\d+)", symbols))


def _nobody(file: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out the owner and the time."""
    file.uid = file.gid = file.mtime = 0
    file.uname = file.gname = ""
    return file


if __name__ == "__main__":
    for path in main(Path(sys.argv[1]), Path(sys.argv[2])):
        print(path)
