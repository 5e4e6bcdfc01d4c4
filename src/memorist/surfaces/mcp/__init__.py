"""memorist for agents: the Model Context Protocol (MCP), over standard input and output and over HTTP.

tools.py     the tools as data: names, titles, hints, inputs and outputs; the profiles
shapes.py    what an agent reads: answers as compact JSON, text first
words.py     the instructions and the prompts
projects.py  which of the served projects a call means
calls.py     one tool call: arguments, the verb, the answer or an error, with a next step that the profile offers
server.py    the protocol; the only module that imports the SDK
"""
