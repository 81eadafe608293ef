"""Advice on the queue discipline and settings of an access link, from a survey of many links and a run on this one."""
