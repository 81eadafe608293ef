"""Files that a user names: a device or a pipe is written into, a link followed, a file replaced as a whole."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from aqmlab.ui import output_files
from conftest import Command


def write(file: Path, content: bytes = b"new") -> None:
    with output_files.opened(file) as out:
        out.write(content)


@pytest.fixture
def pipe(tmp_path: Path) -> tuple[Path, Callable[[], bytes]]:
    """A pipe, and what its reader has got in the end."""
    os.mkfifo(file := tmp_path / "pipe.pcap")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(file.read_bytes()), daemon=True)
    reader.start()

    def end() -> bytes:
        reader.join(60)
        return got[0]

    return file, end


def test_a_pipe_is_written_into_and_stays_one(pipe: tuple[Path, Callable[[], bytes]]) -> None:
    file, end = pipe
    output_files.check(file)
    write(file)
    assert end() == b"new"
    assert stat.S_ISFIFO(file.stat().st_mode)


def test_a_device_is_written_into_and_stays_one() -> None:
    output_files.check(Path("/dev/null"))
    write(Path("/dev/null"))
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(OSError, match="No space left") as error:
        write(Path("/dev/full"))
    assert error.value.filename == "/dev/full"


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_followed_and_stays_one(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "there").mkdir()
    aim, link = tmp_path / "there" / "aim", tmp_path / "link"
    if exists:
        aim.write_text("old")
    link.symlink_to("there/aim")
    output_files.check(link)
    write(link)
    assert link.is_symlink()
    assert aim.read_bytes() == b"new"
    assert list(aim.parent.iterdir()) == [aim]


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o640)

    def fail() -> None:
        with output_files.opened(file) as out:
            out.write(b"half")
            out.flush()
            assert file.read_text() == "old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert file.read_text() == "old"
    write(file)
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["", "no/where", "a" * 300])
def test_a_place_that_cannot_be_written_is_known_before(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    for attempt in (output_files.check, write):
        with pytest.raises(OSError) as error:  # noqa: PT011 - which one depends on the place
            attempt(file)
        assert error.value.filename == str(file)
    assert list(tmp_path.iterdir()) == []


SPEC = "[users]\nper_side = 5\n[protocol]\nwarmup = '0 s'\nduration = '1 s'\n"


def test_the_commands_write_into_pipes(aqmlab: Command, tmp_path: Path, pipe: tuple[Path, Callable[[], bytes]]) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    file, end = pipe
    assert aqmlab("run", "spec.toml", "--pcap", str(file)).code == 0
    assert end().startswith(b"\x0a\x0d\x0d\x0a")
    assert stat.S_ISFIFO(file.stat().st_mode)
    assert aqmlab("run", "spec.toml", "--pcap", "/dev/null").code == 0
    full = aqmlab("run", "spec.toml", "--pcap", "/dev/full")
    assert (full.code, full.out) == (2, "")
    assert full.err.endswith(
        "aqmlab: pcap.file: must be a file that can be written, got /dev/full (No space left on device)\n"
    )
    os.mkfifo(log := tmp_path / "log")
    reader = threading.Thread(target=lambda: log.read_bytes(), daemon=True)
    reader.start()
    assert aqmlab("ls", "--log", "log").code == 0
    assert stat.S_ISFIFO(log.stat().st_mode)


def test_a_table_goes_where_it_can_or_is_refused_first(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text("set = ['users.per_side=5', 'protocol.duration=1 s', 'protocol.warmup=0 s']")
    outcome = aqmlab("sweep", "grid.toml", "--seeds", "1", "--table", "nowhere/x.csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "aqmlab: --table: must be a file that can be written, got nowhere/x.csv (No such file or directory)\n"
    )
    assert not (tmp_path / "results").exists()
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "x.csv").symlink_to("y.csv")
    assert aqmlab("sweep", "grid.toml", "--seeds", "1", "--table", "x.csv").code == 0
    assert (tmp_path / "x.csv").is_symlink()
    assert (tmp_path / "y.csv").read_text().startswith("seed,cell,state")
