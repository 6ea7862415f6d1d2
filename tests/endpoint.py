"""An endpoint on this machine whose answers a script decides; it keeps its port when it goes down and comes back."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Endpoint:
    """Up within `with`; subclasses say `answer(request)` to every GET and POST. `ending` is set when it goes down."""

    def __init__(self):
        self.port, self.http, self.ending = 0, None, threading.Event()

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        if self.http:
            self.down()

    def up(self):
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                endpoint.answer(self)

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self.ending.clear()
        self.http = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.http.daemon_threads = True
        self.port = self.http.server_port
        threading.Thread(target=self.http.serve_forever, args=[0.02], daemon=True).start()

    def down(self):
        """Nobody listens any more."""
        self.ending.set()
        self.http.shutdown()
        self.http.server_close()
        self.http = None
