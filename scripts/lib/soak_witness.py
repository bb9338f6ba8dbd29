"""What the terminals did, by their own word: every message in their logs, and in their status when the light was first lit."""
import re
import time

from daemons import get_json

MESSAGE = re.compile(r'event=message id=(\S+) incident=(\S+) severity=(\S+) color=(\S+) mode=(\S+)(?: audio=(\S+))? state=(\S+) text="(.*)"$')
STARTED = " event=started "
PLAYED = ("playing", "queued", "muted", "superseded")


class Message:
    __slots__ = ("id", "incident", "severity", "color", "mode", "audio", "state", "text", "life", "at_ms")

    def __init__(self, fields, life):
        self.id, self.incident, self.severity, self.color, self.mode, self.audio, self.state, self.text = fields
        self.life, self.at_ms = life, time.monotonic() * 1000

    @property
    def lights(self):
        return self.severity in ("P0", "P1") and self.mode != "off"


class Witness:
    """Of one terminal. Its log outlives it."""

    def __init__(self, lamp):
        self.lamp = lamp
        self.offset, self.rest, self.life = 0, b"", 0
        self.messages = []   # all but duplicates, in order
        self.first_ms = {}   # incident -> when it was first lit here
        self.frames = {}     # message id -> its first frame, where the status was seen in time
        self.duplicates = 0

    def read_log(self):
        with open(self.lamp.log_path, "rb") as log:
            log.seek(self.offset)
            data = log.read()
        self.offset += len(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.take(line.decode("utf-8", "replace"))

    def take(self, line):
        if STARTED in line:
            self.life += 1
            return
        match = MESSAGE.search(line)
        if match is None:
            return
        message = Message(match.groups(), self.life)
        if message.state not in PLAYED:
            self.duplicates += 1
            return
        self.messages.append(message)
        if message.lights:
            self.first_ms.setdefault(message.incident, message.at_ms)

    def read_status(self):
        try:
            status = get_json(self.lamp.url + "/api/v1/status", timeout=0.5)
        except (OSError, ValueError):
            return None
        for entry in status["history"]:
            if entry["first_frame_mono_ms"] is not None:
                self.frames.setdefault(entry["message_id"], entry["first_frame_mono_ms"])
        return status

    def lit_ms(self, incident):
        """When the light of that incident first came on here: to the millisecond where the status was seen in time, else when its line
        in the log was read, which is later."""
        exact = [self.frames[message.id] for message in self.messages_of.get(incident, ()) if message.id in self.frames]
        return min([*exact, self.first_ms[incident]]) if incident in self.first_ms else None

    @property
    def messages_of(self):
        if not hasattr(self, "_messages_of") or self._counted != len(self.messages):
            self._messages_of, self._counted = {}, len(self.messages)
            for message in self.messages:
                if message.lights:
                    self._messages_of.setdefault(message.incident, []).append(message)
        return self._messages_of
