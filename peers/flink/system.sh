#!/bin/sh
# Linear Road on Apache Flink: system.sh OUTPUT START [--tolls CSV] [--vids-apart V] [--xways-apart X] …
here=$(dirname "$0")/target
test -d "$here/lib" || { echo "peers/flink is not built here: run 'make peers', which needs Java 17 and Maven" >&2; exit 2; }
exec java -Xmx"${FLINK_HEAP:-4g}" -XX:+UseParallelGC --add-opens=java.base/java.util=ALL-UNNAMED \
    --add-opens=java.base/java.lang=ALL-UNNAMED -cp "$here/classes:$here/lib/*" peers.LinearRoad "$@"
