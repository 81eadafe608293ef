"""Write the pages of the studies from their records: ``python tools/study_pages.py docs/studies``.

Records, notes and the pages ``NAME.md`` are in git; the details are written for the site.
"""

from __future__ import annotations

import sys
from pathlib import Path

from aqmlab.studies import STUDIES
from aqmlab.studies.kit.page import write_texts
from aqmlab.studies.kit.report import read_record

if __name__ == "__main__":
    pages = Path(sys.argv[1])
    for record in (pages / f"{name}.json" for name in STUDIES):
        # A study that is only planned has no record yet.
        if record.is_file():
            write_texts(read_record(record), pages)
