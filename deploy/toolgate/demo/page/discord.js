// A message as Discord's client shows it, from the payload that the simulator received.

import { make } from "./dom.js";
import { blocks, inline } from "./markdown.js";

/** The parts of a message: text, embeds. */
export function body(entry, act, known = {}) {
  const data = content(entry.payload || {});
  const names = { ...known, ...namesOf(entry.payload || {}) };
  const out = [];
  const text = entry.by === "user" ? entry.text : data.content ?? (data.embeds?.length ? "" : entry.text);
  if (text) out.push(make("div", { class: "text md" }, ...blocks(text, names)));
  for (const embed of data.embeds || []) out.push(card(embed, names));
  return out;
}

/** An edit says what changes; the rest of the message stays. */
export const merge = (before, entry) => ({ ...content(before.payload || {}), ...content(entry.payload || {}) });

/** An answer to an interaction carries its message in `data`. */
const content = (payload) => (payload.data && (payload.data.content !== undefined || payload.data.embeds) ? payload.data : payload);

function namesOf(payload) {
  const names = {};
  for (const user of payload.mentions || payload.d?.mentions || []) names[user.id] = user.global_name || user.username;
  return names;
}

function card(embed, names) {
  const colour = Number.isInteger(embed.color) ? `#${embed.color.toString(16).padStart(6, "0")}` : null;
  const fields = (embed.fields || []).map((field) => make("div", { class: field.inline ? "field inline-field" : "field" },
    make("b", {}, ...inline(field.name || "", names)), make("div", { class: "md" }, ...blocks(field.value || "", names))));
  const root = make("article", { class: "embed" },
    embed.author?.name ? make("p", { class: "md-small", text: embed.author.name }) : null,
    embed.title ? make("p", { class: "embed-title" }, ...inline(embed.title, names)) : null,
    embed.description ? make("div", { class: "md" }, ...blocks(embed.description, names)) : null,
    fields.length ? make("div", { class: "fields" }, ...fields) : null,
    embed.footer?.text ? make("p", { class: "md-small", text: embed.footer.text }) : null);
  if (colour) root.style.setProperty("--stripe", colour);
  return root;
}
