#!/bin/sh
# Start the server in a container. The first session of a new process must be one on "/" (page routing is set up by
# it), so one is opened here; the ready file that the health check looks for appears only after it has succeeded.
#   PORT          port to listen on (8501)
#   PUBLIC_HOST   host name people type, when a proxy stands in front (localhost)
#   READY_FILE    written when the warm-up session is done
set -eu
cd "$(dirname "$0")/.."
PORT="${PORT:-8501}"
READY_FILE="${READY_FILE:-/dev/shm/fastmode-ready}"
rm -f "$READY_FILE"
{ python deploy/warm_up.py "http://127.0.0.1:$PORT" && : > "$READY_FILE"; } &
exec python -m streamlit run app.py --server.address 0.0.0.0 --server.port "$PORT" \
  --browser.serverAddress "${PUBLIC_HOST:-localhost}"
