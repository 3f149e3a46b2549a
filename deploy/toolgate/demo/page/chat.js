// A chat pane, a small client of its platform, drawn from what the simulator saw.

import { config, language, simulator } from "./api.js";
import { composer } from "./composer.js";
import * as discord from "./discord.js";
import { make, toast } from "./dom.js";
import { draw } from "./entities.js";
import { ask, closed, failed, form } from "./forms.js";
import { bubble, hue, threadRow } from "./message.js";
import { reacted } from "./reactions.js";
import * as slack from "./slack.js";

const TYPING_MS = 5_000;
const STATUS_MS = 120_000;
const KEPT = 400;
// How long Telegram shows a draft.
const DRAFTED = 30_000;

/** How each platform draws a message, merges an edit, and calls its group and what it is divided into. */
const LOOKS = {
  telegram: {
    group: "General", thread: "topic",
    body: (entry, act) => (entry.text ? [make("div", { class: "text" }, ...draw(entry.text, entry.entities, act))] : []),
  },
  discord: { group: "# general", thread: "thread", body: discord.body, merge: discord.merge },
  slack: { group: "# general", body: slack.body, merge: slack.merge },
};

/** Makes a pane; `show` is called with the reference of a turn that somebody wants to see. */
export function pane(place, { show }) {
  const root = document.getElementById("pane-template").content.firstElementChild.cloneNode(true);
  const find = (selector) => root.querySelector(selector);
  const self = {
    place, root, show, look: LOOKS[place.platform],
    api: simulator(place.platform),
    log: find(".log"), list: find(".messages"), down: find(".down"), status: find(".status"),
    chats: find(".conversation"), people: find(".person"),
    person: config.people[0].name, group: "general", direct: true, thread: null,
    conversations: new Map(),   // name → Map of message number → what is known of it
    names: {},                  // a person's id on the platform → name
    forms: new Map(), unread: 0, last: 0,
  };
  root.dataset.platform = place.platform;
  root.setAttribute("aria-label", place.title);
  self.conversation = () => (self.direct ? `dm:${self.person}` : self.group);
  self.language = () => language(place.platform, self.person);
  self.open = (where) => open(self, where);
  self.forget = (id) => gone(self, id);
  self.redraw = () => redraw(self);
  self.composer = composer(self);
  head(self);
  self.log.addEventListener("scroll", () => { if (isAtEnd(self)) read(self); });
  self.down.addEventListener("click", () => { toEnd(self); self.composer.focus(); });
  redraw(self);
  return self;
}

function head(self) {
  for (const { name, language: spoken } of config.people) {
    self.people.append(make("option", { value: name, text: spoken === "zh" ? `${name} (中文)` : name }));
  }
  self.chats.addEventListener("change", async () => {
    const { value } = self.chats;
    if (value !== "new") return open(self, { direct: value === "direct", thread: value.startsWith("in:") ? value.slice(3) : null });
    const name = await ask(`A new ${self.look.thread}`, "Name");
    return open(self, { direct: name ? false : self.direct, thread: name || self.thread });
  });
  self.people.addEventListener("change", () => open(self, { person: self.people.value }));
}

/** Goes to another chat, to a thread of the group, or to another person. */
function open(self, { person = self.person, direct = self.direct, thread = null }) {
  Object.assign(self, { person, direct, thread: direct || !self.look.thread ? null : thread });
  self.people.value = person;
  redraw(self);
}

