#!/usr/bin/env python3
"""A site whose every connection goes through TLS with its own CA and is signed with its own keys, with real daemons.

    tests/secure_site/secure_site.py --build build/dev
"""
import argparse
import base64
import hashlib
import hmac
import http.client
import http.server
import json
import os
import pathlib
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from programs import Process, free_port, wait_for as wait  # noqa: E402

EVENT = {"node_host": "gpu-worker-08", "event_type": "XID_FATAL", "cluster_rack": "A03", "gpu_index": 3}


def tls_1_1(side):
    context = ssl.SSLContext(side)
    if side == ssl.PROTOCOL_TLS_CLIENT:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


def tls_1_1_is_refused(address, certificate, key):
    """By the server at `address`. That our client can speak it, one that takes it shows first: else nothing would have been asked."""
    client, server = tls_1_1(ssl.PROTOCOL_TLS_CLIENT), tls_1_1(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            raw, _ = listener.accept()
            with server.wrap_socket(raw, server_side=True) as taken:
                taken.recv(1)

        control = threading.Thread(target=serve, daemon=True)
        control.start()
        with socket.create_connection(listener.getsockname(), timeout=10) as raw, client.wrap_socket(raw) as spoken:
            assert spoken.version() == "TLSv1.1", spoken.version()
        control.join(10)
    try:
        with socket.create_connection(address, timeout=10) as raw, client.wrap_socket(raw) as spoken:
            raise AssertionError(f"{spoken.version()} was spoken")
    except ssl.SSLError as refused:
        assert refused.reason == "TLSV1_ALERT_PROTOCOL_VERSION", refused


def signed_v2(body, key_id, secret):
    """Headers as a sender in a script makes them (docs/formats/signature.md)."""
    stamp = str(time.time_ns() // 1_000_000)
    nonce = base64.urlsafe_b64encode(secrets.token_bytes(17)).decode()[:22]
    text = "\n".join(["GS2", "POST", "/api/v1/gpu_event", ":gateway", key_id, stamp, nonce, hashlib.sha256(body).hexdigest()])
    digest = hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()
    return {"X-Timestamp-Ms": stamp, "X-Nonce": nonce, "X-Signature-V2": f"kid={key_id};v=2;sig={digest}"}


class Receiver:
    """A webhook's receiver behind TLS, whose certificate is for localhost and for nothing else."""

    def __init__(self, folder):
        self.told = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.told.append((self.path, self.headers["webhook-id"], json.loads(body)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "tls/chat.crt", folder / "tls/chat.key")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Site:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.web, self.agents, self.lamp = free_port(), free_port(), free_port()
        self.processes = {}
        self.ctl("ca", "init", "--folder", folder / "ca")
        for name in ("gateway", "hall-1", "agent-1", "sender"):
            self.ctl("ca", "issue", name, "--host", "127.0.0.1", "--folder", folder / "ca", "--out", folder / "tls")
        self.ctl("ca", "issue", "chat", "--for", "server", "--host", "localhost", "--folder", folder / "ca", "--out", folder / "tls")
        self.receiver = Receiver(folder)
        secret = folder / "chat.secret"
        secret.touch(0o600)
        secret.write_text("whsec_" + base64.b64encode(secrets.token_bytes(32)).decode() + "\n")
        self.ctl("key", "new", "first", "--folder", folder / "keys")
        self.ctl("key", "new", "slurm", "--folder", folder / "senders")

    def ctl(self, *arguments):
        done = subprocess.run([self.build / "apps/sentinelctl/sentinelctl", *arguments], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tls(self, name, clients=None):
        text = f'[tls]\ncertificate = "{self.folder}/tls/{name}.crt"\nkey = "{self.folder}/tls/{name}.key"\nca = "{self.folder}/ca/ca.crt"\n'
        return text + (f'clients = "{clients}"\n' if clients else "")

    def start(self, program, name, config):
        path = self.folder / f"{name}.toml"
        path.write_text(config)
        self.processes[name] = Process(program, path, self.folder / f"{name}.log")
        self.processes[name].start()

    def start_all(self):
        f = self.folder
        (f / "state").mkdir()
        self.start("sentinel-gateway", "gateway", f"""
listen = ["tls:127.0.0.1:{self.web}", "unix:{f}/g.sock"]
agents = ["tls:127.0.0.1:{self.agents}"]
state_dir = "{f}/state"
key_file = "{f}/keys"
[ingest]
open_to = "nobody"
[[senders]]
name = "slurm"
key_file = "{f}/senders"
[[access.keys]]
certificate = "sender"
role = "admin"
[[terminals]]
name = "hall-1"
address = "tls:127.0.0.1:{self.lamp}"
protocol = "v2"
[[webhook]]
name = "chat"
url = "https://localhost:{self.receiver.port}/told"
secret_file = "{f}/chat.secret"
ca_file = "{f}/ca/ca.crt"
[[webhook]]
name = "under-another-name"
url = "https://127.0.0.1:{self.receiver.port}/untold"
secret_file = "{f}/chat.secret"
ca_file = "{f}/ca/ca.crt"
[[webhook]]
name = "of-another-ca"
url = "https://localhost:{self.receiver.port}/untold"
secret_file = "{f}/chat.secret"
""" + self.tls("gateway", "optional"))
        self.start("sentinel-terminal", "terminal", f"""
name = "hall-1"
listen = "tls:127.0.0.1:{self.lamp}"
gateway = "tls:127.0.0.1:{self.web}"
key_file = "{f}/keys"
protocol = "v2"
[audio]
output = "off"
""" + self.tls("hall-1"))
        self.start("sentinel-agent", "agent", f"""
host = "gpu-worker-08"
board_dir = "{f}"
gateway = "tls:127.0.0.1:{self.agents}"
ingest_socket = ""
spool_dir = "{f}/spool"
""" + self.tls("agent-1"))

    def stop(self):
        for process in self.processes.values():
            process.kill(signal.SIGTERM)

    def ask(self, port, method, path, body=None, headers=None, certificate=None):
        context = ssl.create_default_context(cafile=self.folder / "ca/ca.crt")
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if certificate:
            context.load_cert_chain(self.folder / f"tls/{certificate}.crt", self.folder / f"tls/{certificate}.key")
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def json(self, port, path):
        status, body = self.ask(port, "GET", path)
        assert status == 200, body
        return json.loads(body)

    def up(self, port, path):
        try:
            return self.ask(port, "GET", path)[0] == 200
        except OSError:
            return False


def secret_of(path):
    return next(line.split('"')[1] for line in path.read_text().splitlines() if line.startswith("secret"))


def check(site):
    wait("the gateway", lambda: site.up(site.web, "/readyz"))
    wait("the terminal", lambda: site.up(site.lamp, "/healthz"))
    wait("the agent, through TLS", lambda: any(a.get("connected") for a in site.json(site.web, "/api/v1/agents")["agents"]))

    body = json.dumps(EVENT).encode()
    post = lambda headers=None, certificate=None, event=body: site.ask(site.web, "POST", "/api/v1/gpu_event", event, headers, certificate)[0]
    assert post() == 401, "an event without a proof"
    headers = signed_v2(body, "slurm", secret_of(site.folder / "senders/slurm.key"))
    assert post(headers) == 200, "a signed event"
    assert post(headers) == 401, "the same again"
    assert post(signed_v2(body, "slurm", "guessed")) == 401, "a forged event"
    assert post(signed_v2(body, "first", secret_of(site.folder / "keys/first.key"))) == 403, "an event signed with a terminal's key"
    assert post(certificate="sender") == 200, "an event from who has a certificate"

    lit = lambda text: any(text in m["text"] for m in site.json(site.lamp, "/api/v1/status")["history"])
    wait("the lamp", lambda: lit("gpu-worker-08"))

    # The chat's server is told under the name its certificate bears; under another, or where its CA is not trusted, it is told nothing,
    # and asked again.
    told = lambda path: [body["data"]["culprit"]["host"] for at, _, body in site.receiver.told if at == path]
    wait("the webhook", lambda: "gpu-worker-08" in told("/told"))
    log = site.folder / "gateway.log"
    refused = lambda name, why: sum(f"event=output_not_told output={name} " in line and why in line for line in log.read_text().splitlines()) > 1
    wait("the wrong name to be refused twice", lambda: refused("under-another-name", "does not bear the name"))
    wait("the unknown CA to be refused twice", lambda: refused("of-another-ca", "of no CA that is trusted here"))
    assert not told("/untold"), "a receiver was told that is not who it should be"

    # An operator by his certificate, from the gateway's own host.
    asked = site.ctl("--gateway", f"tls:127.0.0.1:{site.web}", "--ca", site.folder / "ca/ca.crt", "--certificate", site.folder / "tls/sender.crt",
                     "--certificate-key", site.folder / "tls/sender.key", "silence", "add", "--host", "nowhere", "--for", "1m")
    assert "nowhere" in asked, asked

    # Plain HTTP at a TLS address, and a peer that connects and says nothing, get nowhere and hold nobody up.
    silent = socket.create_connection(("127.0.0.1", site.web))
    with socket.create_connection(("127.0.0.1", site.web), timeout=10) as plain:
        plain.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert not plain.recv(100).startswith(b"HTTP"), "plain HTTP was answered"
    assert site.up(site.web, "/readyz")
    silent.close()
    tls_1_1_is_refused(("127.0.0.1", site.web), site.folder / "tls/gateway.crt", site.folder / "tls/gateway.key")

    # Nobody is an agent who has no certificate, though the same daemon answers without one elsewhere.
    context = ssl.create_default_context(cafile=site.folder / "ca/ca.crt")
    try:
        with socket.create_connection(("127.0.0.1", site.agents), timeout=3) as raw, context.wrap_socket(raw, server_hostname="127.0.0.1") as stranger:
            assert stranger.recv(1) == b"", "an agent without a certificate was answered"
    except TimeoutError:
        raise AssertionError("an agent without a certificate was let in") from None
    except (ssl.SSLError, ConnectionError):
        pass

    # The keys are exchanged: terminal first, then the gateway, then the old key is revoked; no alarm is lost on the way.
    site.ctl("key", "rotate", "second", "--folder", site.folder / "keys")
    number = 9
    for step in ("terminal", "gateway", None):
        if step:
            site.processes[step].process.send_signal(signal.SIGHUP)
        else:
            site.ctl("key", "revoke", "first", "--folder", site.folder / "keys")
            for name in ("terminal", "gateway"):
                site.processes[name].process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        event = json.dumps({**EVENT, "node_host": f"gpu-worker-{number:02}"}).encode()
        assert post(certificate="sender", event=event) == 200
        wait(f"the lamp while keys are exchanged ({step})", lambda: lit(f"gpu-worker-{number:02}"))
        number += 1
    listed = json.loads(site.ctl("--json", "key", "list", "--folder", site.folder / "keys"))["keys"]
    assert {k["key"]: k["state"] for k in listed} == {"first": "revoked", "second": "active"}, listed

    # A sender's only key is revoked: read again, the gateway does not know it any more.
    secret = secret_of(site.folder / "senders/slurm.key")
    assert post(signed_v2(body, "slurm", secret)) == 200, "a signed event, once more"
    site.ctl("key", "revoke", "slurm", "--folder", site.folder / "senders")
    site.processes["gateway"].process.send_signal(signal.SIGHUP)
    wait("the revoked key to be refused", lambda: post(signed_v2(body, "slurm", secret)) == 401)

    # A press of the button reaches the gateway, signed with the new key.
    status, answer = site.ask(site.lamp, "POST", "/api/v1/ack")
    assert status == 200 and json.loads(answer)["acknowledged"], answer
    wait("the press at the gateway", lambda: all(i["state"] != "open" for i in site.json(site.web, "/api/v1/incidents")["incidents"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    build = parser.parse_args().build.resolve()
    with tempfile.TemporaryDirectory(prefix="secure-site-") as folder:
        os.chmod(folder, 0o700)
        Process.build = build
        site = Site(build, pathlib.Path(folder))
        try:
            site.start_all()
            check(site)
        except BaseException:
            for log in pathlib.Path(folder).glob("*.log"):
                print(f"--- {log.name}\n{log.read_text()[-3000:]}", file=sys.stderr)
            raise
        finally:
            site.stop()
    print("secure_site: ok")


if __name__ == "__main__":
    main()
