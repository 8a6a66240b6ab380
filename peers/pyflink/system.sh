#!/bin/sh
# Linear Road on PyFlink: system.sh OUTPUT START [--ready FILE] [--tolls FOLDER] [--vids-apart V] [--xways-apart X] …
here=$(dirname "$0")
python=$here/../../build/peers/python/pyflink/bin/python
test -x "$python" || { echo "peers/pyflink is not installed here: run 'make peers'" >&2; exit 2; }
exec "$python" "$here/system.py" "$@"
