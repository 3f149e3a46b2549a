// A chat pane, a small client of its platform, drawn from what the simulator saw.

import { config, simulator } from "./api.js";
import { composer } from "./composer.js";
import { clock, make, REFERENCE, size, toast } from "./dom.js";
import * as discord from "./discord.js";
import { draw } from "./entities.js";
import { form } from "./forms.js";
import * as slack from "./slack.js";

const TYPING_MS = 5_000;
const KEPT = 400;

/** How each platform draws a message, calls its group, and lasts its typing. */
const LOOKS = {
  telegram: {
    group: "General",
    body: (entry, act) => (entry.text ? [make("div", { class: "text" }, ...draw(entry.text, entry.entities, act))] : []),
  },
  discord: { group: "# general", body: discord.body },
  slack: { group: "# general", body: slack.body },
};

/** Makes a pane; `show` is called with the reference of a turn that somebody wants to see. */
export function pane(place, { show }) {
  const root = document.getElementById("pane-template").content.firstElementChild.cloneNode(true);
  const find = (selector) => root.querySelector(selector);
  const self = {
    place, root, show, look: LOOKS[place.platform],
    api: simulator(place.platform),
    log: find(".log"), list: find(".messages"), down: find(".down"), status: find(".status"),
    person: config.people[0], group: "general", direct: true,
    conversations: new Map(),   // name → Map of message number → what is known of it
    unread: 0, last: 0,
  };
  root.dataset.platform = place.platform;
  root.setAttribute("aria-label", place.title);
  self.conversation = () => (self.direct ? `dm:${self.person}` : self.group);
  self.composer = composer(self);
  head(self, find);
  self.log.addEventListener("scroll", () => { if (isAtEnd(self)) read(self); });
  self.down.addEventListener("click", () => { toEnd(self); self.composer.focus(); });
  redraw(self);
  return self;
}

function head(self, find) {
  const [chats, people] = [find(".conversation"), find(".person")];
  chats.append(make("option", { value: "direct", text: "Direct" }), make("option", { value: "group", text: self.look.group }));
  for (const name of config.people) people.append(make("option", { value: name, text: name }));
  chats.addEventListener("change", () => { self.direct = chats.value === "direct"; redraw(self); });
  people.addEventListener("change", () => { self.person = people.value; redraw(self); });
}

/** Reads what is there, then what comes. */
export async function follow(self, light) {
  try {
    for (const entry of await self.api.transcript(0)) take(self, entry, true);
    light("on");
  } catch {
    light("off");
    setTimeout(() => follow(self, light), 1_500);
    return;
  }
  redraw(self);
  const events = self.api.watch(self.last);
  const one = (event) => { light("on"); take(self, JSON.parse(event.data), false); };
  events.addEventListener("entry", one);
  events.addEventListener("message", one);
  events.addEventListener("open", () => light("on"));
  events.addEventListener("error", () => light("off"));
}

function take(self, entry, old) {
  if (entry.n <= self.last) return;
  self.last = entry.n;
  const messages = self.conversations.get(entry.conversation) || new Map();
  self.conversations.set(entry.conversation, messages);
  const shown = entry.conversation === self.conversation() && !old;
  switch (entry.kind) {
    case "message": case "edit": return message(self, messages, entry, shown);
    case "delete": messages.delete(entry.message); if (shown) node(self, entry.message)?.remove(); return undefined;
    case "typing": if (shown) typing(self, true); return undefined;
    case "reaction": return react(self, messages, entry, shown);
    case "private": return privately(self, messages, entry, shown);
    case "modal": if (shown && entry.by === "bot" && (!entry.to || entry.to === self.person)) form(self, entry); return undefined;
    case "status": if (shown) typing(self, !!entry.text, entry.text); return undefined;
    default: return undefined;
  }
}

