"""memorist for agents: the Model Context Protocol (MCP), over standard input and output and over HTTP.

tools.py     the tools as data: names, titles, hints, what each takes and gives; the profiles
shapes.py    what an agent reads: answers as compact JSON, text first
words.py     the instructions and the prompts
projects.py  which project is meant, among those that are served
calls.py     one call of a tool: arguments, the verb, the answer or an error, with a next step that the profile has
server.py    the protocol; the only module that imports the SDK
"""
