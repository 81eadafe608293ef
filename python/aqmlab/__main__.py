"""``python -m aqmlab``: the command line."""

from aqmlab.cli import main

main()
