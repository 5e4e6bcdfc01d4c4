"""Coding agents: what `memorist install` writes into their settings, and how `memorist hook` answers them.

clients.py   the supported agents, where each keeps its settings, and the format it wants for hooks and servers
marks.py     which entries in settings are ours
splice.py    changes other people's JSON in one place;  tables.py  the same with TOML
install.py   puts our lines into those settings, and takes exactly them out again
switches.py  what else these settings say: whether our plugin is on, and whether hooks are off
trial.py     whether what they have of ours works
hooks.py     what an agent is told at each moment of its session;  moments.py  what is done at one of them
served.py    the same, answered by a process that a server keeps ready
capture.py   reads what was said to and by the agent from its transcript
receipts.py  what agents were told, and which of it was used
problems.py  what went wrong in hooks, for `memorist doctor`
skills.py    what people ask an agent for, as files of ours
plugin.py    all of it as plugin folders
"""
