"""Coding agents: what `memorist install` writes into their settings, and how `memorist hook` answers them.

clients   the supported agents, where each keeps its settings, and the format it wants for hooks and servers splice
changes other people's JSON in one place install   puts our lines into those settings, and takes exactly them out again
hooks     what an agent is told at each moment of its session served    the same, answered by a process that a server
keeps ready capture   reads what was said to and by the agent from its transcript trial     whether what they have of
ours works problems  what went wrong in hooks, for `memorist doctor` skills    what people ask an agent for, as files of
ours plugin    all of it as plugin folders
"""
