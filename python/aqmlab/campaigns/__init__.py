"""Campaigns: grids of cells, run on one machine or on many until none is missing."""
