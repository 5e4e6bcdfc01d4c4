#!/usr/bin/env bash
# Every writer kept aside once, side by side on one accelerator: folds.sh OUT [further options of train.py]
set -u
out=$1; shift
here=$(dirname "$0")
for aside in A B C D; do
  timeout 590 python3 "$here/train.py" --pack pack-reader --lines "$here/lines" --vocab src/memorist/models/data/vocab.txt \
    --out "$out" --aside $aside "$@" > "$out/$aside.log" 2>&1 &
done
wait
tail -n 4 "$out"/*.log
