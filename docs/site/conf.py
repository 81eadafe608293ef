"""The documentation site, of the pages as they stand in the repository: `make docs` writes it to docs/_build/html.

Only the pages beside this file are written for Sphinx: they say what stands where.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

project = "aqmlab"
author = "the aqmlab contributors"
release = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]

extensions = ["myst_nb"]
# Notebooks are shown as `make notebooks` has left them.
nb_execution_mode = "off"
# The source directory is the repository, so that a link between two files is one here too.
root_doc = "docs/site/index"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/**/*.md",
    "docs/notebooks/*.ipynb",
    "crates/*/README.md",
    "examples/*/README.md",
    "benches/README.md",
    "benches/**/README.md",
]
exclude_patterns = ["docs/_build", "docs/studies/*-notes.md", ".venv", "target"]
myst_heading_anchors = 4

html_theme = "pydata_sphinx_theme"
html_title = "aqmlab"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["static"]
# The start page is not at the root: what is at the root leads there.
html_extra_path = ["root"]
html_css_files = ["site.css"]
html_js_files = ["versions.js", "site.js"]
html_logo = html_favicon = "../../python/aqmlab/console/static/icon.svg"
# Light or dark as the reader's machine is.
html_context = {"default_mode": "auto"}
html_theme_options = {"logo": {"text": "aqmlab"}, "secondary_sidebar_items": ["page-toc"], "show_prev_next": False}
# These pages list the pages of their section.
html_sidebars = {f"docs/site/{name}": [] for name in ("guide", "reference", "studies", "project")}


def setup(app: Any) -> None:
    """Put the explanation of each discipline, which its crate documents, into its reference page."""
    app.connect("source-read", _explain)


_EXPLANATION = re.compile(r"^\[Its page\]\(([^)]*)\): .*$", re.MULTILINE)


def _explain(_: Any, document: str, source: list[str]) -> None:
    folder = (ROOT / document).parent
    source[0] = _EXPLANATION.sub(lambda link: _body(folder / link[1]), source[0])


def _body(page: Path) -> str:
    """Return a page without its title."""
    return page.read_text(encoding="utf-8").partition("\n")[2]
