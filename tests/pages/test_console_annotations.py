"""Tags and notes in the console: written by the person's act alone, found by filters, shown as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest

import aqmlab as lab
import fixtures.console
from aqmlab.storage.errors import WriteError
from aqmlab.store.annotations import MAX_NOTE, MAX_TAGS, Annotation, Annotations
from fixtures.console import HOSTILE, Visitor


@pytest.fixture
def noted(tmp_path: Path) -> Iterator[tuple[Path, Visitor]]:
    """A console of its own, whose notes no other test sees."""
    out = fixtures.console.store(tmp_path / "store")
    with fixtures.console.console(out) as address:
        visitor = Visitor(address)
        visitor.go_in()
        yield out, visitor


def files(out: Path) -> dict[str, bytes]:
    return {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file()}


def save(visitor: Visitor, subject: str, tags: str, note: str = "") -> tuple[int, str]:
    status, page, headers = visitor.ask(
        "/annotations", "POST", {"csrf": visitor.csrf(), "subject": subject, "tags": tags, "note": note}
    )
    return status, headers.get("Location", "") if status == 303 else page


def test_tags_and_notes_are_saved_found_and_removed(noted: tuple[Path, Visitor]) -> None:
    out, visitor = noted
    cells = lab.Store(out).cells()
    key, experiment = cells.filter(label="codel")["cell"][0], cells["experiment"][0]
    assert save(visitor, key, "smoke, baseline smoke", "first\r\ntry ") == (303, f"/cells/{key}")
    assert Annotations(out).load() == {key: Annotation(("smoke", "baseline"), "first\ntry")}
    assert "first\ntry" in visitor.ask(f"/cells/{key}")[1]
    for words, shown in {"tag=smoke": 1, "tag=smo": 0, "tag=SMOKE": 1, "note=try": 1, "note=none": 0}.items():
        page = visitor.ask("/?words=" + quote(words))[1]
        assert page.count('name="cell"') == shown, words
    assert save(visitor, experiment, "paper") == (303, f"/?experiment={experiment}")
    assert visitor.ask("/?words=tag%3Dpaper")[1].count('name="cell"') == cells.filter(experiment=experiment).height
    assert save(visitor, key, "", " ")[0] == 303
    assert set(Annotations(out).load()) == {experiment}


def test_reading_pages_writes_nothing(noted: tuple[Path, Visitor]) -> None:
    out, visitor = noted
    key = lab.Store(out).keys()[0]
    before = files(out)
    for path in ("/", "/?words=tag%3Dx", f"/cells/{key}", f"/compare?cell={key}", "/annotations"):
        visitor.ask(path)
    assert files(out) == before


def test_notes_of_others_are_text(noted: tuple[Path, Visitor]) -> None:
    out, visitor = noted
    key = lab.Store(out).keys()[0]
    assert save(visitor, key, "x", HOSTILE)[0] == 303
    for path in ("/", f"/cells/{key}"):
        page = visitor.ask(path)[1]
        assert "<script>alert" not in page
        assert "alert(1)" in unescape(page)


def test_a_change_needs_the_token_and_a_subject_of_the_store(noted: tuple[Path, Visitor]) -> None:
    out, visitor = noted
    key = lab.Store(out).keys()[0]
    before = files(out)
    assert visitor.ask("/annotations", "POST", {"csrf": "", "subject": key, "tags": "x"})[0] == 403
    foreign = {"Origin": "http://example.org"}
    assert visitor.ask("/annotations", "POST", {"csrf": visitor.csrf(), "subject": key}, foreign)[0] == 403
    assert visitor.ask("/annotations")[0] == 405
    for subject in ("0" * 16, "../../x", "", "0" * 8):
        assert save(visitor, subject, "x")[0] == 404
    assert save(visitor, key, "<b>")[0] == 400
    assert save(visitor, key, " ".join(map(str, range(MAX_TAGS + 1))))[0] == 400
    assert save(visitor, key, "x", "n" * (MAX_NOTE + 1))[0] == 400
    assert files(out) == before


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"tags": ["<b>"], "note": ""}', b'{"tags": 1, "note": ""}', b'{"tags": [], "note": 1}'],
)
def test_damaged_annotations_are_ignored(tmp_path: Path, content: bytes) -> None:
    Annotations(tmp_path).save("a" * 16, Annotation(("kept",)))
    (tmp_path / "notes" / f"{'b' * 16}.json").write_bytes(content)
    (tmp_path / "notes" / "name.json").write_text(json.dumps({"tags": ["x"], "note": ""}))
    assert Annotations(tmp_path).load() == {"a" * 16: Annotation(("kept",))}


def test_no_link_leads_annotations_out_of_the_store(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
    lab.Store(out).init()
    elsewhere.mkdir()
    (out / "notes").symlink_to(elsewhere)
    with pytest.raises(WriteError, match="symbolic link"):
        Annotations(out).save("a" * 16, Annotation(("x",)))
    assert not list(elsewhere.iterdir())
