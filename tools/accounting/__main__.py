"""``make accounting`` runs this module."""

from accounting.page import main

main()