function message(self, messages, entry, shown) {
  const before = messages.get(entry.message);
  const known = { ...entry, at: before?.at ?? entry.at, edited: entry.kind === "edit", reaction: before?.reaction };
  if (before) {
    known.reply_to ??= before.reply_to;
    if (!known.files?.length) known.files = before.files;
  }
  messages.set(entry.message, known);
  while (messages.size > KEPT) messages.delete(messages.keys().next().value);
  if (!shown) return;
  if (entry.by === "bot") typing(self, false);
  const end = isAtEnd(self);
  if (known.to && known.to !== self.person) return;
  const fresh = bubble(self, known, messages);
  const place = node(self, entry.message);
  if (place) keepFocus(place, fresh);
  else { put(self, known, fresh); fresh.classList.add("new"); group(fresh); }
  while (self.list.children.length > KEPT) self.list.firstElementChild.remove();
  if (end || entry.by === "user") toEnd(self);
  else if (!place) { self.unread += 1; self.down.hidden = false; self.down.dataset.count = String(self.unread); }
}

/** Where a message stands: under the message whose thread it is in, else at the end. */
function put(self, known, item) {
  const root = known.thread ? node(self, known.root || known.thread) : null;
  if (!root || root === item) return self.list.append(item);
  let replies = root.querySelector(":scope > .replies");
  if (!replies) root.append(replies = make("ol", { class: "replies", "aria-label": "Thread" }));
  return replies.append(item);
}

/** An edit in place: what was open and had the focus stays so. */
function keepFocus(old, fresh) {
  const replies = old.querySelector(":scope > .replies");
  if (replies) fresh.append(replies);
  const open = !!old.querySelector(".expands > blockquote:not([data-closed])");
  const focused = old.contains(document.activeElement) ? document.activeElement.textContent : null;
  old.replaceWith(fresh);
  group(fresh);
  if (open) fresh.querySelector(".more")?.click();
  if (focused !== null) [...fresh.querySelectorAll("button, a")].find((b) => b.textContent === focused)?.focus();
}

const node = (self, id) => self.list.querySelector(`[data-message="${CSS.escape(String(id))}"]`);

