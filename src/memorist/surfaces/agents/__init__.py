"""Coding agents: what `memorist install` writes into their settings, and what `memorist hook` answers them.

clients   which agents there are, where each keeps its settings, and in which shape it wants hooks and servers
splice    JSON of others, changed in one place
install   puts our lines into those settings, and takes exactly them out again
hooks     what an agent is told at a moment of its day
served    the same, asked of a process that a server keeps ready
capture   what was said to and by it, out of its transcript
trial     whether what they have of ours works, and
problems  what went wrong in hooks, for `memorist doctor`
skills    what people ask an agent for, as files that are ours
plugin    all of it as plugin folders
"""