/** The chats that can be chosen: those of the group's threads too. */
function places(self) {
  const messages = self.conversations.get(self.group) || new Map();
  const threads = self.look.thread ? new Set([...messages.values()].map((known) => known.thread).filter(Boolean)) : new Set();
  if (self.thread) threads.add(self.thread);
  const options = [make("option", { value: "direct", text: "Direct" }), make("option", { value: "group", text: self.look.group }),
    ...[...threads].map((name) => make("option", { value: `in:${name}`, text: `↳ ${name}` })),
    self.look.thread ? make("option", { value: "new", text: `New ${self.look.thread}…` }) : null];
  const key = [...threads].join("\n");
  if (self.chats.dataset.key !== key || !self.chats.length) {
    self.chats.dataset.key = key;
    self.chats.replaceChildren(...options.filter(Boolean));
  }
  self.chats.value = self.direct ? "direct" : self.thread ? `in:${self.thread}` : "group";
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
  remember(self, entry);
  const messages = self.conversations.get(entry.conversation) || new Map();
  self.conversations.set(entry.conversation, messages);
  const shown = entry.conversation === self.conversation() && !old;
  const mine = !entry.to || entry.to === self.person;
  if (shown && entry.by === "bot" && self.place.platform !== "telegram") freed(self);
  // A command is no message of its own; others see it when they see what it was answered with.
  if (entry.interaction && entry.by === "user" && entry.kind === "message") entry.message ??= `command-${entry.interaction}`;
  if (entry.by === "bot" && entry.to && entry.interaction) hide(self, messages, entry);
  switch (entry.kind) {
    case "message": case "edit":
      if (entry.by === "bot") undrafted(self, messages);
      return message(self, messages, entry, shown);
    case "draft": return drafted(self, messages, entry, shown);
    case "delete": closed(self, entry.message); messages.delete(entry.message); if (shown) gone(self, entry.message); return undefined;
    case "typing": if (shown && entry.user !== self.person) typing(self, true, entry.by === "user" ? `${entry.user} is typing…` : ""); return undefined;
    case "reaction": if (reacted(self, messages.get(entry.message), entry) && shown) again(self, messages, entry.message); return undefined;
    case "private": return privately(self, messages, entry, shown && mine);
    case "modal": if (!old && mine && entry.by === "bot") form(self, entry); return undefined;
    case "status": return status(self, messages, entry, shown);
    default: return undefined;
  }
}

/** A text in the making goes with the bot's next message, or after a while. */
function drafted(self, messages, entry, shown) {
  message(self, messages, entry, shown);
  clearTimeout(self.fading);
  self.fading = setTimeout(() => undrafted(self, messages), DRAFTED);
}

function undrafted(self, messages) {
  for (const [id, known] of messages) {
    if (known.kind !== "draft") continue;
    messages.delete(id);
    gone(self, id);
  }
}

function hide(self, messages, { interaction, to }) {
  const asked = messages.get(`command-${interaction}`);
  if (!asked || asked.to) return;
  asked.to = to;
  if (to !== self.person) gone(self, asked.message);
}

/** Whose id is whose, so that mentions can be read. */
function remember(self, { by, user, payload: p }) {
  if (by !== "user" || !p) return;
  for (const id of [p.user_id, p.user?.id, p.user, p.event?.user, p.author?.id, p.d?.author?.id, p.member?.user?.id]) {
    if (typeof id === "string") self.names[id] = user;
  }
}

function message(self, messages, entry, shown) {
  const before = messages.get(entry.message);
  const known = { ...entry, at: before?.at ?? entry.at, edited: entry.kind === "edit" || before?.edited, reactions: before?.reactions };
  if (before && before.kind !== "status") {
    known.reply_to ??= before.reply_to;
    known.thread ??= before.thread;
    known.to ??= before.to;
    if (before.kind === "private") known.kind = "private";
    if (!known.files?.length) known.files = before.files;
    if (self.look.merge) known.payload = self.look.merge(before, entry);
  }
  messages.set(entry.message, known);
  while (messages.size > KEPT) messages.delete(messages.keys().next().value);
  if (known.thread) places(self);
  if (!shown) return;
  if (entry.by === "bot" && entry.kind !== "status") typing(self, false);
  const end = isAtEnd(self);
  const place = node(self, entry.message);
  if (!isHere(self, known)) { announce(self, messages, known); if (end) toEnd(self); return; }
  const fresh = bubble(self, known, messages);
  if (place) keepFocus(place, fresh);
  else { put(self, known, fresh); fresh.classList.add("new"); group(fresh); }
  while (self.list.children.length > KEPT) self.list.firstElementChild.remove();
  if (end || entry.by === "user") toEnd(self);
  else if (!place) { self.unread += 1; self.down.hidden = false; self.down.dataset.count = String(self.unread); }
}

/** Whether the chat that is open is where a message stands, and the person may see it. */
function isHere(self, known) {
  if (known.to && known.to !== self.person) return false;
  return !self.look.thread || (known.thread || null) === self.thread;
}

/** A thread that is not open is a line in its channel. */
function announce(self, messages, known) {
  if (!known.thread || self.thread || (known.to && known.to !== self.person)) return;
  const inside = [...messages.values()].filter((one) => one.thread === known.thread && (!one.to || one.to === self.person)).length;
  const fresh = threadRow(self, known.thread, inside);
  const row = [...self.list.querySelectorAll(":scope > .thread-row")].find((one) => one.dataset.thread === known.thread);
  if (row) row.replaceWith(fresh); else self.list.append(fresh);
}

