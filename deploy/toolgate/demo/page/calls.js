// Recent turns, and the call tree of one of them as a waterfall.

import { gateway } from "./api.js";
import { copy, duration, make, preciseClock } from "./dom.js";

const WORDS = {
  running: "running", ok: "done", failed: "failed", denied: "denied", cancelled: "stopped", unknown: "not known",
  not_started: "not started", interrupted: "interrupted", parked: "waits",
};
const MARKS = { ok: "✓", running: "●", failed: "✕", denied: "⊘", cancelled: "■", unknown: "?", not_started: "–", interrupted: "!", parked: "…" };
const LAYERS = ["validation", "permission", "execution", "fatal"];
const POLL_MS = 600;

const at = (id) => document.getElementById(id);
const view = { ref: null, nodes: new Map(), turn: null, open: new Set(), rows: new Map(), events: null, listed: "", seen: null };

export function start(light) {
  at("ref").addEventListener("click", () => copy(view.ref, at("ref")));
  at("follow").addEventListener("change", () => { if (at("follow").checked) view.seen = null; });
  at("tree").addEventListener("keydown", arrows);
  at("turns").addEventListener("keydown", arrows);
  new ResizeObserver(() => paint()).observe(at("tree"));
  const loop = async () => {
    if (!document.hidden) await list(light);
    setTimeout(loop, POLL_MS);
  };
  loop();
  const tick = () => {
    if (isRunning()) paint();
    requestAnimationFrame(() => setTimeout(tick, 60));
  };
  tick();
}

export const reference = () => view.ref;

/** Shows a turn that somebody asked for: the newest is no longer followed. */
export function show(ref) {
  at("follow").checked = false;
  select(ref);
}

// The list -----------------------------------------------------------------

async function list(light) {
  const turns = await gateway.recent().then((found) => { light("on"); return found; }, () => { light("off"); return null; });
  if (!turns) return;
  const known = JSON.stringify(turns);
  if (known !== view.listed) {
    view.listed = known;
    const focused = document.activeElement?.dataset?.turn;
    at("turns").replaceChildren(...turns.map(row));
    if (focused) at("turns").querySelector(`[data-turn="${CSS.escape(focused)}"]`)?.focus();
    const running = turns.filter((turn) => turn.state === "running").length;
    at("calls-count").hidden = !running;
    at("calls-count").textContent = String(running);
  }
  // What waited for people goes on, and what was shown meanwhile is old.
  const waited = [...view.nodes.values()].some((node) => node.kind === "turn" && node.state === "parked");
  if (waited && turns.some((turn) => turn.turn === view.ref && turn.state !== "parked")) load(view.ref);
  const newest = turns[0]?.turn;
  if (newest && at("follow").checked && newest !== view.seen) {
    view.seen = newest;
    select(newest);
  }
}

function row(turn) {
  const tone = toneOf(turn);
  const asked = turn.asked || turn.args || (turn.tools || []).join(", ") || "a turn";
  // A number tells a person nothing.
  const sender = turn.sender?.name || (/^(\d+|[UW][A-Z0-9]{7,})$/.test(turn.sender?.id || turn.sender) ? null : turn.sender?.id || turn.sender);
  const place = [turn.platform, sender].filter(Boolean).join(" · ");
  const button = make("button", {
    type: "button", "aria-current": turn.turn === view.ref ? "true" : undefined,
    data: { turn: turn.turn, tone }, on: { click: () => show(turn.turn) },
  },
  make("span", { class: "glyph", text: MARKS[turn.state] || "•", "aria-hidden": "true" }),
  make("span", { class: "asked", text: asked.replace(/\s*\n\s*/g, "  ⏎  ") }),
  make("span", { class: "place", text: place }),
  make("span", { class: "word", text: word(turn) }),
  make("span", { class: "took", text: duration(turn.duration_us) }),
  make("time", { text: preciseClock(turn.started_us / 1_000) }));
  return make("li", {}, button);
}

// One turn -----------------------------------------------------------------

function select(ref) {
  if (ref === view.ref) return;
  view.events?.close();
  Object.assign(view, { ref, nodes: new Map(), turn: null, open: new Set(), events: null });
  at("tree").replaceChildren();
  view.rows = new Map();
  for (const button of at("turns").querySelectorAll("button")) {
    if (button.dataset.turn === ref) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
  }
  load(ref);
}

async function load(ref) {
  const turn = await gateway.trace(ref).catch(() => null);
  if (ref !== view.ref) return;
  if (turn) {
    view.turn = turn;
    for (const node of turn.nodes || []) view.nodes.set(node.call, node);
  }
  layout();
  if (!turn || isRunning()) watch(ref);
}

