// The virtual terminal: draws the frames the terminal really renders, shows and plays what it says,
// and has its button. Plain JavaScript, nothing from elsewhere.

const SIZE = 16;
const $ = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");

// --- the matrix -------------------------------------------------------------------------------

const matrix = $("matrix");
const pen = matrix.getContext("2d");
const glow = $("glow").getContext("2d");
const glowImage = glow.createImageData(SIZE, SIZE);

function drawFrame(frame) {
  const cell = matrix.width / SIZE;
  pen.fillStyle = "#050607";
  pen.fillRect(0, 0, matrix.width, matrix.height);
  for (let i = 0; i < SIZE * SIZE; i++) {
    const [r, g, b] = [frame[3 * i], frame[3 * i + 1], frame[3 * i + 2]];
    const x = (i % SIZE + 0.5) * cell;
    const y = (Math.floor(i / SIZE) + 0.5) * cell;
    glowImage.data.set([r, g, b, 255], 4 * i);
    if (r + g + b < 6) {
      pen.fillStyle = "#12151a";
      dot(x, y, cell * 0.36);
      continue;
    }
    // A lit diode: a hot middle, its own colour, and light spilling over the edge of its cell.
    const light = pen.createRadialGradient(x, y, 0, x, y, cell * 0.78);
    const hot = (c) => Math.round(c + (255 - c) * 0.42);
    light.addColorStop(0, `rgb(${hot(r)},${hot(g)},${hot(b)})`);
    light.addColorStop(0.34, `rgb(${r},${g},${b})`);
    light.addColorStop(0.52, `rgba(${r},${g},${b},0.5)`);
    light.addColorStop(1, `rgba(${r},${g},${b},0)`);
    pen.fillStyle = light;
    pen.fillRect(x - cell, y - cell, 2 * cell, 2 * cell);
  }
  glow.putImageData(glowImage, 0, 0);
}

function dot(x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

// Whoever asks for less motion sees a lamp that stands: the brightest frame of the first moments
// after each change, without its flashing and scrolling.
const steady = { until: 0, brightness: -1 };

function showFrame(text) {
  const frame = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  if (frame.length !== 3 * SIZE * SIZE) return;
  if (still.matches) {
    const brightness = frame.reduce((sum, part) => sum + part, 0);
    if (performance.now() > steady.until || brightness <= steady.brightness) return;
    steady.brightness = brightness;
  }
  requestAnimationFrame(() => drawFrame(frame));
}

// --- the words --------------------------------------------------------------------------------

const TITLES = {
  connecting: ["正在连接", "Connecting", "…"],
  lost: ["与终端失去联系", "The terminal does not answer", "…"],
  idle: ["值守中", "On watch, all quiet", "正常 READY"],
  blind: ["监控失明", "Monitoring is blind: no gateway is heard", "盲 BLIND"],
  recovered: ["已恢复正常", "The job moves again", "恢复 NORMAL"],
  P0: ["紧急告警", "Emergency: act now", "P0"],
  P1: ["预警", "Warning: check before the next iteration", "P1"],
  acknowledged: ["已确认，仍未恢复", "Acknowledged, still burning", "已确认 ACK"],
};
const COLORS = { idle: "40, 220, 190", connecting: "120, 130, 145", lost: "120, 130, 145" };

let status = null;

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).join(", ");
}

function time(date) {
  const options = { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false };
  try {
    return date.toLocaleTimeString("zh-CN", { ...options, timeZone: status?.timezone ?? "UTC" });
  } catch {
    return date.toLocaleTimeString("zh-CN", { ...options, timeZone: "UTC" });
  }
}

function fact(id, text, bad = false) {
  $(id).textContent = text;
  $(id).classList.toggle("bad", bad);
}

function showState(state) {
  const [title, subtitle, level] = TITLES[state];
  document.body.dataset.state = state;
  $("title").textContent = title;
  $("subtitle").textContent = subtitle;
  $("level").textContent = level;
}

