#!/usr/bin/env python3
"""Webhooks and Alertmanagers over a gateway that is killed: told of everything, and of nothing under two names."""
import base64
import hashlib
import hmac
import http.server
import json
import random
import threading
import time

from floor import Case, event, run, wait_for

SECRETS = ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", base64.b64encode(b"k" * 32).decode()]
KILLS = 6


class Receiver:
    """A webhook's or an Alertmanager's end. `told`: what was answered 2xx, as (webhook-id, body)."""

    def __init__(self):
        self.status, self.told, self.forged = 200, [], 0
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                name = self.headers.get("webhook-id")
                if name:
                    receiver.check(name, self.headers, body)
                if receiver.status // 100 == 2:
                    receiver.told.append((name, json.loads(body)))
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def check(self, name, headers, body):
        signed = name.encode() + b"." + headers["webhook-timestamp"].encode() + b"." + body
        wanted = {"v1," + base64.b64encode(hmac.new(base64.b64decode(s), signed, hashlib.sha256).digest()).decode() for s in SECRETS}
        fresh = abs(time.time() - int(headers["webhook-timestamp"])) < 5
        if set(headers["webhook-signature"].split()) != wanted or not fresh:
            self.forged += 1

    def kill(self):
        self.server.shutdown()
        self.server.server_close()


class Outputs(Case):
    def hooked(self, *receivers):
        secret = self.folder / "hook.secret"
        secret.touch(0o600)
        secret.write_text("# the new one first\n" + "".join(f"whsec_{s}\n" for s in SECRETS))
        return "".join(f'[[webhook]]\nname = "hook-{i}"\nurl = "http://127.0.0.1:{r.port}/in"\nsecret_file = "{secret}"\nlevel = "NOTICE"\n'
                       for i, r in enumerate(receivers))

    def test_a_webhook_hears_of_everything_however_often_the_gateway_dies(self):
        chance = random.Random(7)
        hook = self.keep(Receiver())
        gateway = self.gateway([], self.hooked(hook)).start()
        opened, number = {}, 0
        for _ in range(KILLS):
            end = time.monotonic() + chance.choice((0.1, 0.4, 1.2))
            while time.monotonic() < end:
                host = f"n{number}"
                number += 1
                opened[host] = gateway.post(event("XID_FATAL", host))["incident"]
                if number % 3 == 0:
                    gateway.post(event("XID_FATAL", host, state="resolved"))
                time.sleep(0.02)
            gateway.kill()
            gateway.start()
        last = {}

        def all_told():
            for _, body in list(hook.told):
                last[body["data"]["id"]] = body["data"]["state"]
            return set(opened.values()) <= set(last)
        wait_for("everything is told", all_told)
        truth = {one["id"]: one["state"] for one in gateway.incidents()}
        wait_for("its newest state is told", lambda: all_told() and all(last[i] == state for i, state in truth.items()))
        self.assertEqual(hook.forged, 0)
        names = {}
        for name, body in hook.told:
            names.setdefault((body["data"]["id"], body["data"]["state"]), set()).add(name)
        self.assertEqual([news for news, ids in names.items() if len(ids) > 1], [])

    def test_a_webhook_that_is_gone_is_left_alone_and_said(self):
        gone, good = self.keep(Receiver()), self.keep(Receiver())
        gone.status = 410
        gateway = self.gateway([], self.hooked(gone, good)).start()
        gateway.post(event())
        wait_for("it says so", lambda: "event=output_disabled output=hook-0" in gateway.words())
        wait_for("the other is told", lambda: good.told)
        gone.status = 200
        gateway.post(event("GPU_LOST", "n2"))
        wait_for("the other is told", lambda: len(good.told) == 2)
        self.assertEqual(gone.told, [])

    def test_an_alertmanager_that_was_started_anew_knows_what_fires(self):
        am = self.keep(Receiver())
        gateway = self.gateway([], f'[[alertmanager]]\nname = "am"\nurl = "http://127.0.0.1:{am.port}"\nrenew_ms = 1000\n').start()
        gateway.post(event())
        wait_for("it fires", lambda: am.told)
        am.told.clear()
        wait_for("it is renewed", lambda: am.told)
        self.assertEqual(am.told[0][1][0]["labels"]["alertname"], "NCCL_TIMEOUT")
        gateway.kill()
        gateway.start()
        am.told.clear()
        wait_for("it is renewed by the next life", lambda: am.told)
        gateway.post(event(state="resolved"))
        wait_for("it has ended", lambda: am.told[-1][1][0]["endsAt"] <= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 1)))
        am.told.clear()
        time.sleep(2.5)
        self.assertEqual(am.told, [])


if __name__ == "__main__":
    run(__name__)
