"""What an existing sender posts, and the lamp that says it."""
import json
import time
import urllib.request

from daemons import Site
from truth import RED_LIMIT_MS
from watching import Watch, lamp_of

EVENT = {
    "cluster_rack": "机架 A03", "node_host": "gpu-worker-08-5f7c9d8b4a", "event_type": "NCCL_TIMEOUT",
    "gpu_index": 3, "gpu_util": 0,
}
TEXT = "训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起"


def run_event(options, timeline, directory, hold):
    site = Site(options.build, [], directory, late_history_min=0)
    try:
        site.wait_ready()
        timeline.say("ready", "blue", f"gateway {site.gateway_url}, virtual terminal {site.terminal_url}/")
        watch = Watch(site, timeline)
        posted = time.monotonic() * 1000
        request = urllib.request.Request(site.gateway_url + "/api/v1/gpu_event", method="POST",
                                         data=json.dumps(EVENT, ensure_ascii=False).encode())
        with urllib.request.urlopen(request, timeout=3) as answer:
            timeline.say("posted", "yellow", f"{EVENT['event_type']} of {EVENT['node_host']}: {answer.status}")
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and not watch.spoken:
            watch.look()
            time.sleep(0.01)
        result = {"red_ms": None, "voice_ms": None, "lamp": None, "spoken": None, "ok": False, "why": "no red lamp"}
        if watch.red:
            result.update(red_ms=round(watch.red["first_frame_mono_ms"] - posted, 1), lamp=lamp_of(watch.red))
            right = watch.red["text"] == TEXT and lamp_of(watch.red).upper() == "#FF0000 FLASH"
            result["ok"] = right and result["red_ms"] < RED_LIMIT_MS
            result["why"] = "the lamp says what was posted" if result["ok"] else f"expected {TEXT!r}"
        if watch.spoken:
            result.update(voice_ms=round(watch.spoken["first_sound_mono_ms"] - posted, 1), spoken=watch.spoken["spoken"])
        if hold:
            hold(timeline, site)
        return result
    finally:
        site.stop()
