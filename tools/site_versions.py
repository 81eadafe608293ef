"""List the versions of the site that stand side by side: ``python tools/site_versions.py SITE``.

``SITE`` has a folder for each version. Each gets the list of all, from which its pages make a menu, and the start page
leads to the newest. The addresses are relative: the site can lie below any address, or be opened as files.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

LIST = "_static/versions.js"

_START = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={newest}/index.html">
<title>aqmlab</title>
<a href="{newest}/index.html">aqmlab {newest}</a>
</html>
"""


def versions(site: Path) -> list[str]:
    """Return the folders of versions, the newest first, and those without a number last."""
    folders = [file.parents[1].name for file in site.glob(f"*/{LIST}")]
    return sorted(folders, key=lambda name: [int(number) for number in re.findall(r"\d+", name)], reverse=True)


def write(site: Path) -> None:
    """Write the list of versions into each of them, and the start page."""
    names = versions(site)
    for name in names:
        file = site / name / LIST
        head = file.read_text(encoding="utf-8").partition("\n")[0]
        file.write_text(f"{head}\nglobalThis.siteVersions = {json.dumps(names)};\n", encoding="utf-8")
    (site / "index.html").write_text(_START.format(newest=names[0]), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
