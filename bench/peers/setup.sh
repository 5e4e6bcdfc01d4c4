#!/bin/sh
# An environment of its own for one peer: bench/peers/setup.sh NAME. Needs the network; running the comparison does not.
# PYTHON chooses the interpreter (langgraph and mcp-memory need one whose sqlite3 can load extensions), PEERS the folder.
set -eu
name=${1:?which peer: chromadb, lancedb, langgraph, mem0, txtai, mcp-memory or mempalace}
case $name in
    chromadb) wanted="chromadb==1.5.9" ;;
    lancedb) wanted="lancedb==0.40.0" ;;
    langgraph) wanted="langgraph==1.2.20 langgraph-checkpoint-sqlite==3.1.2" ;;
    mem0) wanted="mem0ai==2.2.1" ;;
    txtai) wanted="txtai==9.14.0" ;;
    mcp-memory) wanted="mcp-memory-service==12.2.0" ;;
    mempalace) wanted="mempalace==3.11.0" ;;
    *) echo "there is no peer $name" >&2; exit 2 ;;
esac
place=${PEERS:-${TMPDIR:-/tmp}/memorist-peers}/$name
"${PYTHON:-python3}" -m venv "$place"
# numpy because every adapter reads its vectors with it
"$place/bin/python" -m pip install --quiet --disable-pip-version-check $wanted numpy
"$place/bin/python" -m pip freeze > "$place/versions.txt"
echo "$place"
