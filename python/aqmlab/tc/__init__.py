"""Queue disciplines in the words of Linux's ``tc``: lines that are read as schemes, and schemes as commands."""