function watch(ref) {
  const events = gateway.watch(ref);
  view.events = events;
  const node = (event) => {
    const found = JSON.parse(event.data);
    const one = found.node || found;
    if (ref !== view.ref || one.call === undefined) return;
    view.nodes.set(one.call, { ...view.nodes.get(one.call), ...one });
    layout();
  };
  const end = () => { events.close(); if (ref === view.ref) setTimeout(() => load(ref), 120); };
  for (const name of ["message", "node"]) events.addEventListener(name, node);
  for (const name of ["end", "done"]) events.addEventListener(name, end);
  // A stream that ends is an error to the browser: what is missing is read once more.
  events.addEventListener("error", () => { events.close(); if (ref === view.ref) setTimeout(() => load(ref), 500); });
}

const isRunning = () => [...view.nodes.values()].some((node) => node.state === "running");

/** Parents before children, both in the order of their start; what has no parent hangs under the turn. */
function ordered() {
  const nodes = [...view.nodes.values()].sort((a, b) => a.started_us - b.started_us || a.call - b.call);
  const root = nodes.find((node) => node.kind === "turn");
  const children = new Map();
  for (const node of nodes) {
    if (node === root) continue;
    const known = node.parent !== undefined && node.parent !== node.call && view.nodes.has(node.parent);
    const parent = known ? node.parent : root?.call;
    children.set(parent, [...(children.get(parent) || []), node]);
  }
  const out = [];
  const seen = new Set();
  const stack = root ? [[root, 0]] : (children.get(undefined) || []).map((node) => [node, 0]).reverse();
  const walk = () => {
    while (stack.length) {
      const [node, depth] = stack.pop();
      if (seen.has(node.call)) continue;
      seen.add(node.call);
      out.push({ node, depth });
      for (const child of (children.get(node.call) || []).slice().reverse()) stack.push([child, depth + 1]);
    }
  };
  walk();
  // Nodes that point at each other in a circle are shown too.
  for (const node of nodes) if (!seen.has(node.call)) { stack.push([node, 1]); walk(); }
  return out;
}

function layout() {
  const rows = ordered();
  at("empty").hidden = rows.length > 0;
  at("ref").hidden = !view.ref;
  at("ref").textContent = view.ref || "";
  facts();
  const items = rows.map(({ node, depth }) => line(node, depth));
  const list = at("tree");
  items.forEach((item, i) => { if (list.children[i] !== item) list.insertBefore(item, list.children[i] || null); });
  while (list.children.length > items.length) list.lastElementChild.remove();
  paint();
}

function facts() {
  const { turn } = view;
  const root = [...view.nodes.values()].find((node) => node.kind === "turn");
  const caller = root?.place?.caller || {};
  const models = new Set([...view.nodes.values()].filter((node) => node.kind === "model_step").map((node) => node.tool));
  const name = turn?.sender?.name || turn?.sender?.id || turn?.sender || caller.sender?.name;
  const parts = [turn?.platform || caller.platform, typeof name === "string" ? name : null, root ? duration(root.duration_us) : null, ...models];
  at("facts").textContent = parts.filter(Boolean).join(" · ");
}

/** The element of a node, made once and then kept. */
function line(node, depth) {
  let item = view.rows.get(node.call);
  if (!item) {
    item = make("li");
    const button = make("button", { type: "button", class: "call", on: { click: () => toggle(node.call) } },
      make("span", { class: "name" }, make("span", { class: "glyph", "aria-hidden": "true" }), make("b"), make("i")),
      make("span", { class: "track", "aria-hidden": "true" }, make("span", { class: "queued" }), make("span", { class: "run" })),
      make("span", { class: "took" }));
    item.append(button);
    view.rows.set(node.call, item);
  }
  const button = item.firstElementChild;
  const turn = node.kind === "turn";
  const step = node.kind === "model_step";
  const approval = node.kind === "approval";
  const name = turn ? "turn" : step ? "model" : approval ? "approval" : node.tool || node.kind.replace("_", " ");
  item.dataset.tone = toneOf(node);
  item.style.setProperty("--depth", depth);
  button.setAttribute("aria-expanded", String(view.open.has(node.call)));
  const aloud = step ? `model ${node.tool || ""}`.trim() : approval ? `approval of ${node.tool}` : name;
  button.setAttribute("aria-label", `${aloud}${node.path ? `, call ${node.path}` : ""}, level ${depth + 1}, ${word(node)} ${duration(node.duration_us)}`);
  button.querySelector(".glyph").textContent = MARKS[node.state] || "•";
  button.querySelector("b").textContent = name;
  const well = turn ? node.args : step ? tokens(node.usage) || node.tool : approval ? node.result : node.path;
  button.querySelector("i").textContent = node.state === "ok" ? well || "" : approval && node.result ? node.result : word(node);
  details(item, node);
  return item;
}

function toggle(call) {
  if (!view.open.delete(call)) view.open.add(call);
  layout();
}

