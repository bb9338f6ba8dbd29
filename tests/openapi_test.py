#!/usr/bin/env python3
"""docs/api/openapi.json held against running gateways: every operation is asked for, every answer code it lists is provoked, every
JSON answer fits its schema, and nothing is served that it does not describe.

    tests/openapi_test.py BUILD_DIR
"""
import concurrent.futures
import contextlib
import hashlib
import hmac
import http.server
import json
import pathlib
import sqlite3
import sys
import threading
import time
import unittest

import jsonschema

from small_site import SmallSite, programs_of

PROGRAMS = programs_of(sys.argv[1])
SPEC = json.loads((pathlib.Path(__file__).parent.parent / "docs/api/openapi.json").read_text(encoding="utf-8"))
EVENT = {"node_host": "api-1", "event_type": "XID_FATAL", "cluster_rack": "A03", "gpu_index": 3}
ALERTS = {"version": "4", "status": "firing", "alerts": [
    {"status": "firing", "labels": {"alertname": "GpuXidError", "Hostname": "api-2", "gpu": "1"}, "annotations": {"summary": "XID 79"},
     "startsAt": "2026-08-17T08:30:00Z", "endsAt": "0001-01-01T00:00:00Z", "fingerprint": "a1b2c3d4e5f60718"},
    {"status": "firing", "labels": {"alertname": "Watchdog"}, "startsAt": "2026-08-17T08:30:00Z",
     "endsAt": "0001-01-01T00:00:00Z", "fingerprint": "0000000000000001"}]}
CLOUD_EVENT = {"specversion": "1.0", "id": "7", "source": "/monitor/a03", "type": "gpu.fault", "data": {"node_host": "api-3", "event_type": "GPU_LOST"}}
CLOUD = {"Content-Type": "application/cloudevents+json"}
BATCH = {"Content-Type": "application/cloudevents-batch+json"}
BIG = b'{"node_host":"' + b"x" * 70_000 + b'"}'
TAKES_MORE = {"/api/v1/alertmanager": 2 * 1024 * 1024}


def operations():
    return {(method, path): operation for path, methods in SPEC["paths"].items() for method, operation in methods.items()}


def signed(body):
    """The headers of signature v1, with the key that the terminals have."""
    stamp = str(int(time.time()))
    digest = hmac.new(b"0123456789abcdef0123456789abcdef", f"{stamp}\n".encode() + body, hashlib.sha256).hexdigest()
    return {"X-API-Key": "hall", "X-Timestamp": stamp, "X-Signature": digest}


def validate(schema, value):
    jsonschema.Draft202012Validator({**schema, "components": SPEC["components"]}).validate(value)


