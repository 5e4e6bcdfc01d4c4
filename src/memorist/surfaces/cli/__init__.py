"""The command line: the verbs of `Memory` under their own names, and a few commands that only make sense at a shell.

app.py       which commands there are, built one at a time; how the program ends
spelling.py  how a parameter of the facade is spelled as an argument or option
given.py     what the user gave, read: standard input, times, JSON, drafts
verbs.py     opens the memory, calls the verb, shows the answer
moving.py    import and export
designs.py   design list, show and use
keeping.py   backup and restore, edit, project, config, off, on
show.py      answers for people;  screen.py  where they go, and the same answers as JSON
"""