function details(item, node) {
  item.querySelector(".details")?.remove();
  if (!view.open.has(node.call)) return;
  const fact = (name, value) => (value === undefined || value === null || value === "" ? [] : [make("dt", { text: name }), make("dd", { text: String(value) })]);
  const body = (name, value) => (value ? [make("dt", { text: name }), make("dd", {}, make("pre", { text: pretty(value) }))] : []);
  const why = node.code ? `${word(node)}` : WORDS[node.state] || node.state;
  item.append(make("dl", { class: "details" },
    ...fact(node.kind === "model_step" ? "model" : node.kind === "approval" ? "of" : "", node.kind === "call" || node.kind === "turn" ? "" : node.tool),
    ...fact("ended", why), ...fact("path", node.path),
    ...fact("started", preciseClock(node.started_us / 1_000)), ...fact("took", duration(node.duration_us)),
    ...fact("waited", node.queued_us ? duration(node.queued_us) : ""), ...fact("attempts", node.attempts > 1 ? node.attempts : ""),
    ...fact("tokens", tokens(node.usage)), ...fact("cost", node.usage?.cost_micros ? (node.usage.cost_micros / 1e6).toFixed(6) : ""),
    ...fact("upstream", node.upstream_status), ...fact("marks", (node.marks || []).join("; ")),
    ...body(node.kind === "turn" ? "asked" : "arguments", node.args), ...body(node.kind === "model_step" ? "said" : "result", node.result), ...body("told the model", node.told), ...body("for operators", node.detail)));
}

/** Of the prompt, and of what was said. */
function tokens(usage) {
  if (!usage) return "";
  return `${usage.input}${usage.cached ? ` (${usage.cached} cached)` : ""} → ${usage.output} tokens`;
}

function pretty(value) {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try { return JSON.stringify(JSON.parse(value), null, 2); } catch { return value; }
}

// Time ---------------------------------------------------------------------

function paint() {
  const nodes = [...view.nodes.values()];
  if (!nodes.length) { at("axis").replaceChildren(); return; }
  const now = Date.now() * 1_000;
  const end = (node) => node.started_us + (node.duration_us ?? (node.state === "running" ? Math.max(now - node.started_us, 0) : 0));
  const from = Math.min(...nodes.map((node) => node.started_us));
  const span = Math.max(...nodes.map(end)) - from || 1;
  const full = span * 1.02;
  for (const node of nodes) {
    const button = view.rows.get(node.call)?.firstElementChild;
    if (!button) continue;
    const left = ((node.started_us - from) / full) * 100;
    const width = ((end(node) - node.started_us) / full) * 100;
    const queued = Math.min(((node.queued_us || 0) / full) * 100, width);
    place(button.querySelector(".queued"), left, queued);
    place(button.querySelector(".run"), left + queued, width - queued);
    button.querySelector(".took").textContent = node.state === "not_started" ? "–" : duration(end(node) - node.started_us);
  }
  axis(full);
}

function place(bar, left, width) {
  bar.style.left = `${left}%`;
  bar.style.width = `${width}%`;
}

function axis(span) {
  const wide = at("axis").clientWidth > 220 ? 5 : 3;
  const power = 10 ** Math.floor(Math.log10(span / wide));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => span / n <= wide) || power * 10;
  const key = `${step}/${Math.round(span / step * 50)}`;
  if (at("axis").dataset.key === key) return;
  at("axis").dataset.key = key;
  const ticks = [];
  for (let t = 0; t <= span; t += step) {
    const tick = make("span", { text: t ? duration(t).replace(/(\.\d*?)0+(?= )/, "$1").replace(/\.(?= )/, "") : "0" });
    tick.style.left = `${(t / span) * 100}%`;
    ticks.push(tick);
  }
  at("axis").replaceChildren(...ticks);
  at("tree").style.setProperty("--step", `${(step / span) * 100}%`);
}

// Words and tones ----------------------------------------------------------

function word(node) {
  const state = WORDS[node.state] || node.state || "";
  const layer = node.layer || (node.state === "denied" ? "permission" : null);
  if (!layer || node.state === "ok" || node.state === "running") return state;
  const calm = ["cancelled", "not_started", "interrupted", "unknown"].includes(node.state);
  return calm ? `${state} · ${node.code || layer}` : `${layer} · ${node.code || state}`;
}

function toneOf(node) {
  if (["ok", "running"].includes(node.state)) return node.state;
  if (["cancelled", "not_started", "interrupted", "unknown", "parked"].includes(node.state)) return "open";
  if (node.state === "denied") return "permission";
  return LAYERS.includes(node.layer) ? node.layer : "execution";
}

/** Up and down move between the rows of a list. */
function arrows(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const buttons = [...event.currentTarget.querySelectorAll("li > button")];
  const to = buttons[buttons.indexOf(document.activeElement) + step];
  if (!to) return;
  event.preventDefault();
  to.focus();
}
