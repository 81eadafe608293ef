"""The five jobs of users give what the user needs, from directories without anything but the scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl

JOBS = Path(__file__).parents[2] / "examples" / "jobs"


def run_job(job: str, directory: Path, *arguments: str) -> str:
    """Run a job with two seeds in a directory, and return what it prints."""
    script = JOBS / job
    command = [sys.executable, str(script)] if script.suffix == ".py" else ["bash", str(script)]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "SEEDS": "2",
        "COLUMNS": "200",
    }
    run = subprocess.run(
        [*command, *arguments], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_thesis_has_its_table_figures_and_parameters(tmp_path: Path) -> None:
    output = run_job("thesis/job.sh", tmp_path)
    table = (tmp_path / "thesis.tex").read_text()
    assert "\\toprule" in table
    assert all(f"ramp:Ramp & {measure}" in table for measure in ("call one-way p99", "delay p99 reverse"))
    assert list((tmp_path / "figures").glob("*.svg"))
    assert "on fresh seeds" in output


def test_an_isp_reads_the_delay_of_a_game_from_one_table(tmp_path: Path) -> None:
    run_job("household/job.sh", tmp_path)
    table = pl.read_csv(tmp_path / "household.csv").filter(measure="game up one-way p99")
    delay_ms = dict(table.select("scheme", "mean").iter_rows())
    # 780 kB at 25 Mbit/s are 250 ms; a queue for each flow keeps the game apart from the upload.
    assert delay_ms["modem"] > 200
    assert delay_ms["SQM"] < 15
    assert delay_ms["SQM"] < delay_ms["L4S"] < delay_ms["DOCSIS-PIE"]
    assert "<html" in (tmp_path / "household.html").read_text()


def test_shares_of_tcps_are_read_without_opening_a_cell(tmp_path: Path) -> None:
    run_job("tcps/job.sh", tmp_path)
    table = pl.read_csv(tmp_path / "tcps.csv")
    assert table.height == 18 * 2
    share = pl.col("second goodput") / (pl.col("first goodput") + pl.col("second goodput"))
    shares = table.with_columns(share.alias("share")).filter(pl.col("link.rate") == "100 Mbit/s")
    mean = pl.col("share").mean()
    # BBR takes more than CUBIC from a shallow buffer, and flow queueing evens that out.
    bbr_shares = dict(shares.filter(pl.col("tcp.mix[0].congestion") == "bbr").group_by("scheme").agg(mean).iter_rows())
    assert bbr_shares["droptail:limit=256 kB"] > 0.55
    assert abs(bbr_shares["fq_codel"] - 0.5) < 0.05
    # Somebody else who has the results alone finds the same in them.
    output = run_job("others/analysis.py", tmp_path, "results")
    assert "36 cells of 6 experiments, results" in output
    assert "They differ in: label, rate_mbps, rate_back_mbps, congestion" in output
    assert output.count("┆ second ") == 18


def test_a_lecture_has_its_pictures_and_numbers(tmp_path: Path) -> None:
    output = run_job("lecture/bufferbloat.py", tmp_path)
    assert all((tmp_path / f"{name}.svg").stat().st_size > 10_000 for name in ("queue", "response-times"))
    assert "delay p99 internet→home" in output
