"""Campaigns: grids of cells that are run until none is missing, on this machine or on many."""
