"""The package of the kernel: pip installs it, aqmlab finds it, and the source that GPL-2.0 asks for is beside it."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import tarfile
from importlib.metadata import Distribution
from pathlib import Path

import pytest

import kernel_wheel
from aqmlab.cells import kernel

needs_kernel = pytest.mark.skipif(not kernel.ENGINE.exists(), reason="the kernel is not built: make kernel")

FIND = f"""
from pathlib import Path
from aqmlab.cells import kernel
print(kernel._installed(Path("nowhere", kernel.PROGRAM.name)))
print(kernel._installed(Path({str(kernel.PROGRAM)!r})))
"""
"""A program that asks for the kernel's path where none is built, and where one is."""


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the archive of the source, and the directory of the installed package."""
    folder = tmp_path_factory.mktemp("packed")
    source = folder / "linux-6.12.tar.xz"
    source.write_bytes(b"the kernel's source")
    archive, wheel = kernel_wheel.main(source, folder / "dist")
    site = folder / "site"
    command = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run([sys.executable, *command], check=True)
    return archive, site


@needs_kernel
def test_an_installed_kernel_is_found_unless_one_is_built(packed: tuple[Path, Path]) -> None:
    _, site = packed
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-c", FIND]
    shown = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    program = site / kernel.PACKAGE / kernel.PROGRAM.name
    assert shown.splitlines() == [str(program), str(kernel.PROGRAM)]
    assert os.access(program, os.X_OK)
    assert program.with_suffix(".release").read_text().strip() == kernel.release()
    assert program.with_suffix(".engine").stat().st_size <= kernel.ENGINE.stat().st_size


@needs_kernel
def test_the_package_names_its_licences_its_source_and_aqmlab(packed: tuple[Path, Path]) -> None:
    archive, site = packed
    (info,) = site.glob("*.dist-info")
    package = Distribution.at(info)
    assert package.metadata["Name"] == "aqmlab-kernel"
    assert package.requires == [f"aqmlab=={package.version}"]
    assert archive.name in package.metadata["Description"]
    assert "GNU GENERAL PUBLIC LICENSE" in (info / "licenses/COPYING").read_text()
    assert "foldhash" in (info / "licenses/licences.txt").read_text()
    # pip compares no digests of a file that it has just unpacked.
    hashed = [file for file in package.files or () if file.hash and not str(file).startswith("..")]
    assert len(hashed) > 6
    for file in hashed:
        digest = hashlib.sha256(file.read_binary()).digest()
        assert file.hash is not None
        assert file.hash.value == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@needs_kernel
def test_the_archive_has_the_source_and_the_scripts_of_the_build(packed: tuple[Path, Path]) -> None:
    archive, _ = packed
    with tarfile.open(archive) as tar:
        names = tar.getnames()
        assert {tar.getmember(name).uid for name in names} == {0}
    assert {"linux-6.12.tar.xz", "kernel/build", "kernel/config", "kernel/edit", "kernel/um/device.c"} <= set(names)
