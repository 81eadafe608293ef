"""The command line's start, its output streams, and its end when a pipe is closed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import aqmlab as lab
from conftest import Command

HEAVY = {"matplotlib", "numpy", "polars", "pyarrow", "rich", "scipy", "aqmlab.spec.experiment"}
"""Modules that are too slow to import for help. typer reads commands' options with pydantic."""

SHORT = ("compare", "droptail", "--users", "20", "--warmup", "1 s", "--duration", "2 s", "--seeds", "1")


def command(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, so that its streams are real ones."""
    return subprocess.run(
        [sys.executable, "-m", "aqmlab", *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def imported_by(arguments: list[str], cwd: Path) -> set[str]:
    """Run a command in a process of its own and return what it has imported."""
    script = (
        "import sys, atexit\n"
        f"sys.argv = ['aqmlab', *{arguments!r}]\n"
        "atexit.register(lambda: print('imported:', *sys.modules, file=sys.stderr))\n"
        "from aqmlab.cli.main import main\n"
        "main()"
    )
    process = subprocess.run([sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True, check=True)
    imported = set(process.stderr.rpartition("imported:")[2].split())
    assert "aqmlab.cli.main" in imported
    return imported


@pytest.mark.parametrize("arguments", [["--help"], ["compare", "--help"], ["--version"]])
def test_help_waits_for_nothing_that_takes_long(tmp_path: Path, arguments: list[str]) -> None:
    imported = imported_by(arguments, tmp_path)
    assert imported.isdisjoint(HEAVY | {"pydantic"} if arguments == ["--help"] else HEAVY)


def test_runs_and_figures_do_without_pandas(tmp_path: Path) -> None:
    imported = imported_by([*SHORT, "--out", str(tmp_path / "out")], tmp_path)
    assert "matplotlib" in imported
    assert "pandas" not in imported


def test_the_package_exports_its_names_in_any_import_order() -> None:
    script = (
        "import aqmlab.explanations.timeline, aqmlab.results.compare, aqmlab.running.run\n"
        "import aqmlab as lab\n"
        "assert callable(lab.compare) and callable(lab.run) and callable(lab.explain)\n"
        "assert all(hasattr(lab, name) for name in lab.__all__)\n"
        "assert lab.design.pi and lab.__version__ and not hasattr(lab, 'nothing')"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_module_among_the_commands_is_a_command(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (module,) = re.findall(r"^```python hello.py\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    (tmp_path / "hello.py").write_text(module)
    script = (
        "import sys\n"
        "from aqmlab.cli import commands\n"
        f"commands.__path__.append({str(tmp_path)!r})\n"
        "from aqmlab.cli.main import main\n"
        "sys.argv = ['aqmlab', 'hello', 'pi']\n"
        "main()"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout == "pi decides at enqueue\n"


def test_the_version_is_told(aqmlab: Command) -> None:
    outcome = aqmlab("--version")
    assert outcome.code == 0
    assert outcome.out.startswith(f"aqmlab {lab.__version__}")


def test_the_help_of_console_offers_no_url(aqmlab: Command) -> None:
    assert "URL" not in aqmlab("console", "--help").out
    outcome = aqmlab("console", "s3://bucket/results")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "must be a results directory on this machine" in outcome.err


def test_h_is_help(aqmlab: Command) -> None:
    for arguments in ([], ["compare"], ["design", "pi"], ["aqm", "list"]):
        assert aqmlab(*arguments, "-h").out == aqmlab(*arguments, "--help").out != ""


def test_help_fits_80_columns_and_summaries_are_whole(aqmlab: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    everything = aqmlab("--help").out
    assert "..." not in everything.partition("Commands:")[2]
    assert all(len(line) <= 80 for line in everything.splitlines())
    for name in re.findall(r"^  (\w+)  ", everything.partition("Commands:")[2], re.MULTILINE):
        assert all(len(line) <= 80 for line in aqmlab(name, "--help").out.splitlines())


@pytest.mark.parametrize("arguments", [[], ["aqm"], ["design"]])
def test_a_command_without_arguments_shows_help_and_exits_with_2(aqmlab: Command, arguments: list[str]) -> None:
    outcome = aqmlab(*arguments)
    assert outcome.code == 2
    assert "Commands:" in outcome.out + outcome.err
    assert "aqmlab: " not in outcome.err


def test_completion_offers_commands_and_options(tmp_path: Path) -> None:
    def offered(words: str, word: int) -> list[str]:
        process = command(cwd=tmp_path, _AQMLAB_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(word))
        return process.stdout.split()

    assert "compare" in offered("aqmlab co", 1)
    assert "--seeds" in offered("aqmlab compare --se", 2)


def test_completion_is_installed_by_one_command(tmp_path: Path) -> None:
    # Whose shell this is would be looked up among the parents of the process, of which a test may have none.
    shell = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    process = command("--install-completion", "bash", cwd=tmp_path, **shell)
    assert process.returncode == 0, process.stderr
    assert "completion" in (tmp_path / ".bashrc").read_text()


def test_quiet_prints_only_results_and_verbose_a_line_per_cell(aqmlab: Command) -> None:
    table = aqmlab(*SHORT, "--quiet")
    assert table.err == ""
    assert "droptail" in table.out
    assert (
        "droptail at 0.212 % load: 20 users on each side, uniform RTT, seed 1: "
        in aqmlab(*SHORT, "-v", "--out", "second").err
    )
    assert "seed 1" not in aqmlab(*SHORT, "--out", "once more").err
    assert aqmlab(*SHORT, "-q", "-v").err == "aqmlab: --quiet: cannot be with --verbose\n"


def test_a_log_has_all_that_is_said_with_times(aqmlab: Command, tmp_path: Path) -> None:
    aqmlab(*SHORT, "--quiet", "--log", "log")
    aqmlab("compare", "green", "--log", "log")
    lines = (tmp_path / "log").read_text().splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (DEBUG|INFO|ERROR) ", line) for line in lines)
    assert sum("seed 1: " in line for line in lines) == 2, "one for each cell"
    assert "no discipline is called 'green'" in lines[-1]
    refusal = aqmlab(*SHORT, "--log", "nowhere/log")
    assert refusal.code == 2
    assert refusal.err.startswith("aqmlab: --log: must be a file that can be written, got nowhere/log")


@pytest.mark.slow
def test_a_locale_without_our_characters_is_written_to_plainly(tmp_path: Path) -> None:
    posix = {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}
    compared = command(*SHORT[:-1], "2", "--no-figures", cwd=tmp_path, **posix)
    assert compared.returncode == 0, compared.stderr
    assert "+-" in compared.stdout
    for arguments in (["aqm", "show", "red"], ["show", str(Path(__file__).parents[2] / "examples" / "gfc2.toml")]):
        process = command(*arguments, cwd=tmp_path, **posix)
        assert process.returncode == 0, process.stderr
        assert process.stdout.isascii()


@pytest.mark.parametrize("arguments", [["aqm", "list"], ["aqm", "list", "--json"], ["--help"], ["--version"]])
def test_a_full_disk_is_one_line_and_a_closed_pipe_none(tmp_path: Path, arguments: list[str]) -> None:
    command_line = [sys.executable, "-m", "aqmlab", *arguments]
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(command_line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (process.returncode, process.stderr) == (
        1,
        "aqmlab: standard output: cannot be written: No space left on device\n",
    )
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(command_line, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (process.returncode, process.stderr) == (1, "")


def test_an_interrupt_says_what_is_kept_in_one_line(tmp_path: Path) -> None:
    command_line = [sys.executable, "-m", "aqmlab", "compare", "--users", "9330", "--workers", "1", "-v", "pi"]
    with subprocess.Popen(command_line, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert "cells" in first
    assert process.returncode == 130
    assert rest == "aqmlab: interrupted; 0 of 6 cells are in the store; run the command again to resume\n"


def test_a_figure_that_was_asked_for_is_named(aqmlab: Command, tmp_path: Path) -> None:
    gfc2 = str(Path(__file__).parents[2] / "examples" / "gfc2.toml")
    assert aqmlab("show", gfc2, "--figure", "a.svg", "--json").err == "a.svg\n"
    pi = ("design", "pi", "--rate", "100 Mbit/s", "--flows", "400", "--rtt-max", "200 ms")
    assert aqmlab(*pi, "--figure", "b.svg").err == "b.svg\n"
    assert aqmlab(*pi, "--figure", "c.svg", "--quiet").err == ""
    assert {file.name for file in tmp_path.iterdir()} == {"a.svg", "b.svg", "c.svg"}
