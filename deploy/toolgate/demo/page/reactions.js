// Reactions of people and of the bot: who put which on a message, and taking them back.

import { make, toast } from "./dom.js";

/** Keeps what an entry says of a message; whether anything changed. */
export function reacted(self, known, entry) {
  if (!known) return false;
  const who = entry.by === "bot" ? self.place.bot : entry.user;
  const all = (known.reactions ??= new Map());
  const key = keyOf(self.place.platform, entry);
  // In Telegram whoever reacts again takes the former one back.
  for (const [name, one] of all) {
    if (self.place.platform === "telegram" || (name === key && !entry.text)) one.who.delete(who);
    if (!one.who.size) all.delete(name);
  }
  if (!entry.text) return true;
  if (!all.has(key)) all.set(key, { sign: entry.text, who: new Set() });
  all.get(key).who.add(who);
  return true;
}

function keyOf(platform, { text, payload: p }) {
  if (platform === "discord") return p?.emoji?.name || text;
  if (platform === "slack") return p?.reaction || p?.event?.reaction || p?.name || text;
  return text;
}

export function chips(self, known) {
  if (!known.reactions?.size) return null;
  return make("div", { class: "chips", role: "group", "aria-label": "Reactions" }, ...[...known.reactions].map(([key, { sign, who }]) => {
    const names = [...who].join(", ");
    return make("button", { type: "button", class: "chip", title: names, "aria-pressed": String(who.has(self.person)), "aria-label": `${sign}, ${names}`, on: { click: () => react(self, known, key) } },
      make("span", { text: sign }), make("b", { text: String(who.size) }));
  }));
}

/** Puts a reaction on a message, or takes it back when it is there. */
export async function react(self, known, key) {
  const mine = [...(known.reactions || [])].some(([name, { sign, who }]) => (name === key || sign === key) && who.has(self.person));
  const what = { conversation: self.conversation(), user: self.person, message: known.message, emoji: key };
  if (self.place.platform === "telegram") { if (mine) what.emoji = ""; } else what.remove = mine;
  await self.api.react(what).catch((error) => toast(error.message, "bad"));
}
