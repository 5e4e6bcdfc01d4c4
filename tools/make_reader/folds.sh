#!/usr/bin/env bash
# Some writers kept aside, and none, side by side on one accelerator: folds.sh OUT "A B none" [further options of train.py]
set -u
out=$1 asides=$2; shift 2
here=$(dirname "$0")
for aside in $asides; do
  timeout 590 python3 "$here/train.py" --pack pack-reader --lines "$here/lines" --vocab src/memorist/models/data/vocab.txt \
    --out "$out" --aside "${aside#none}" "$@" > "$out/$aside.log" 2>&1 &
done
wait
tail -n 4 "$out"/*.log
