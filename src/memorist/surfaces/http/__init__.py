"""The HTTP API: every verb of the facade under `/v1`, for programs in any language and for many agents at once.

    keys.py      access: keys, hashed at rest, each with its space, projects, role, origin and limits
    guard.py     the gate: checks Host, Origin, key, rate, size and time of a request before anything else sees it
    work.py      where work runs: bounded lanes of threads, the open memories, the disk
    verbs.py     a verb as a route: from a request to the facade and back; pages, versions, idempotency
    more.py      routes that are not verbs: events, export and import, knowledge, health, metrics, the founding document's tools
    contract.py  the OpenAPI document, made from the table of verbs
    app.py       all of it as one application
    server.py    the process: socket, signals, shutdown

Only `app.py`, `more.py`, `verbs.py` and `server.py` import what the extra `server` installs.
"""