function redraw(self) {
  const messages = self.conversations.get(self.conversation()) || new Map();
  const title = self.direct ? self.place.bot : self.look.group;
  self.root.querySelector(".who h2").textContent = title;
  self.root.querySelector(".avatar").textContent = [...title.replace(/^# /, "")][0];
  self.root.querySelector(".avatar").dataset.hue = hue(title);
  self.list.replaceChildren();
  for (const known of messages.values()) {
    if (known.to && known.to !== self.person) continue;
    const item = bubble(self, known, messages);
    put(self, known, item);
    group(item);
  }
  typing(self, false);
  self.composer.changed();
  toEnd(self);
}

/** Consecutive messages of one author are drawn together. */
function group(item) {
  const before = item.previousElementSibling;
  item.classList.toggle("joined", !!before && before.dataset.author === item.dataset.author);
}

function bubble(self, known, messages) {
  const own = known.by === "user" && known.user === self.person;
  const author = known.by === "bot" ? self.place.bot : known.user || "somebody";
  const target = known.reply_to ? messages.get(known.reply_to) : undefined;
  const act = { command: (text) => self.composer.put(text) };
  const reference = known.by === "bot" ? (referenceOf(known) || null) : null;
  const foot = make("p", { class: "foot" },
    known.reaction ? make("span", { class: "reaction", text: known.reaction }) : null,
    known.kind === "private" ? make("span", { class: "only", text: "👁 Only you can see this" }) : null,
    reference ? make("button", { type: "button", class: "inline see", text: "call tree", on: { click: () => self.show(reference) } }) : null,
    known.edited ? make("span", { text: "edited" }) : null,
    make("time", { text: clock(known.at) }));
  const body = make("div", { class: "bubble" },
    self.place.platform === "telegram" && (own || self.direct) ? null : make("p", { class: "author", text: author, data: { hue: hue(author) } }, known.by === "bot" && self.place.platform !== "telegram" ? make("span", { class: "app", text: "APP" }) : null),
    target ? quoted(self, target) : null,
    known.thread && !node(self, known.root || known.thread) ? make("p", { class: "topic", text: `# ${known.thread}` }) : null,
    ...(known.files || []).map(file), ...self.look.body(known, act), foot);
  return make("li", { class: `${own ? "own" : ""} ${known.kind === "private" ? "privately" : ""}`.trim(), data: { message: known.message, author: own ? "" : author } },
    make("span", { class: "sr", text: `${own ? "you" : author}: ` }), body, keyboard(self, known),
    make("button", { type: "button", class: "reply", "aria-label": "Reply to this message", text: "↩", on: { click: () => self.composer.answer(known, own ? "yourself" : author) } }),
    self.place.platform === "telegram" || known.kind === "private" ? null
      : make("button", { type: "button", class: "react", "aria-label": "React with a cross: stops what was asked", title: "React with ❌: stops what was asked", text: "❌", on: { click: () => reactTo(self, known) } }));
}

function referenceOf(known) {
  const pressed = (known.buttons || []).map((button) => button.id || "").join(" ");
  return (known.text.match(REFERENCE) || pressed.match(REFERENCE) || [])[0]?.toUpperCase();
}

function quoted(self, target) {
  const author = target.by === "bot" ? self.place.bot : target.user;
  const jump = () => {
    const at = node(self, target.message);
    at?.scrollIntoView({ block: "center" });
    at?.classList.remove("flash");
    requestAnimationFrame(() => at?.classList.add("flash"));
  };
  return make("button", { type: "button", class: "quoted", data: { hue: hue(author || "") }, on: { click: jump } },
    make("b", { text: author }), make("span", { text: (target.text || "a file").slice(0, 120) }));
}

function file(seen) {
  return make("p", { class: "file" },
    make("span", { class: "kind", "aria-hidden": "true", text: (seen.name.split(".").pop() || "file").slice(0, 4) }),
    make("span", {}, make("b", { text: seen.name }), make("i", { text: `${size(seen.size)} · ${seen.mime}` })));
}

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
  const press = async () => {
    element.dataset.waiting = "";
    element.disabled = true;
    const free = () => { delete element.dataset.waiting; element.disabled = false; };
    setTimeout(free, 6_000);
    const what = { conversation: self.conversation(), user: self.person, message: known.message, button: button.id };
    await self.api.press(what).catch((error) => { free(); toast(error.message, "bad"); });
  };
  const element = make("button", { type: "button", class: "key", text: button.text, data: { button: button.id, style: button.style }, on: { click: press } });
  return element;
}

function reactTo(self, known) {
  const emoji = self.place.platform === "slack" ? "x" : "❌";
  self.api.react({ conversation: self.conversation(), user: self.person, message: known.message, emoji }).catch((error) => toast(error.message, "bad"));
}

/** What one person alone sees: a message of its own, or, in Telegram, a short note on a press. */
function privately(self, messages, entry, shown) {
  if (entry.by !== "bot") return undefined;
  freed(self, shown ? entry.reply_to || entry.message : null);
  if (self.place.platform === "telegram" || !entry.message) {
    if (shown && entry.text && (!entry.to || entry.to === self.person)) toast(entry.text);
    return undefined;
  }
  return message(self, messages, entry, shown);
}

/** Buttons of a message whose press was answered can be pressed again. */
function freed(self, id) {
  if (!id) return;
  for (const button of node(self, id)?.querySelectorAll("[data-waiting]") || []) {
    delete button.dataset.waiting;
    button.disabled = false;
  }
}

function react(self, messages, entry, shown) {
  const known = messages.get(entry.message);
  if (!known) return;
  known.reaction = entry.text;
  const place = shown ? node(self, entry.message) : null;
  if (place) keepFocus(place, bubble(self, known, messages));
}

function typing(self, on, words = "") {
  clearTimeout(self.typingEnds);
  self.root.toggleAttribute("data-typing", on);
  self.status.textContent = on ? words || "typing…" : `${self.place.title} · ${self.direct ? "bot" : "group"}`;
  if (on) self.typingEnds = setTimeout(() => typing(self, false), TYPING_MS);
}

const isAtEnd = ({ log }) => log.scrollHeight - log.scrollTop - log.clientHeight < 60;

function read(self) {
  self.unread = 0;
  self.down.hidden = true;
}

function toEnd(self) {
  self.log.scrollTop = self.log.scrollHeight;
  read(self);
}

export function hue(name) {
  let sum = 0;
  for (const c of name) sum = (sum * 131 + c.codePointAt(0)) % 9973;
  return sum % 7;
}
