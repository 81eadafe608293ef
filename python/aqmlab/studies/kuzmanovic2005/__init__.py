"""Kuzmanovic (2005): ECN on the SYN/ACK."""