/** Where a message stands: under the message whose thread it is in, else at the end. */
function put(self, known, item) {
  const root = known.thread && !self.look.thread ? node(self, known.thread) : null;
  if (!root || root === item) return self.list.append(item);
  let replies = root.querySelector(":scope > .replies");
  if (!replies) root.append(replies = make("ol", { class: "replies", "aria-label": "Thread" }));
  return replies.append(item);
}

/** An edit in place: what was open and had the focus stays so. */
function keepFocus(old, fresh) {
  const replies = old.querySelector(":scope > .replies");
  if (replies) fresh.append(replies);
  const open = !!old.querySelector(":scope > .bubble .expands > blockquote:not([data-closed])");
  const focused = old.contains(document.activeElement) ? document.activeElement.textContent : null;
  old.replaceWith(fresh);
  group(fresh);
  if (open) fresh.querySelector(".more")?.click();
  if (old.querySelector(":scope > .more-acts > [aria-expanded=true]")) fresh.querySelector(":scope > .more-acts > .dots")?.click();
  if (focused !== null) [...fresh.querySelectorAll("button, a")].find((b) => b.textContent === focused)?.focus();
}

const node = (self, id) => (id === undefined ? null : self.list.querySelector(`[data-message="${CSS.escape(String(id))}"]`));

/** Takes a message out; answers in its thread stay. */
function gone(self, id) {
  const item = node(self, id);
  item?.replaceWith(...(item.querySelector(":scope > .replies")?.children || []));
}

function again(self, messages, id) {
  const place = node(self, id);
  if (place) keepFocus(place, bubble(self, messages.get(id), messages));
}

function redraw(self) {
  const messages = self.conversations.get(self.conversation()) || new Map();
  const title = self.direct ? self.place.bot : self.thread || self.look.group;
  self.root.querySelector(".who h2").textContent = title;
  self.root.querySelector(".avatar").textContent = [...title.replace(/^# /, "")][0];
  self.root.querySelector(".avatar").dataset.hue = hue(title);
  self.list.replaceChildren();
  for (const known of messages.values()) {
    if (!isHere(self, known)) { announce(self, messages, known); continue; }
    const item = bubble(self, known, messages);
    put(self, known, item);
    group(item);
  }
  typing(self, false);
  places(self);
  self.composer.changed();
  toEnd(self);
}

/** Consecutive messages of one author are drawn together. */
function group(item) {
  const before = item.previousElementSibling;
  item.classList.toggle("joined", !!before && before.dataset.author === item.dataset.author);
}

/** What one person alone sees: a message of its own, or, in Telegram, a short note on a press. */
function privately(self, messages, entry, shown) {
  if (entry.by !== "bot") {
    // Slack shows a command to whoever typed it alone.
    if (entry.payload?.command) message(self, messages, { ...entry, message: `command-${entry.n}`, to: entry.user }, shown && entry.user === self.person);
    return;
  }
  if (self.place.platform === "telegram" || !entry.message) {
    if (shown) freed(self, entry.reply_to || entry.message);
    if (shown && entry.text && !failed(self, entry)) toast(entry.text);
    return;
  }
  message(self, messages, entry, shown);
}

/** Buttons whose press was answered can be pressed again. */
function freed(self, id) {
  const place = id === undefined ? self.list : node(self, id);
  for (const button of place?.querySelectorAll("[data-waiting]") || []) {
    delete button.dataset.waiting;
    button.disabled = false;
  }
}

/** Discord shows a place for an answer to come; Slack says what the assistant is at. */
function status(self, messages, entry, shown) {
  if (self.place.platform === "discord") return message(self, messages, { ...entry, message: entry.message || `status-${entry.n}` }, shown);
  const isTitle = entry.payload && entry.payload.status === undefined;
  if (shown && !isTitle) typing(self, !!entry.text, entry.text, STATUS_MS);
  return undefined;
}

function typing(self, on, words = "", lasts = TYPING_MS) {
  clearTimeout(self.typingEnds);
  self.root.toggleAttribute("data-typing", on);
  const kind = self.direct ? "bot" : self.thread ? self.look.thread : "group";
  self.status.textContent = on ? words || "typing…" : `${self.place.title} · ${kind}`;
  if (on) self.typingEnds = setTimeout(() => typing(self, false), lasts);
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
