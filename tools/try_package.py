"""Install a built package into an empty environment and use it there: `python tools/try_package.py FILE`.

The demo has the dependencies of the core, the smoke test those of all extras. Nothing of this checkout is on the path
but the smoke test.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from aqmlab.console import third_party

ROOT = Path(__file__).parents[1]

DEMO = [
    "compare",
    "--load",
    "98",
    "--warmup",
    "5 s",
    "--duration",
    "10 s",
    "--seeds",
    "1",
    "droptail:limit=240",
    "codel",
]


LICENCES = """
import sys
from importlib.metadata import files
lacking = set(sys.argv[1:]) - {file.name for file in files("aqmlab")}
sys.exit(f"not in the package: {', '.join(sorted(lacking))}" if lacking else 0)
"""
"""Run where the package is installed: are these files of it?"""


MATERIALS = """
import json
import sys
from importlib.metadata import files
bills = [file for file in files("aqmlab") if file.name.endswith(".cyclonedx.json")]
parts = {part["name"] for bill in bills for part in json.loads(bill.read_text(encoding="utf-8"))["components"]}
lacking = {"aqmlab-sim", "etherparse", "serde_json"} - parts
sys.exit(f"not in the bill of materials: {', '.join(sorted(lacking))}" if lacking else 0)
"""
"""Run where the package is installed: does its software bill of materials name the Rust libraries?"""


def main(package: str) -> None:
    """Install and try."""
    file = Path(package).resolve(strict=True)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python, command = (Path(folder, "bin", name) for name in ("python", "aqmlab"))

        def run(*words: str | Path) -> None:
            # Without the caller's environment variables, and outside the checkout.
            subprocess.run(words, cwd=folder, check=True, env={"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": folder})

        pip = (python, "-m", "pip", "install", "--quiet")
        subprocess.run([*pip, "--require-hashes", "-r", ROOT / "requirements-core.txt"], check=True)
        subprocess.run([*pip, "--no-deps", file], check=True)
        run(command, *DEMO)
        subprocess.run([*pip, "--require-hashes", "-r", ROOT / "requirements.txt"], check=True)
        run(python, "-I", ROOT / "tests" / "project" / "smoke.py")
        # A wheel has compiled parts of others in it; who compiles a source package fetches those with their licences.
        texts = ["LICENSE-APACHE", "LICENSE-MIT", *(library.text.name for library in third_party.LIBRARIES)]
        run(python, "-I", "-c", LICENCES, *texts, *(["licences.txt"] if file.suffix == ".whl" else []))
        run(python, "-I", "-c", MATERIALS)
        if file.suffix == ".whl" and sys.platform == "linux":
            run(python, "-I", "-c", "from aqmlab.running.process import PROGRAM; assert PROGRAM.is_file(), PROGRAM")


if __name__ == "__main__":
    main(sys.argv[1])