class Lamp(http.server.ThreadingHTTPServer):
    """A terminal on hall-1's port that takes every message, or refuses each as one it will never take."""
    daemon_threads = True

    def __init__(self, port):
        self.takes = True

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(handler):
                handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
                status = 200 if self.takes or handler.path.endswith("/ping") else 400
                handler.send_response(status)
                handler.send_header("Content-Length", "2")
                handler.end_headers()
                handler.wfile.write(b"{}")

            def log_message(handler, *_):
                pass

        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class OpenApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = SmallSite(PROGRAMS, access='[access]\nloopback = "none"\n[ingest]\nopen_to = "nobody"\n', terminal=False)
        cls.lamp = Lamp(cls.site.terminal_port)
        cls.seen = set()  # (method, path, status)

    @classmethod
    def tearDownClass(cls):
        cls.lamp.shutdown()
        cls.lamp.server_close()
        cls.site.stop()

    def call(self, method, path, status, body=None, query="", **options):
        """Asks, and holds the answer against what the file says of it."""
        target = path.replace("{id}", options.pop("id", "0")) + query
        return self.check(method, path, status, self.site.ask(method, target, body, **options), body)

    def check(self, method, path, status, answer, body=None):
        operation = operations()[(method.lower(), path)]
        where = f"{method} {path}: {answer.status} {answer.body[:200]!r}"
        self.assertEqual(answer.status, status, where)
        self.assertIn(str(status), operation["responses"], where)
        self.seen.add((method.lower(), path, str(status)))
        described = operation["responses"][str(status)]
        content_type = answer.headers["Content-Type"].split(";")[0]
        self.assertIn(content_type, described["content"], where)
        for header in described.get("headers", {}):
            self.assertIn(header, answer.headers, where)
        if status == 200 and "requestBody" in operation:
            validate(operation["requestBody"]["content"]["application/json"]["schema"], body)
        if content_type == "application/json":
            value = answer.json()
            validate(described["content"][content_type]["schema"], value)
            return value
        return answer.body.decode()

    def test_everything_served_is_described_and_everything_described_is_served(self):
        served = {(entry["method"].lower(), entry["path"].replace("*", "{id}")) for entry in self.call("GET", "/api/v1", 200)["paths"]}
        self.assertEqual(served, set(operations()))

    def test_the_file_is_whole(self):
        self.assertEqual(SPEC["openapi"], "3.1.0")
        names = [operation["operationId"] for operation in operations().values()]
        self.assertEqual(len(names), len(set(names)))
        for schema in SPEC["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)

    def test_each_answer_is_as_described(self):
        call = self.call
        call("GET", "/api/v1", 200)
        incident = call("POST", "/api/v1/gpu_event", 200, EVENT)["incident"]
        call("POST", "/api/v1/gpu_event", 200, EVENT)
        call("POST", "/api/v1/gpu_event", 200, dict(EVENT, job_id=12345, event_id=7, observed_at=1795996334, xid="79", gpu_index=3.0))
        call("POST", "/api/v1/gpu_event", 400, b"{}")
        call("POST", "/api/v1/alertmanager", 200, ALERTS)
        answer = self.site.ask("POST", "/api/v1/alertmanager", dict(ALERTS, alerts=[*ALERTS["alerts"], {"status": "on"}])).json()
        validate(SPEC["components"]["schemas"]["AlertsAnswer"], answer)
        self.assertEqual((answer["taken"], answer["malformed"]), (1, 1))
        call("POST", "/api/v1/alertmanager", 400, b"{}")
        call("POST", "/api/v1/cloudevents", 200, CLOUD_EVENT, headers=CLOUD)
        call("POST", "/api/v1/cloudevents", 200, [dict(CLOUD_EVENT, id="8")], headers=BATCH)
        call("POST", "/api/v1/cloudevents", 400, b"{}", headers=CLOUD)
        call("GET", "/api/v1/time", 200, headers={"X-Nonce": "abcdefghijklmnopqrstuv"})
        call("GET", "/api/v1/time", 400)
        time.sleep(0.3)
        call("GET", "/api/v1/incidents", 200)
        call("GET", "/api/v1/incidents", 200, query="?state=open")
        call("GET", "/api/v1/incidents", 400, query="?state=shut")
        call("GET", "/api/v1/incidents/{id}", 200, id=incident)
        call("GET", "/api/v1/incidents/{id}", 404)
        call("GET", "/api/v1/terminals", 200)
        call("GET", "/api/v1/agents", 200)
        call("POST", "/api/v1/route_test", 200, EVENT)
        call("POST", "/api/v1/route_test", 200, dict(EVENT, state="resolved"))
        call("POST", "/api/v1/route_test", 400, b"[]")
        self.assertEqual(call("POST", "/api/v1/ack", 200, {"incidents": [incident]})["acknowledged"], 1)
        call("POST", "/api/v1/ack", 200, {"terminal": "hall-1", "by": "li"})
        call("POST", "/api/v1/ack", 200, {"all": True})
        call("POST", "/api/v1/ack", 400, {})
        call("POST", "/api/v1/ack", 404, {"incidents": ["0"]})
        call("GET", "/api/v1/incidents/{id}", 200, id=incident)
        call("POST", "/api/v1/mute", 200, {"terminal": "hall-1", "for_ms": 60_000, "by": "li"})
        call("POST", "/api/v1/mute", 400, {"terminal": "hall-1", "for_ms": 1})
        call("POST", "/api/v1/mute", 404, {"terminal": "hall-9"})
        call("GET", "/api/v1/terminals", 200)
        call("POST", "/api/v1/unmute", 200, {"terminal": "hall-1"})
        call("POST", "/api/v1/unmute", 400, {"terminal": 3})
        call("POST", "/api/v1/unmute", 404, {"terminal": "hall-9"})
        call("POST", "/api/v1/test", 200, {"terminal": "hall-1", "what": "speech"})
        call("POST", "/api/v1/test", 200, {"terminal": "hall-1", "what": "lamp"})
        call("POST", "/api/v1/test", 409, {"terminal": "hall-1", "what": "lamp"})
        call("POST", "/api/v1/test", 400, {"terminal": "hall-1", "what": "siren"})
        call("POST", "/api/v1/test", 404, {"terminal": "hall-9", "what": "lamp"})
        silence = call("POST", "/api/v1/silences", 200, {"matcher": {"host": "api-9"}, "for_ms": 60_000, "comment": "optics"})
        call("POST", "/api/v1/silences", 400, {"matcher": {}})
        call("POST", "/api/v1/silences", 400, {"matcher": {"host": "*", "tpye": "LINK_FLAP"}, "for_ms": 60_000})
        call("POST", "/api/v1/nodes", 200, {"host": "api-8", "state": "drained", "comment": "card 3", "by": "li"})
        call("POST", "/api/v1/nodes", 400, {"host": "api-8", "state": "gone"})
        call("GET", "/api/v1/silences", 200)
        call("POST", "/api/v1/route_test", 200, dict(EVENT, node_host="api-9"))
        call("POST", "/api/v1/nodes", 200, {"host": "api-8", "state": "in-service"})
        call("POST", "/api/v1/nodes", 404, {"host": "api-8", "state": "in-service"})
        call("POST", "/api/v1/silences/expire", 200, {"id": silence["id"]})
        call("POST", "/api/v1/silences/expire", 404, {"id": silence["id"]})
        call("POST", "/api/v1/silences/expire", 400, {})
        call("GET", "/api/v1/silences", 200)
        self.assertGreater(len(call("GET", "/api/v1/audit", 200, query="?max=5")["audit"]), 4)
        call("GET", "/api/v1/audit", 400, query="?max=0")
        call("GET", "/metrics", 200)
        call("GET", "/healthz", 200)
        call("GET", "/readyz", 200)
        self.bounds_and_roles()
        self.full_book_of_silences()
        self.lamp_that_will_not()
        self.disk_that_does_not_take_it()
        listed = {(method, path, status) for (method, path), operation in operations().items() for status in operation["responses"]}
        self.assertEqual(listed - self.seen, set(), "answer codes that are listed and were not provoked")

    def bounds_and_roles(self):
        for (method, path), operation in operations().items():
            if "413" in operation["responses"]:
                if path in TAKES_MORE:
                    self.call(method.upper(), path, 413, b"{}", headers={"Content-Length": str(TAKES_MORE[path] + 1)})
                else:
                    self.call(method.upper(), path, 413, BIG)
            if "431" in operation["responses"]:
                self.call(method.upper(), path, 431, b"{}", headers={"X-Long": "x" * 9000})
            if "401" in operation["responses"] and "x-role" not in operation:
                self.call(method.upper(), path, 401, b"{}", tcp=True)
                self.call(method.upper(), path, 403, b"{}", tcp=True, headers=signed(b"{}"))
            if "x-role" in operation:
                body = b"{}" if method == "post" else None
                self.call(method.upper(), path, 403, body, tcp=True)
                self.call(method.upper(), path, 401, body, tcp=True, headers={"X-API-Key": "nobody", "X-Timestamp": "1", "X-Signature": "00"})
            wrong = self.site.ask("DELETE", path.replace("{id}", "0"))
            self.assertEqual(wrong.status, 405)
            self.assertIn(method.upper(), wrong.headers["Allow"])
        self.assertEqual(self.site.ask("GET", "/api/v2").status, 404)

    def full_book_of_silences(self):
        def one(index):
            return self.site.ask("POST", "/api/v1/silences", {"matcher": {"host": f"full-{index}"}, "for_ms": 60_000}).status

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(one, range(600)))
        self.assertEqual(set(statuses), {200, 409})
        self.call("POST", "/api/v1/silences", 409, {"matcher": {"host": "one-more"}, "for_ms": 60_000})
        self.call("POST", "/api/v1/nodes", 409, {"host": "one-more", "state": "drained"})

    def lamp_that_will_not(self):
        time.sleep(5.5)  # the test before it ends
        self.lamp.takes = False
        self.call("POST", "/api/v1/test", 504, {"terminal": "hall-1", "what": "speech"})
        self.lamp.takes = True

    def disk_that_does_not_take_it(self):
        """Somebody else holds the store: nothing can be written, and who asks the writer waits behind that."""
        with contextlib.closing(sqlite3.connect(self.site.state / "sentinel.db", isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            with concurrent.futures.ThreadPoolExecutor(30) as pool:
                event = pool.submit(self.site.ask, "POST", "/api/v1/gpu_event", dict(EVENT, node_host="held-1"))
                time.sleep(0.2)
                reads = list(pool.map(lambda _: self.site.ask("GET", "/api/v1/audit"), range(24)))
            self.check("POST", "/api/v1/gpu_event", 503, event.result())
            self.check("GET", "/api/v1/audit", 503, next(read for read in reads if read.status != 200))
            alert = dict(ALERTS["alerts"][0], fingerprint="a1b2c3d4e5f60719", labels={"alertname": "GpuXidError", "Hostname": "held-2"})
            self.call("POST", "/api/v1/alertmanager", 503, dict(ALERTS, alerts=[alert]))
            held = dict(CLOUD_EVENT, id="9", data={"node_host": "held-3", "event_type": "GPU_LOST"})
            self.call("POST", "/api/v1/cloudevents", 503, held, headers=CLOUD)
            self.call("GET", "/readyz", 503)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
