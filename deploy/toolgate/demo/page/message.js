// One message as an element: who, what, files, buttons, reactions, and what can be done with it.

import { clock, make, REFERENCE, toast } from "./dom.js";
import { file } from "./files.js";
import { chips, react } from "./reactions.js";

export function bubble(self, known, messages) {
  const { platform } = self.place;
  const own = known.by === "user" && known.user === self.person;
  const author = known.by === "bot" ? botName(self, known) : known.user || "somebody";
  if (known.kind === "status") return waiting(self, known, author);
  const target = known.reply_to ? messages.get(known.reply_to) : undefined;
  const act = { command: (text) => self.composer.put(text) };
  const alone = known.kind === "private";
  const body = make("div", { class: "bubble" },
    platform === "telegram" && (own || self.direct) ? null : by(author, isApp(known) && platform !== "telegram"),
    alone ? make("p", { class: "only", text: "👁 Only you can see this" }) : null,
    target ? quoted(self, target) : null,
    ...(known.files || []).map((one) => file(one, self.api.file(one.id))),
    ...self.look.body(known, act, self.names), foot(self, known), chips(self, known));
  return make("li", { class: `${own ? "own" : ""} ${alone ? "privately" : ""}`.trim(), data: { message: known.message, author: own ? "" : author } },
    make("span", { class: "sr", text: `${own ? "you" : author}: ` }), body, keyboard(self, known),
    alone || !known.message || known.kind === "draft" ? null : acts(self, known, own, author));
}

/** A thread that is not open, as a line of its channel. */
export function threadRow(self, name, inside) {
  return make("li", { class: "thread-row", data: { thread: name, author: "" } },
    make("button", { type: "button", on: { click: () => self.open({ thread: name }) } },
      make("span", { "aria-hidden": "true", text: self.place.platform === "telegram" ? "💬" : "🧵" }), make("b", { text: name }),
      make("span", { text: `${inside} ${inside === 1 ? "message" : "messages"}` })));
}

function waiting(self, known, author) {
  return make("li", { class: `thinking ${known.to ? "privately" : ""}`.trim(), data: { message: known.message, author } },
    make("div", { class: "bubble" }, by(author, true), make("p", { class: "status-line", text: known.text }),
      known.to ? make("p", { class: "only", text: "👁 Only you can see this" }) : null));
}

/** Several bots may speak: one that is not this pane's own has its own name. */
function botName(self, known) {
  const said = known.user;
  return said && said.toLowerCase() !== self.place.bot.toLowerCase() ? said : self.place.bot;
}

const isApp = ({ by, payload: p }) => by === "bot" || !!(p?.author?.bot || p?.d?.author?.bot || p?.event?.bot_id || p?.bot_id);

const by = (author, app) => make("p", { class: "author", data: { hue: hue(author) } }, make("span", { text: author }), app ? make("span", { class: "app", text: "APP" }) : null);

function foot(self, known) {
  const reference = known.by === "bot" ? referenceOf(known) : null;
  return make("p", { class: "foot" },
    reference ? make("button", { type: "button", class: "inline see", text: "call tree", on: { click: () => self.show(reference) } }) : null,
    known.edited ? make("span", { text: "edited" }) : null,
    make("time", { text: clock(known.at) }));
}

function referenceOf(known) {
  const pressed = (known.buttons || []).map((button) => button.id || "").join(" ");
  return (known.text.match(REFERENCE) || pressed.match(REFERENCE) || [])[0]?.toUpperCase() || null;
}

function quoted(self, target) {
  const author = target.by === "bot" ? botName(self, target) : target.user;
  const jump = () => {
    const at = self.list.querySelector(`[data-message="${CSS.escape(String(target.message))}"]`);
    at?.scrollIntoView({ block: "center" });
    at?.classList.remove("flash");
    requestAnimationFrame(() => at?.classList.add("flash"));
  };
  return make("button", { type: "button", class: "quoted", data: { hue: hue(author || "") }, on: { click: jump } },
    make("b", { text: author }), make("span", { text: (target.text || "a file").slice(0, 120) }));
}

// Buttons -------------------------------------------------------------------

