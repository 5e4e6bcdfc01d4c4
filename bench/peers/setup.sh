#!/bin/sh
# An environment of its own for one peer: bench/peers/setup.sh NAME. Needs the network; running the comparison does not.
# PYTHON chooses the interpreter (langgraph and mcp-memory need one whose sqlite3 can load extensions, basic-memory 3.12), PEERS the
# folder. claude-mem is for Node and Bun; of what its plugin requires, zod and shell-quote do for its hooks.
set -eu
name=${1:?which peer: chromadb, lancedb, langgraph, mem0, txtai, mcp-memory, mempalace, basic-memory or claude-mem}
case $name in
    chromadb) wanted="chromadb==1.5.9" ;;
    lancedb) wanted="lancedb==0.40.0" ;;
    langgraph) wanted="langgraph==1.2.20 langgraph-checkpoint-sqlite==3.1.2" ;;
    mem0) wanted="mem0ai==2.2.1" ;;
    txtai) wanted="txtai==9.14.0" ;;
    mcp-memory) wanted="mcp-memory-service==12.2.0" ;;
    mempalace) wanted="mempalace==3.11.0" ;;
    basic-memory) wanted="basic-memory==0.23.2" ;;
    claude-mem) wanted= ;;
    *) echo "there is no peer $name" >&2; exit 2 ;;
esac
place=${PEERS:-${TMPDIR:-/tmp}/memorist-peers}/$name
if [ "$name" = claude-mem ]; then
    mkdir -p "$place"
    npm install --silent --no-audit --no-fund --prefix "$place" bun@1.4.4 zod@4.4.3 shell-quote@1.9.0
    (cd "$place" && npm pack --silent claude-mem@13.25.3 && tar xzf claude-mem-13.25.3.tgz)
    echo "$place"
    exit
fi
"${PYTHON:-python3}" -m venv "$place"
# numpy because every adapter reads its vectors with it
"$place/bin/python" -m pip install --quiet --disable-pip-version-check $wanted numpy
"$place/bin/python" -m pip freeze > "$place/versions.txt"
echo "$place"
