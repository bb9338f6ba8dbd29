"""The network between two daemons, as bad as it is asked to be. Keeps what was said, for those who would say it again."""
import asyncio
import collections
import threading
import time

CAPTURED_MAX = 300
HEAD_MAX, BODY_MAX = 16 << 10, 1 << 20
MODES = (
    "pass",         # as it is
    "refuse",       # closed as soon as opened
    "stall",        # opened, never read
    "swallow",      # read, never passed on, never answered
    "lose_answer",  # passed on and carried out; the answer is lost
    "delay",        # everything is late
    "drip",         # the answer comes byte by byte
    "busy",         # 503 with Retry-After
    "cut",          # half of it, then gone
    "garbage",      # answered by something that is no HTTP
    "liar",         # never passed on, and answered as if it had been carried out
)
V2_HEADER = b"\r\nx-signature-v2:"


class Captured:
    def __init__(self, message):
        self.message, self.at = message, time.monotonic()
        self.covers_all = V2_HEADER in message.lower()  # signed with what rides beside the body, and answered so


async def read_message(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    return head + (await reader.readexactly(length) if 0 < length <= BODY_MAX else b"")


class Proxy:
    """A port of its own in front of another; runs on the event loop of Network."""

    def __init__(self, network, target_port):
        self.network, self.target_port = network, target_port
        self.mode = "pass"
        self.delay_s = 0.0
        self.captured = collections.deque(maxlen=CAPTURED_MAX)
        self.requests = 0
        server = network.call(asyncio.start_server(self.serve, "127.0.0.1", 0, limit=HEAD_MAX))
        self.port = server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        mode, delay = self.mode, self.delay_s
        try:
            await self.carry(mode, delay, reader, writer)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def until_closed(self, reader):
        while await reader.read(4096):
            pass

    async def carry(self, mode, delay, reader, writer):
        if mode == "refuse":
            return writer.transport.abort()
        if mode == "stall":
            return await asyncio.sleep(30)
        request = await read_message(reader)
        self.requests += 1
        if mode == "swallow":
            return await self.until_closed(reader)
        if mode == "busy":
            writer.write(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n")
            return await writer.drain()
        if mode == "garbage":
            writer.write(b"\x16\x03\x01 this is not the protocol you are looking for\r\n\r\n")
            return await writer.drain()
        if mode == "liar":
            lie = b'{"id":"-","state":"playing","muted_until_at":null}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(lie), lie))
            return await writer.drain()
        if mode == "delay":
            await asyncio.sleep(delay)
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self.target_port, limit=HEAD_MAX)
        try:
            if mode == "cut":
                to_writer.write(request[:len(request) // 2])
                return await to_writer.drain()
            to_writer.write(request)
            self.captured.append(Captured(request))
            answer = await read_message(to_reader)
            if mode == "lose_answer":
                return await self.until_closed(reader)
            if mode == "drip":
                for byte in answer:
                    writer.write(bytes((byte,)))
                    await writer.drain()
                    await asyncio.sleep(0.05)
                return None
            if mode == "delay":
                await asyncio.sleep(delay)
            writer.write(answer)
            return await writer.drain()
        finally:
            to_writer.close()


class Network:
    """An event loop on a thread of its own; what is set on a Proxy from outside holds for the next connection."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(5)

    def proxy(self, target_port):
        return Proxy(self, target_port)
