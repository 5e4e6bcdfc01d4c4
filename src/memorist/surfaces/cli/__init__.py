"""The command line: the verbs of `Memory` under their own names, and a few commands that only make sense in a shell.

app.py        the list of commands, built one at a time from the `commands` of a module; how the program ends
arguments.py  how commands are spelled, and how their arguments are read
verbs.py      opens the memory, calls the verb, shows the answer;  watch.py  upkeep at the times of a cron line
files.py      backup and restore, import and export, index, edit
config.py     settings, off and on, designs, projects
bench.py      how well a store answers;  seeds.py  the founding documents' own commands
completion.py scripts for bash, zsh and fish
show.py       answers for people;  screen.py  where they go, and the same answers as JSON;  progress.py  a sign of life
"""
