"""The commands, a module each; its ``app`` is a command, or a group of them.

What takes long to import, which is most of the package, is imported inside the commands that need it, so that help and
completion of a command line do not wait for it.
"""