function keyboard(self, known) {
  if (!known.buttons?.length) return null;
  const rows = [];
  for (const button of known.buttons) {
    const at = button.row ?? rows.length;
    (rows[at] ??= []).push(key(self, known, button));
  }
  return make("div", { class: "keyboard", role: "group", "aria-label": "Buttons of the message" },
    ...rows.filter(Boolean).map((row) => make("div", {}, ...row)));
}

function key(self, known, button) {
  if (button.url) return make("a", { class: "key", href: /^https?:/i.test(button.url) ? button.url : undefined, target: "_blank", rel: "noopener noreferrer", text: button.text });
  if (button.style === "select") return choice(self, known, button);
  const press = async () => {
    element.dataset.waiting = "";
    element.disabled = true;
    const free = () => { delete element.dataset.waiting; element.disabled = false; };
    setTimeout(free, 6_000);
    await pressed(self, known, button).catch((error) => { free(); toast(error.message, "bad"); });
  };
  const element = make("button", { type: "button", class: "key", text: button.text, disabled: button.disabled, data: { button: button.id, style: button.style }, on: { click: press } });
  return element;
}

function choice(self, known, button) {
  const select = make("select", { class: "key", "aria-label": button.text || "Choose", disabled: button.disabled },
    make("option", { value: "", text: button.text || "Choose" }), ...(button.options || []).map((one) => make("option", { value: one.value, text: one.text })));
  select.addEventListener("change", () => {
    if (select.value) pressed(self, known, button, [select.value]).catch((error) => toast(error.message, "bad"));
  });
  return select;
}

function pressed(self, known, button, values) {
  const what = { conversation: self.conversation(), user: self.person, message: known.message, button: button.id };
  if (values) what.values = values;
  if (self.place.platform === "discord") what.language_code = self.language();
  return self.api.press(what);
}

// What can be done with a message ---------------------------------------------

/** One stop of the keyboard for each message; it opens the rest. */
function acts(self, known, own, author) {
  const box = make("div", { class: "acts", hidden: true, role: "group", "aria-label": "What can be done with the message" });
  const toggle = make("button", { type: "button", class: "dots", text: "⋯", "aria-label": "What can be done with the message", "aria-expanded": "false" });
  const close = () => { box.hidden = true; toggle.setAttribute("aria-expanded", "false"); };
  const one = (text, name, run) => make("button", { type: "button", text, title: name, "aria-label": name, on: { click: () => { close(); run(); } } });
  toggle.addEventListener("click", () => {
    box.hidden = !box.hidden;
    toggle.setAttribute("aria-expanded", String(!box.hidden));
    if (box.hidden || box.children.length) return;
    const cross = CROSS[self.place.platform];
    const typed = own && !/^(command|status)-/.test(known.message) && known.interaction === undefined;
    box.append(...[
      one("👍", "React with 👍", () => react(self, known, "👍")),
      cross ? one("❌", "React with ❌: stops what was asked", () => react(self, known, cross)) : one("👎", "React with 👎", () => react(self, known, "👎")),
      one("↩", self.place.platform === "slack" ? "Reply in its thread" : "Reply to this message", () => self.composer.answer(known, own ? "yourself" : author)),
      typed ? one("✎", "Edit this message", () => self.composer.edit(known)) : null,
      typed ? one("🗑", "Delete this message", () => remove(self, known)) : null,
    ].filter(Boolean));
  });
  box.addEventListener("keydown", (event) => { if (event.key === "Escape") { close(); toggle.focus(); } });
  return make("div", { class: "more-acts" }, toggle, box);
}

/** The reaction that stops what was asked, as the platform names it; Telegram offers none. */
export const CROSS = { discord: "❌", slack: "x" };

async function remove(self, known) {
  try {
    await self.api.remove({ conversation: self.conversation(), message: known.message });
    // Telegram tells nobody, and so the simulator does not either.
    self.conversations.get(known.conversation)?.delete(known.message);
    self.forget(known.message);
  } catch (error) {
    toast(error.message, "bad");
  }
}

export function hue(name) {
  let sum = 0;
  for (const c of name) sum = (sum * 131 + c.codePointAt(0)) % 9973;
  return sum % 7;
}
