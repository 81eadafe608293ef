"""The commands, one per module; its ``app`` is a command or a group of commands.

Commands import slow modules, which is most of the package, inside their functions, so that help and completion do not
wait for them.
"""
