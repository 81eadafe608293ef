"""Tags and notes that a person gives to cells and experiments: ``results/notes/<key>.json``, beside the cells.

Only a person's act writes them. A cell that is removed keeps them for the time when it is run again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass

from aqmlab.storage import marker
from aqmlab.storage.errors import Damaged
from aqmlab.storage.io import names, read_bytes, remove, write_bytes
from aqmlab.storage.location import Location

_FOLDER = "notes"

MAX_TAGS, MAX_TAG, MAX_NOTE = 20, 40, 2_000
"""The largest number of tags, and of characters of a tag and of a note. Ours."""

TAG = rf"[\w.+:/-]{{1,{MAX_TAG}}}"
"""The pattern of a tag: a filter finds it as one word."""

_SUBJECT = re.compile("[0-9a-f]{8,64}")
"""The key of a cell, or the digest of an experiment."""


@dataclass(frozen=True)
class Annotation:
    """The tags and the note of one cell or experiment."""

    tags: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if len(self.tags) > MAX_TAGS:
            raise ValueError(f"tags: expected at most {MAX_TAGS}, got {len(self.tags)}")
        for tag in self.tags:
            if not re.fullmatch(TAG, tag):
                raise ValueError(
                    f"tags: expected words of at most {MAX_TAG} letters, digits and . + : / -, got {tag!r}"
                )
        if len(self.note) > MAX_NOTE:
            raise ValueError(f"note: expected at most {MAX_NOTE:,} characters, got {len(self.note):,}")

    @classmethod
    def parse(cls, tags: str, note: str) -> Annotation:
        """Return the annotation of a form: tags are separated by spaces or commas.

        Raises
        ------
        ValueError
            When a tag or the note is too long or has other characters.
        """
        words = dict.fromkeys(tags.replace(",", " ").split())
        return cls(tuple(words), note.replace("\r\n", "\n").strip())


class Annotations:
    """The annotations of one results directory."""

    def __init__(self, out: Location) -> None:
        self._out = out

    def load(self) -> Mapping[str, Annotation]:
        """Return the annotations by the keys of cells and the digests of experiments; damaged files are ignored.

        Raises
        ------
        StoreError
            When they cannot be read.
        """
        found = {}
        for name in names(self._out, _FOLDER):
            subject = name.removesuffix(".json")
            with suppress(ValueError, TypeError, KeyError, RecursionError, Damaged):
                values = json.loads(read_bytes(self._out, f"{_FOLDER}/{name}") or b"")
                if _SUBJECT.fullmatch(subject) and isinstance(values["note"], str):
                    found[subject] = Annotation(tuple(values["tags"]), values["note"])
        return found

    def save(self, subject: str, annotation: Annotation) -> None:
        """Replace an annotation atomically; an empty one removes its file.

        Raises
        ------
        StoreError
            When it cannot be written.
        """
        if not _SUBJECT.fullmatch(subject):
            raise ValueError(f"subject: expected the key of a cell or the digest of an experiment, got {subject!r}")
        marker.claim(self._out)
        name = f"{_FOLDER}/{subject}.json"
        if annotation == Annotation():
            remove(self._out, name)
        else:
            write_bytes(self._out, name, (json.dumps(asdict(annotation), indent=2) + "\n").encode())
