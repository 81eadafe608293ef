"""The build of the kernel: results are kept by all that they are made of."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

KERNEL = Path(__file__).parents[2] / "kernel"

MAKEFILE = """
allnoconfig olddefconfig:
\t@touch .config
linux:
\t@echo built >> {log}; cp $(firstword $(MAKEFILE_LIST)) linux
kernelrelease:
\t@echo 6.12-aqmlab.test
"""
"""Of a kernel that is built at once, and says so in a log."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel is built on Linux")


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """The build with a configuration that can be changed, and no change of the source."""
    copy = tmp_path / "kernel"
    shutil.copytree(KERNEL, copy)
    (copy / "edit").write_text("true\n")
    return copy


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The source as a tar file."""
    tree = tmp_path / "linux"
    (tree / "scripts" / "kconfig").mkdir(parents=True)
    (tree / "arch" / "um").mkdir(parents=True)
    (tree / "Makefile").write_text(MAKEFILE.format(log=tmp_path / "log"))
    merge = tree / "scripts" / "kconfig" / "merge_config.sh"
    merge.write_text("#!/bin/sh\ntouch .config\n")
    merge.chmod(0o755)
    with tarfile.open(tmp_path / "source.tar", "w") as archive:
        archive.add(tree, "linux")
    return tmp_path / "source.tar"


def build(scripts: Path, source: Path, output: Path, cache: Path | None) -> tuple[str, int]:
    """Build the kernel; return its release, and how many kernels have been built so far."""
    output.mkdir()
    environment = {
        **os.environ,
        "KERNEL_CACHE": str(cache or ""),
        "MAKEFLAGS": "",
        "PATH": f"{output}:{os.environ['PATH']}",
    }
    # Strips nothing: this kernel is no program.
    (output / "strip").write_text('#!/bin/sh\ncp "$3" "$2"\n')
    (output / "strip").chmod(0o755)
    kernel = output / "linux-aqmlab"
    subprocess.run(["sh", scripts / "build", source, kernel], env=environment, check=True)
    assert kernel.read_text() == MAKEFILE.format(log=source.with_name("log"))
    release = kernel.with_suffix(".release").read_text()
    return release, len(source.with_name("log").read_text().splitlines())


def test_a_kernel_of_the_same_files_is_built_once(scripts: Path, source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert build(scripts, source, tmp_path / "first", cache) == ("6.12-aqmlab.test\n", 1)
    assert build(scripts, source, tmp_path / "second", cache) == ("6.12-aqmlab.test\n", 1)
    with (scripts / "um" / "clock.c").open("a") as file:
        file.write("/* Another clock. */\n")
    assert build(scripts, source, tmp_path / "third", cache)[1] == 2


def test_without_a_cache_each_build_is_one(scripts: Path, source: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        assert build(scripts, source, tmp_path / str(number), None)[1] == number
