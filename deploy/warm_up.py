"""Wait for the server, then run one real session on "/" over its WebSocket.

    python deploy/warm_up.py http://127.0.0.1:8501

Exit code 0 when the app's script ran to its end, 1 otherwise. A plain HTTP request does not run the script.
"""

import sys
import time
import urllib.request

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect


def wait_for_health(base: str, seconds: float = 60.0) -> None:
    """Return once ``/_stcore/health`` answers; raise TimeoutError otherwise."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{base}/_stcore/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"{base} did not become healthy within {seconds:.0f} s")


def run_session(base: str, seconds: float = 60.0) -> bool:
    """Open a session on "/", run the script once; True if it ended without an error."""
    request = BackMsg()
    request.rerun_script.query_string = ""
    address = f"ws{base.removeprefix('http')}/_stcore/stream"
    deadline = time.monotonic() + seconds
    with connect(address, subprotocols=["streamlit"], max_size=None, compression=None) as socket:
        socket.send(request.SerializeToString())
        failed = False
        while True:
            message = ForwardMsg.FromString(socket.recv(timeout=max(0.0, deadline - time.monotonic())))
            if message.WhichOneof("type") == "delta":
                failed |= message.delta.new_element.WhichOneof("type") == "exception"
            elif message.WhichOneof("type") == "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    continue
                return not failed and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY


def main(base: str) -> int:
    """Warm the server at ``base``; 0 on success, 1 with one line on standard error otherwise."""
    base = base.rstrip("/")
    try:
        wait_for_health(base)
        if run_session(base):
            return 0
        reason = "the app's script ended with an error"
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    print(f"warm-up failed: {reason}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8501"))
