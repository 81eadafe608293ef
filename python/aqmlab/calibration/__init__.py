"""Calibration: the number of users that makes a load."""
