// What happened behind an answer: the calls while they run, and the whole tree to unfold.

import { duration, make } from "./dom.js";

const WORDS = {
  running: "runs", ok: "done", failed: "failed", denied: "not allowed", cancelled: "stopped", unknown: "outcome not known",
  not_started: "not started", interrupted: "interrupted", parked: "waits for a person",
};
const MARKS = { ok: "✓", running: "●", failed: "✕", denied: "⊘", cancelled: "■", unknown: "?", not_started: "–", interrupted: "!", parked: "…" };

export class Tree {
  constructor() {
    this.nodes = new Map();
    this.open = new Set();
    this.live = make("ul", { class: "activity", "aria-label": "Tools at work" });
    this.summary = make("summary");
    this.list = make("div", { class: "tree" });
    this.details = make("details", { class: "behind", hidden: true }, this.summary, this.list);
    this.details.addEventListener("toggle", () => { if (this.details.open) this.draw(); });
  }

  take(node) {
    this.nodes.set(node.call, node);
    this.running();
    if (this.details.open) this.draw();
  }

  calls() { return [...this.nodes.values()].filter((node) => node.kind === "call"); }

  running() {
    this.live.replaceChildren(...this.calls().filter((node) => node.parent === 0 || this.nodes.get(node.parent)?.kind !== "call").map((node) =>
      make("li", { data: { state: node.state, tone: tone(node) } },
        make("span", { class: "glyph", text: MARKS[node.state] || "•", "aria-hidden": "true" }),
        make("code", { text: node.tool }), make("span", { class: "args", text: brief(node.args) }),
        make("span", { class: "took", text: node.state === "running" ? "" : `${node.state === "ok" ? "" : `${WORDS[node.state] || node.state} · `}${duration(node.duration_us)}` }))));
  }

  /** The turn is over: what ran is folded up. */
  end() {
    this.live.remove();
    const calls = this.calls();
    const root = [...this.nodes.values()].find((node) => node.kind === "turn");
    const steps = [...this.nodes.values()].filter((node) => node.kind === "model_step");
    if (!calls.length && !steps.length) return;
    const failed = calls.filter((node) => node.state !== "ok").length;
    const tokens = steps.reduce((sum, step) => sum + (step.usage?.input || 0) + (step.usage?.output || 0), 0);
    const words = [
      calls.length ? `${calls.length} ${calls.length === 1 ? "call" : "calls"}` : "no calls",
      failed ? `${failed} not done` : null,
      steps.length ? `${steps.length} ${steps.length === 1 ? "step" : "steps"}` : null,
      tokens ? `${tokens} tokens` : null, duration(root?.duration_us),
    ];
    this.summary.textContent = words.filter(Boolean).join(" · ");
    this.details.hidden = false;
    if (this.details.open) this.draw();
  }

  draw() {
    const nodes = [...this.nodes.values()].sort((a, b) => a.started_us - b.started_us || a.call - b.call);
    const root = nodes.find((node) => node.kind === "turn");
    const below = new Map();
    for (const node of nodes) {
      if (node === root) continue;
      const parent = this.nodes.has(node.parent) && node.parent !== node.call ? node.parent : root?.call;
      below.set(parent, [...(below.get(parent) || []), node]);
    }
    const drawn = new Set();
    const branch = (parent) => {
      const children = (below.get(parent) || []).filter((node) => !drawn.has(node.call));
      if (!children.length) return null;
      children.forEach((node) => drawn.add(node.call));
      return make("ul", {}, ...children.map((node) => make("li", {}, this.row(node), branch(node.call))));
    };
    this.list.replaceChildren(branch(root?.call) || make("p", { class: "soft", text: "Nothing was called." }));
  }

  row(node) {
    const name = node.kind === "model_step" ? node.tool || "model" : node.tool || node.kind;
    const details = make("details", { data: { call: node.call }, open: this.open.has(node.call) },
      make("summary", { data: { tone: tone(node) } },
        make("span", { class: "glyph", text: MARKS[node.state] || "•", "aria-hidden": "true" }),
        make(node.kind === "call" ? "code" : "em", { text: name }),
        make("span", { class: "args", text: node.kind === "model_step" ? node.result : brief(node.args) }),
        make("span", { class: "took", text: `${node.state === "ok" ? "" : `${WORDS[node.state] || node.state} · `}${duration(node.duration_us)}` })),
      facts(node));
    details.addEventListener("toggle", () => { if (details.open) this.open.add(node.call); else this.open.delete(node.call); });
    return details;
  }
}

function facts(node) {
  const list = make("dl");
  const fact = (name, value) => { if (value) list.append(make("dt", { text: name }), make("dd", { text: value })); };
  fact("State", WORDS[node.state] || node.state);
  fact("Layer", node.layer);
  fact("Code", node.code);
  fact("Arguments", node.args);
  fact("Result", node.result);
  fact("Waited", node.queued_us > 1_000 ? duration(node.queued_us) : "");
  fact("Attempts", node.attempts > 1 ? String(node.attempts) : "");
  if (node.usage) fact("Tokens", `${node.usage.input} in, ${node.usage.output} out`);
  fact("Remarks", (node.marks || []).join("; "));
  fact("Cause", node.detail);
  return list;
}

const tone = (node) => node.layer || (node.state === "ok" ? "ok" : node.state === "running" ? "running" : "open");

/** `{"city":"Oslo"}` as `city=Oslo`. */
function brief(args) {
  if (!args) return "";
  try {
    const read = JSON.parse(args);
    if (read && typeof read === "object" && !Array.isArray(read)) {
      return Object.entries(read).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(" ");
    }
  } catch { /* It was cut, or is no JSON. */ }
  return args;
}
