"""What goes wrong during a soak, and when: lanes of faults drawn from shuffled decks by the seed."""
import random
import time

HOUR_S = 3600
GATEWAY_KINDS = ("kill", "kill", "kill_full", "disk_full", "clock")
LAMP_KINDS = ("kill", "dead", "refuse", "stall", "swallow", "lose_answer", "delay", "drip", "busy", "cut", "garbage", "liar", "clock")
# Long enough that a terminal is told as unreachable and its alarms are taken over.
DEAD_S = (16, 24)


class Pace:
    """How long faults last and how long they are apart, in seconds."""

    def __init__(self, short):
        self.lasts = (0.3, 1.6) if short else (2, 10)
        self.apart = (0.4, 1.6) if short else (2, 12)
        self.dead = (1.5, 2.5) if short else DEAD_S


class Lane:
    """One thing after another that happens to one daemon."""

    def __init__(self, seed, kinds, pace, now):
        self.chance, self.kinds, self.pace = random.Random(seed), kinds, pace
        self.deck = []
        self.current = None
        self.ends = 0.0
        self.next_at = now + self.chance.uniform(*pace.apart)
        self.began = {}  # kind -> how often

    def draw(self):
        if not self.deck:
            self.deck = list(self.kinds)
            self.chance.shuffle(self.deck)
        return self.deck.pop()

    def advance(self, now):
        """Begins or ends what is due."""
        if self.current is not None:
            if now >= self.ends:
                self.end()
                self.current = None
                self.next_at = time.monotonic() + self.chance.uniform(*self.pace.apart)
        elif now >= self.next_at:
            kind = self.draw()
            if not self.possible(kind):
                return
            self.current = kind
            self.ends = now + self.chance.uniform(*(self.pace.dead if kind == "dead" else self.pace.lasts))
            self.began[kind] = self.began.get(kind, 0) + 1
            self.begin(kind)

    def heal(self):
        if self.current is not None:
            self.end()
            self.current = None
        self.next_at = float("inf")

    def possible(self, kind):
        raise NotImplementedError

    def begin(self, kind):
        raise NotImplementedError

    def end(self):
        raise NotImplementedError


class GatewayLane(Lane):
    def __init__(self, seed, site, pace, now):
        super().__init__(seed, GATEWAY_KINDS, pace, now)
        self.site = site
        self.clock_may_step = True

    def possible(self, kind):
        if kind == "clock":
            return self.site.clocks_step and self.clock_may_step
        return "full" not in kind or self.site.disk.why_not is None

    def begin(self, kind):
        if kind in ("kill_full", "disk_full"):
            self.site.disk.fill()
        if kind == "clock":
            self.site.clock.step(self.chance.choice((-HOUR_S, HOUR_S, -40, 40)))
        if kind in ("kill", "kill_full"):
            time.sleep(self.chance.uniform(0, 0.5) if kind == "kill_full" else 0)
            self.site.gateway.kill()
            if self.chance.random() < 0.7:  # else it stays away for as long as this lasts
                self.site.gateway.start()

    def end(self):
        if self.current in ("kill_full", "disk_full"):
            self.site.disk.free()
        if self.current == "clock":
            self.site.clock.step(0)
        if self.site.gateway.process.poll() is not None:
            if self.site.gateway.process.returncode != -9:
                self.site.gateway.check_alive()
            self.site.gateway.start()


class LampLane(Lane):
    def __init__(self, seed, site, lamp, pace, now):
        super().__init__(seed, LAMP_KINDS, pace, now)
        self.site, self.lamp = site, lamp

    def possible(self, kind):
        if kind == "liar":  # the old protocol has to believe it
            return any(one.covers_all for one in list(self.lamp.proxy.captured)[-1:])
        return kind != "clock" or self.site.clocks_step

    def begin(self, kind):
        if kind in ("kill", "dead"):
            self.lamp.kill()
            if kind == "kill" and self.chance.random() < 0.5:
                self.lamp.revive()
        elif kind == "clock":
            self.lamp.clock.step(self.chance.choice((-HOUR_S, HOUR_S, -40, 40)))
        else:
            self.lamp.proxy.delay_s = self.chance.uniform(0.1, 1.8)
            self.lamp.proxy.mode = kind

    def end(self):
        self.lamp.proxy.mode = "pass"
        self.lamp.clock.step(0)
        if not self.lamp.up:
            self.lamp.revive()
