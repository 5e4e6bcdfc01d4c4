"""Coding agents: what `memorist install` writes into their settings, and how `memorist hook` answers them.

clients.py   the supported agents, where each keeps its settings, and the format it wants for hooks and servers
marks.py     which commands are ours;  entries.py  which entries of settings that makes ours
install.py   puts our lines into those settings;  uninstall.py  takes exactly them out again
changes.py   a change of one file, planned, shown and made;  book.py  what was done, so that it can be undone
splice.py    changes other people's JSON in one place;  tables.py  the same with TOML
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