function showStatus(next) {
  const light = JSON.stringify(next.light);
  if (!status || light !== JSON.stringify(status.light)) {
    steady.until = performance.now() + 700;
    steady.brightness = -1;
  }
  status = next;
  const worst = next.open[0];
  let state = next.state;
  if (state === "alarm") state = worst.acknowledged ? "acknowledged" : worst.severity;
  showState(state);
  const color = COLORS[state] ?? rgb(next.light.color);
  document.documentElement.style.setProperty("--light", color);
  document.body.dataset.burning = next.open.some((one) => !one.acknowledged) ? "yes" : "no";
  document.title = (worst && !worst.acknowledged ? `${worst.severity} · ` : "") + `${next.name} · GPU Sentinel`;
  $("sentence").textContent = next.text;
  $("matrix").setAttribute("aria-label",
    `${next.light.color} ${next.light.mode} ${next.light.matrix_text}`.trim());

  fact("name", next.name);
  const gateway = next.gateway;
  fact("gateway", !gateway ? "无 none" : next.blind ? `失联 lost · ${gateway.address}` : gateway.address,
    next.blind);
  const backend = { card: "声卡 card", wav: "WAV 文件 files", off: "关 off" }[next.speech.backend];
  fact("speech", next.speech.error ? "不可用 unavailable" : backend ?? next.speech.backend,
    Boolean(next.speech.error));

  $("open").replaceChildren(...next.open.map(openItem));
  $("ack-note").textContent = next.muted_until_at
    ? `静音至 ${time(new Date(next.muted_until_at))} · muted until then`
    : "静音 15 分钟，灯光常亮 · 15 minutes of silence, light steady";
  const trouble = next.light_error ?? next.speech.error ??
    (gateway?.ack_pending && gateway.ack_error ? `确认尚未送达网关 · not yet told to the gateway: ${gateway.ack_error}` : null);
  notice(trouble);

  const saying = next.speech.saying;
  $("spoken").hidden = !saying;
  if (saying) $("spoken-text").textContent = saying.spoken;
  $("clock").textContent = time(new Date());
}

function openItem(one) {
  const item = document.createElement("li");
  item.style.setProperty("--own", one.color);
  const level = document.createElement("b");
  level.textContent = one.severity;
  const text = document.createElement("span");
  text.textContent = one.text;
  const mark = document.createElement("small");
  mark.textContent = one.acknowledged ? "✓ 已确认 acknowledged" : "待确认 open";
  item.append(level, text, mark);
  return item;
}

function notice(text) {
  $("notice").hidden = !text;
  $("notice").textContent = text ?? "";
}

// --- the voice --------------------------------------------------------------------------------

let audio = null;  // an AudioContext, once the person has asked for sound
let playing = null;  // {name, source, ends}
let missed = 0;

function showSound() {
  const on = audio !== null;
  $("sound").setAttribute("aria-pressed", String(on));
  $("sound-zh").textContent = on ? "声音已开" : "开启声音";
  $("sound-en").textContent = on ? "Sound is on" : "Enable sound";
  $("sound-note").textContent = on ? "再点一次关闭 · click again to turn off"
    : missed > 0 ? `已错过 ${missed} 句 · ${missed} not heard here`
      : "浏览器需要一次点击 · the browser asks for one click";
}

async function play(name) {
  if (!audio) {
    missed++;
    showSound();
    return;
  }
  try {
    const answer = await fetch(`/api/v1/speech/${encodeURIComponent(name)}.wav`);
    if (!answer.ok) return;
    const buffer = await audio.decodeAudioData(await answer.arrayBuffer());
    stopPlaying();
    const source = audio.createBufferSource();
    source.buffer = buffer;
    source.connect(audio.destination);
    source.start();
    playing = { name, source, ends: audio.currentTime + buffer.duration };
  } catch (error) {
    notice(`声音无法播放 · sound failed: ${error.message}`);
  }
}

function stopPlaying() {
  playing?.source.stop();
  playing = null;
}

function showSpeech(event) {
  if (event.state === "ready") play(event.sound);
  if (event.state === "ended") {
    // The page starts a moment later than the terminal; only what was cut off is cut off here.
    if (playing?.name === event.sound && playing.ends - audio.currentTime > 1) stopPlaying();
  }
}

$("sound").addEventListener("click", () => {
  if (audio) {
    stopPlaying();
    audio.close();
    audio = null;
  } else {
    audio = new AudioContext();
    audio.resume();
    missed = 0;
  }
  showSound();
});

// --- the button -------------------------------------------------------------------------------

$("ack").addEventListener("click", async () => {
  try {
    const answer = await fetch("/api/v1/ack", { method: "POST" });
    const body = await answer.json();
    if (!answer.ok) return notice(body.error);
    if (!body.acknowledged) {
      $("ack-note").textContent = "没有待确认的告警 · nothing is open";
    }
  } catch {
    notice("确认未送达终端 · the press did not reach the terminal");
  }
});

// --- what the terminal sends ------------------------------------------------------------------

const REFUSED_RETRY_MS = 5000;

function listen() {
  const feed = new EventSource("/api/v1/frames");
  feed.addEventListener("frame", (event) => showFrame(event.data));
  feed.addEventListener("status", (event) => showStatus(JSON.parse(event.data)));
  feed.addEventListener("speech", (event) => showSpeech(JSON.parse(event.data)));
  feed.addEventListener("error", () => {
    showState("lost");
    $("spoken").hidden = true;
    // A connection that broke is taken up again by the browser; one that was refused (a page too many) is not.
    if (feed.readyState === EventSource.CLOSED) setTimeout(listen, REFUSED_RETRY_MS);
  });
}

listen();

setInterval(() => { $("clock").textContent = time(new Date()); }, 1000);
$("clock").textContent = time(new Date());
drawFrame(new Uint8Array(3 * SIZE * SIZE));
showSound();
