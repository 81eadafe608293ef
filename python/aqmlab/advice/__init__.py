"""Advice: which queue discipline and which settings for an access link, from a map of many and a run on this one."""
