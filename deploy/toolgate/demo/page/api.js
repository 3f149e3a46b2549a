// What the page asks of the gateway and of the simulators. Errors become sentences.

const element = document.getElementById("config");
export const config = Object.assign(
  { gateway: "", simulators: "", panes: [{ platform: "telegram", title: "Telegram", bot: "Toolgate" }], people: [{ name: "you", language: "en" }] },
  JSON.parse(element.textContent || "{}"),
);

async function ask(url, options) {
  const answer = await fetch(url, options);
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.detail || body.error || body.title || `answered ${answer.status}`);
  return body;
}

const post = (url, body) =>
  ask(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** Turns that wait for people, which neither run nor have ended, by their number. */
let waits = new Map();

async function parked() {
  const { approvals = [] } = await ask(`${config.gateway}/v1/approvals`).catch(() => ({}));
  const now = new Map();
  for (const one of approvals) {
    const { asked } = waits.get(one.turn) || now.get(one.turn) || await gateway.trace(one.turn).catch(() => ({}));
    const sender = { id: one.sender, name: one.name };
    now.set(one.turn, { turn: one.turn, state: "parked", platform: one.platform, sender, asked: asked || one.tool, started_us: one.asked_ms * 1_000 });
  }
  waits = now;
  return [...now.values()];
}

export const gateway = {
  recent: async () => {
    const [{ traces = [] }, waiting] = await Promise.all([ask(`${config.gateway}/v1/traces?limit=40`), parked()]);
    const known = new Set(traces.map(({ turn }) => turn));
    return [...traces, ...waiting.filter(({ turn }) => !known.has(turn))].sort((a, b) => (a.turn < b.turn ? 1 : -1));
  },
  trace: (ref) => ask(`${config.gateway}/v1/traces/${encodeURIComponent(ref)}`),
  watch: (ref) => new EventSource(`${config.gateway}/v1/traces/${encodeURIComponent(ref)}/events`),
  tools: async (platform) => {
    const body = await ask(`${config.gateway}/v1/tools?platform=${encodeURIComponent(platform)}`);
    return Array.isArray(body) ? body : body.tools || [];
  },
};

export function simulator(platform) {
  const base = `${config.simulators}/control/${platform}`;
  return {
    say: (what) => post(`${base}/say`, what),
    menu: (conversation) => ask(`${base}/menu?conversation=${encodeURIComponent(conversation)}`),
    complete: (what) => post(`${base}/autocomplete`, what),
    command: (what) => post(`${base}/command`, what),
    press: (what) => post(`${base}/press`, what),
    submit: (what) => post(`${base}/submit`, what),
    react: (what) => post(`${base}/react`, what),
    edit: (what) => post(`${base}/edit`, what),
    remove: (what) => post(`${base}/remove`, what),
    file: (id) => `${base}/file?id=${encodeURIComponent(id)}`,
    transcript: async (after = 0) => (await ask(`${base}/transcript?after=${after}`)).entries || [],
    watch: (after) => new EventSource(`${base}/transcript/events?after=${after}`),
  };
}

/** A person's language as the platform's client reports it. */
export function language(platform, name) {
  const chinese = config.people.find((one) => one.name === name)?.language === "zh";
  if (platform === "telegram") return chinese ? "zh-hans" : "en";
  return chinese ? "zh-CN" : "en-US";
}
