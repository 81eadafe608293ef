"""The list of versions of the site: each version has it, and the start page leads to the newest."""

from __future__ import annotations

from pathlib import Path

import site_versions

STATIC = Path(__file__).parents[2] / "docs" / "site" / "static" / "versions.js"


def test_each_version_lists_all_and_the_newest_is_first(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0", "dev"):
        (tmp_path / name / "_static").mkdir(parents=True)
        (tmp_path / name / "_static" / "versions.js").write_text(STATIC.read_text())
    (tmp_path / "other").mkdir()
    for _ in range(2):
        site_versions.write(tmp_path)
        for name in ("0.9.0", "0.10.0", "dev"):
            last = (tmp_path / name / "_static" / "versions.js").read_text().splitlines()
            assert last == [STATIC.read_text().splitlines()[0], 'globalThis.siteVersions = ["0.10.0", "0.9.0", "dev"];']
    assert 'url=0.10.0/index.html"' in (tmp_path / "index.html").read_text()
