"""``make reference`` runs this module: the pages and figures go into the directory that is named."""

import sys
from pathlib import Path

from reference.pages import write

write(Path(sys.argv[1]))
