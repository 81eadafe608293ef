"""Check the language of the project: terms, headings, test names, paths in backquotes, commit subjects.

`make lint` runs it. Each fault is one line, `file:line: fault`; the exit code is 1 if there is one.
The rules and their reasons are in CONTRIBUTING.md, the terms in docs/glossary.md.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

IDIOMS = re.compile(
    r"\b(nought|anew|whoever|whatever|nobody|everybody|is told|are told|is told of|tells of|told of|hears? of|of theirs"
    r"|goes on|go on to|came to|so many|in the terms of|is there none|stands for|without a word)\b",
    re.IGNORECASE,
)
"""Words for which the field has a term, or plain English a shorter one."""

HEADLESS = re.compile(r"(What|Who|Whose|Whether|How|Where|Which|When)\b")
"""The first word of a heading that is a clause instead of a name."""

CONVENTIONAL = re.compile(
    r"(feat|fix|docs|test|refactor|perf|style|ci|build|chore|revert|bench)(\([a-z0-9, -]+\))?!?: \S"
)

LONGEST_SUBJECT = 72
LONGEST_TEST_NAME = 60

TEST_NAME = {
    ".py": re.compile(r"^[ \t]*(?:async )?def (test_\w+)", re.MULTILINE),
    ".rs": re.compile(r"#\[test\](?:\s*#\[.*\])*\s*fn (\w+)"),
}
"""The definition of a test; in Rust it may have parameters, in `proptest!`."""

FIRST_CHECKED_COMMIT = "62c738f"
"""Subjects are checked from the commit after this one on."""

EXEMPT = (
    "tests/kit/vendored/",
    "python/aqmlab/console/static/vendor",
    "python/aqmlab/reports/vendored/",
    "tools/language.py",
    "docs/studies/rfc7928.md",
    "docs/studies/rfc9332.md",
    "docs/studies/rfc9332-kernel.md",
    "docs/studies/l4s.md",
)
"""Code of others, this file's own lists, and pages that quote registered claims, which are frozen."""

MADE_OR_MISSING = re.compile(r"_build|/NAME|/step\.(rs|md)$")
"""Paths that a build makes, and those of the worked example in CONTRIBUTING.md."""

Fault = tuple[str, int, str]


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in the project."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def tracked(*patterns: str) -> list[Path]:
    """Return the files in git that match, less those that are exempt."""
    listed = git("ls-files", *patterns).stdout.splitlines()
    return [ROOT / name for name in listed if not name.startswith(EXEMPT) and (ROOT / name).is_file()]


def idioms(file: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield each use of an idiom."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in IDIOMS.finditer(line):
            yield number, f"“{match[0]}”: use the field's term (docs/glossary.md)"


def headings(file: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield each heading of Markdown and each first line of documentation in Python and Rust, with its line."""
    if file.suffix == ".md":
        fenced = False
        for number, line in enumerate(text.splitlines(), 1):
            fenced ^= line.startswith("```")
            if not fenced and (match := re.match(r"#+ (.*)", line)):
                yield number, match[1]
    elif file.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            body = getattr(node, "body", None)
            for statement in body if isinstance(body, list) else []:
                value = getattr(statement, "value", None)
                if isinstance(statement, ast.Expr) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield statement.lineno, value.value
    elif file.suffix == ".rs":
        before = ""
        for number, line in enumerate(text.splitlines(), 1):
            match = re.match(r"\s*(//[/!]) ?(.*)", line)
            if match and match[1] != before:
                yield number, match[2]
            before = match[1] if match else ""


def headless(file: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield each heading or first line that is a clause."""
    for number, heading in headings(file, text):
        if match := HEADLESS.match(heading):
            yield number, f"begins with “{match[1]}”: name the thing, or say what it does (“{heading[:50]}”)"


def test_names(file: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield each name of a test that is too long."""
    pattern = TEST_NAME.get(file.suffix)
    for match in pattern.finditer(text) if pattern else ():
        if len(name := match[1]) > LONGEST_TEST_NAME:
            number = text.count("\n", 0, match.start(1)) + 1
            yield number, f"the test's name has {len(name)} characters, at most {LONGEST_TEST_NAME}: {name}"


def paths(file: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield each path in backquotes that exists neither in the project's root nor in a directory above the page."""
    if file.suffix != ".md":
        return
    for number, line in enumerate(text.splitlines(), 1):
        for path in re.findall(r"`((?:crates|python|tests|tools|docs|examples|benches|fuzz)/[\w./-]+)`", line):
            exists = any((directory / path).exists() for directory in file.parents if directory.is_relative_to(ROOT))
            if not exists and not MADE_OR_MISSING.search(path):
                yield number, f"`{path}` does not exist"


def subjects() -> Iterator[Fault]:
    """Yield each commit subject that is too long or has no conventional type; a shallow clone has the newest alone."""
    is_shallow = git("cat-file", "-e", f"{FIRST_CHECKED_COMMIT}^{{commit}}").returncode != 0
    commits = "-1" if is_shallow else f"{FIRST_CHECKED_COMMIT}.."
    for line in git("log", "--no-merges", "--format=%h %s", commits).stdout.splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > LONGEST_SUBJECT:
            yield commit, 1, f"the subject has {len(subject)} characters, at most {LONGEST_SUBJECT}"
        if not CONVENTIONAL.match(subject):
            yield commit, 1, f"no conventional subject such as `fix(sim): …`: {subject}"


def faults() -> Iterator[Fault]:
    """Yield all faults of the files and the commits."""
    for file in tracked("*.md", "*.py", "*.pyi", "*.rs", "*.toml", "*.html", "*.js", "Makefile"):
        text = file.read_text(encoding="utf-8")
        for check in (idioms, headless, test_names, paths):
            for number, fault in check(file, text):
                yield str(file.relative_to(ROOT)), number, fault
    yield from subjects()


if __name__ == "__main__":
    found = list(faults())
    for name, number, fault in found:
        print(f"{name}:{number}: {fault}")
    sys.exit(1 if found else 0)
