"""The default number of workers: the processors that this process may use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aqmlab.running.machine import cpus


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)


def _system(root: Path, cgroup: str, files: dict[str, str]) -> Path:
    for name, text in {"proc/self/cgroup": cgroup, **files}.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


@pytest.mark.usefixtures("eight")
@pytest.mark.parametrize(
    ("cgroup", "files", "usable"),
    [
        pytest.param("", {}, 8, id="no groups"),
        pytest.param("0::/\n", {"sys/fs/cgroup/cpu.max": "max 100000\n"}, 8, id="no quota"),
        pytest.param("0::/\n", {"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 2, id="a quota is rounded up"),
        pytest.param("0::/\n", {"sys/fs/cgroup/cpu.max": "5000 100000\n"}, 1, id="less than one"),
        pytest.param("0::/\n", {"sys/fs/cgroup/cpu.max": "9900000 100000\n"}, 8, id="more than there are"),
        pytest.param(
            "0::/jobs/ours\n",
            {
                "sys/fs/cgroup/jobs/ours/cpu.max": "max 100000\n",
                "sys/fs/cgroup/jobs/cpu.max": "300000 100000\n",
            },
            3,
            id="a group around ours",
        ),
        pytest.param("0::/seen/outside\n", {"sys/fs/cgroup/cpu.max": "400000 100000\n"}, 4, id="a container's root"),
        pytest.param(
            "5:memory:/x\n4:cpu,cpuacct:/x\n",
            {
                "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "200000\n",
                "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n",
            },
            2,
            id="version 1",
        ),
        pytest.param(
            "4:cpu,cpuacct:/x\n",
            {
                "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n",
            },
            8,
            id="version 1 without a quota",
        ),
    ],
)
def test_a_control_groups_quota_bounds_the_processors(
    tmp_path: Path, cgroup: str, files: dict[str, str], usable: int
) -> None:
    assert cpus.available_cpus(_system(tmp_path, cgroup, files)) == usable


def test_affinity_bounds_the_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3}, raising=False)
    assert cpus.available_cpus(tmp_path) == 1


def test_processor_time_includes_living_and_ended_descendants() -> None:
    burn = "import time\nwhile time.process_time() < 0.2: pass\n"
    stays = burn + "print(flush=True)\ntime.sleep(60)\n"
    start = "import subprocess, sys\n"
    script = f"{start}subprocess.run([sys.executable, '-c', {burn!r}])\n"
    script += f"subprocess.Popen([sys.executable, '-c', {stays!r}])\n{stays}"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.stdout
            process.stdout.readline()
            process.stdout.readline()
            # Each of the three has taken 0.2 s, of which a clock tick at each start and end may be lost.
            assert 0.5 <= cpus.tree_cpu_s(process.pid) < 60
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_processor_time_of_a_process_that_is_gone_is_zero(tmp_path: Path) -> None:
    assert cpus.tree_cpu_s(1, tmp_path) == 0
