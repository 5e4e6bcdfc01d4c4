#!/bin/sh
# Runs every peer that has an environment (see setup.sh), ours and the bare floor with the same vectors and questions, and
# writes the table: bench/peers/run.sh DATA DOCS [MODEL], where MODEL is the folder of a sentence model in ONNX. PEERS is the
# folder of the environments, WORK where results are put and stay. ONLY="memorist floor" asks these alone again, and takes
# what the others said before as long as they were given the same.
set -eu
cd "$(dirname "$0")/../.."
data=${1:?the folder with the public test sets}
docs=${2:?the folder of benchmarks.md}
peers=${PEERS:-${TMPDIR:-/tmp}/memorist-peers}
work=${WORK:-$peers/work}
ours=${OURS:-.venv/bin/python}
export OMP_NUM_THREADS=1
"$ours" -m bench.peers.prepare "$data" "$work" ${3:+"$3"}
for name in ${ONLY:-memorist floor chromadb lancedb txtai langgraph mem0 mcp-memory mempalace}; do
    adapter=bench/peers/$(echo "$name" | tr - _)_peer.py
    case $name in memorist | floor) python=$ours path=. ;; *) python=$peers/$name/bin/python path= ;; esac
    if [ -x "$python" ]; then
        echo "$name" >&2
        PYTHONPATH=$path "$python" "$adapter" "$work" "$work/$name.result.json" > "$work/$name.log" 2>&1 || echo "$name failed, see $work/$name.log" >&2
    else
        echo "$name has no environment; bench/peers/setup.sh $name makes it" >&2
    fi
done
"$ours" -m bench.peers.table "$work" "$docs"
