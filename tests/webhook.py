"""A receiver of webhooks on 127.0.0.1 that records what it was sent and answers as a test plans."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

# Status, headers, and a pause before the answer, in seconds.
Answer = tuple[int, dict[str, str], float]


class Webhook:
    """A listening server that ends with its `with` block; `answers` are given in turn, the last one again and again."""

    SECRET = "T0WEBHOOK/B0SECRET/5ecret5ignature"

    def __init__(self, *answers: Answer) -> None:
        self.received: list[dict[str, Any]] = []
        self._answers = list(answers) or [(200, {}, 0.0)]
        self._stopping = threading.Event()
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                webhook.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                status, headers, pause = webhook._next()
                webhook._stopping.wait(pause)
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", "2")
                    self.end_headers()
                    self.wfile.write(b"ok")
                except OSError:
                    pass  # the client has left

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing on stderr."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False

    def _next(self) -> Answer:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    @property
    def url(self) -> str:
        return f"http://user:pa55word@127.0.0.1:{self._server.server_port}/services/{self.SECRET}?key=5ecret5ignature"

    @staticmethod
    def shows_secrets(text: str) -> bool:
        return any(part in text for part in ("T0WEBHOOK", "B0SECRET", "5ecret5ignature", "pa55word", "/services"))

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
