"""Draw the gallery's figures and list them: ``python tools/gallery.py docs/gallery``.

Each figure is a section of a page: a sentence, the picture, and the code that draws it. The code runs in a directory
with the examples, and saves the picture. ``README.md`` lists all figures with their pictures.

A tutorial ends in a figure of the same form, whose code may import the modules that the tutorial writes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]

MAX_LINES = 10
MAX_BYTES = 40_000

_SECTION = re.compile(
    r"^## (?P<title>[^\n]*)\n\n(?P<lesson>[^#!`]*)\n\n"
    r"!\[(?P<description>[^\]\n]*)\]\((?P<folder>(?:\.\./)?img)/(?P<picture>\S+)\)\n\n"
    r"```python\n(?P<code>.*?)^```\n",
    re.DOTALL | re.MULTILINE,
)

TUTORIALS = tuple(ROOT / "docs" / "guide" / name for name in ("custom-law.md", "sqm.md"))

_MODULE = re.compile(r"^```python (\S+)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)

_UNSTABLE = re.compile(r" *<dc:(date|creator)>.*?</dc:\1>\n", re.DOTALL)
"""The metadata of an SVG file that contain a date or a version."""

_PATH = re.compile(r' d="[^"]*"')
_DECIMALS = re.compile(r"(\d\.\d)\d+")
_POINT = re.compile(r"\S+ \S+")


@dataclass(frozen=True)
class Figure:
    """A figure of a page."""

    page: Path
    title: str
    lesson: str
    """The sentences about what it shows."""
    description: str
    folder: str
    """The folder of its picture, from that of the page."""
    picture: str
    """The name of its file."""
    code: str

    @property
    def lines(self) -> list[str]:
        """The lines of its code that are not blank."""
        return [line for line in self.code.splitlines() if line.strip()]

    @property
    def file(self) -> Path:
        """The stored picture."""
        return self.page.parent / self.folder / self.picture

    @property
    def address(self) -> str:
        """The place on its page, as GitHub and the site call it."""
        return f"{self.page.name}#{re.sub(r'[^a-z0-9 -]', '', self.title.lower()).replace(' ', '-')}"

    def draw(self, directory: Path) -> Path:
        """Run the code in a directory with the examples, and return the file that it saves."""
        modules = _MODULE.findall(self.page.read_text(encoding="utf-8"))
        with chdir(directory):
            for name, text in modules:
                Path(name).write_text(text, encoding="utf-8")
            try:
                exec(compile(self.code, self.title, "exec"), {"__name__": "__main__"})
            finally:
                plt.close("all")
        return directory / self.picture


def pages(folder: Path) -> list[Path]:
    """Return the pages of figures, in the order of the list."""
    linked = re.findall(r"^## \[.*\]\((\S+\.md)\)$", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    return [folder / name for name in linked]


def figures(page: Path) -> Iterator[Figure]:
    """Yield the figures of a page, in order."""
    for section in _SECTION.finditer(page.read_text(encoding="utf-8")):
        yield Figure(page, **section.groupdict())


def listed(page: Path) -> str:
    """Return the list of a page's figures, each a picture with a title that leads to it."""
    return "".join(f"* [![](img/{each.picture}) {each.title}]({each.address})\n" for each in figures(page))


def with_lists(folder: Path) -> str:
    """Return the text of ``README.md`` with the list of figures below the heading of each page."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    for page in pages(folder):
        below = re.compile(rf"(^## \[.*\]\({re.escape(page.name)}\)\n)(?:\* .*\n|\n)*", re.MULTILINE)
        heading = below.search(text)
        assert heading, f"{page.name} has no heading"
        text = text[: heading.start()] + heading[1] + "\n" + listed(page) + "\n" + text[heading.end() :]
    return text.rstrip("\n") + "\n"


def prepare(directory: Path) -> None:
    """Make a directory ready for the code of figures."""
    (directory / "examples").symlink_to(ROOT / "examples")
    mpl.use("agg")
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")


def stable(svg: str) -> str:
    """Return an SVG file without what changes from run to run, and with short paths to a tenth of a point."""
    short = _PATH.sub(lambda path: _shorten(path[0]), _UNSTABLE.sub("", svg))
    return re.sub(r"^[ \t]+|[ \t]+$", "", short, flags=re.MULTILINE)


def _shorten(path: str) -> str:
    rounded = _DECIMALS.sub(r"\1", path)
    if re.search("[CQ]", rounded):
        return rounded
    points = re.split(r"\s*\n?L ", rounded)
    kept: list[str] = []
    for point in points:
        if len(kept) > 1 and _is_between(kept[-1], kept[-2], point):
            kept[-1] = point
        elif kept[-1:] != [point]:
            kept.append(point)
    # Numbers after those of a line are another line.
    return " ".join(kept)


def _is_between(point: str, before: str, after: str) -> bool:
    """Return true if a point is on the horizontal or vertical line between two others."""
    if not all(_POINT.fullmatch(each) for each in (before, point, after)):
        return False
    (x1, y1), (x, y), (x2, y2) = (map(float, each.split()) for each in (before, point, after))
    return (x1 == x == x2 and min(y1, y2) <= y <= max(y1, y2)) or (y1 == y == y2 and min(x1, x2) <= x <= max(x1, x2))


def write(folder: Path, names: list[str]) -> None:
    """Draw the figures of these names, or all, and write the list."""
    with TemporaryDirectory() as temporary:
        directory = Path(temporary)
        prepare(directory)
        for page in (*pages(folder), *TUTORIALS):
            for figure in figures(page):
                if names and Path(figure.picture).stem not in names:
                    continue
                svg = stable(figure.draw(directory).read_text(encoding="utf-8"))
                if len(svg) > MAX_BYTES:
                    print(f"{figure.picture}: must have at most {MAX_BYTES:,} bytes, got {len(svg):,}", file=sys.stderr)
                figure.file.write_text(svg, encoding="utf-8")
    (folder / "README.md").write_text(with_lists(folder), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2:])
