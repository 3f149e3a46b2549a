// Conversations of this page: begun, listed, taken up again. The gateway knows them; the page keeps only which is open.

import * as api from "./api.js";
import { at, make } from "./dom.js";

const PREFIX = "page-";
const KEPT = "toolgate-conversation";

export const current = () => sessionStorage.getItem(KEPT) || begin();

export function begin() {
  const random = crypto.getRandomValues(new Uint8Array(8));
  const id = PREFIX + [...random].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  sessionStorage.setItem(KEPT, id);
  return id;
}

/** The conversation that a session's key names, when it is one of this page. */
function of(session) {
  const part = session.replace(/!$/, "").split("/")[3] || "";
  return part.startsWith(`=${PREFIX}`) ? part.slice(1) : null;
}

/** Redraws the list; `open` is told which was chosen. */
export async function list(open) {
  const found = new Map();
  for (const turn of await api.turns("limit=500&since=24h")) {
    const id = of(turn.session);
    // Turns come newest first: a conversation is called by what began it.
    if (id) found.set(id, { session: turn.session.replace(/!$/, ""), title: turn.asked, at: found.get(id)?.at || turn.started_us });
  }
  const id = sessionStorage.getItem(KEPT);
  at("no-list").hidden = found.size > 0;
  at("list").replaceChildren(...[...found].map(([conversation, { session, title, at: used }]) => {
    const when = new Date(used / 1_000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    const choose = () => { sessionStorage.setItem(KEPT, conversation); open(session); };
    return make("li", {}, make("button", { type: "button", "aria-current": conversation === id ? "true" : undefined, on: { click: choose } },
      make("span", { text: title || "…" }), make("time", { text: when })));
  }));
}

/** What was said in the open conversation, oldest first. */
export async function past() {
  const id = sessionStorage.getItem(KEPT);
  if (!id) return [];
  const turns = (await api.turns("limit=500&since=24h")).filter((turn) => of(turn.session) === id);
  return turns.slice(0, 50).reverse();
}
