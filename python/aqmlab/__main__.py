"""``python -m aqmlab``: the command line."""

from aqmlab.cli.main import main

main()
