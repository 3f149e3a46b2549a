// The field that is written into: text, files, the message that is answered, and the commands that fit.

import { command, hints, menu } from "./commands.js";
import { make, size, toast } from "./dom.js";

const MOST_FILE = 5_000_000;

export function composer(pane) {
  const form = pane.root.querySelector(".composer");
  const find = (selector) => form.querySelector(selector);
  const self = {
    pane, form, field: find("textarea"), mention: find(".mention"), answering: find(".answering"),
    attached: find(".attached"), suggest: find(".suggest"), files: [], answered: null, editing: null, tools: [], chosen: -1, asked: 0,
  };
  self.field.id = pane.place.platform === "telegram" ? "composer-text" : `composer-${pane.place.platform}`;
  self.suggest.id = `${self.field.id}-list`;
  self.field.setAttribute("aria-controls", self.suggest.id);
  form.addEventListener("submit", (event) => { event.preventDefault(); send(self); });
  self.field.addEventListener("keydown", (event) => keys(self, event));
  self.field.addEventListener("input", () => { grow(self.field); suggest(self); });
  self.field.addEventListener("blur", () => setTimeout(() => close(self), 150));
  find(".answering button").addEventListener("click", () => answer(self, null));
  find(".attach input").addEventListener("change", (event) => attach(self, event.target));
  learn(self);
  return {
    focus: () => self.field.focus(),
    changed: () => { self.mention.hidden = pane.direct; answer(self, null); },
    answer: (known, author) => answer(self, known, author),
    edit: (known) => { answer(self, known, "yourself", true); put(self, known.text); },
    put: (text) => put(self, text),
    say: (text, plain) => { put(self, text); return send(self, plain); },
  };
}

/** The commands that may be typed; asked again now and then, since a policy may have changed them. */
function learn(self) {
  self.learned = Date.now();
  return menu(self.pane.place.platform, self.pane.api, self.pane.group).then((tools) => { self.tools = tools; }, () => {});
}

function put(self, text, focus = true) {
  self.field.value = text;
  grow(self.field);
  close(self);
  if (focus) self.field.focus();
  self.field.setSelectionRange(text.length, text.length);
}

function grow(field) {
  field.style.height = "auto";
  // The border is not part of what scrolls.
  field.style.height = `${Math.min(field.scrollHeight + 2, 168)}px`;
}

/** Sends what is written; `plain` when it is a message even where it could be a command. Gives the platform's answer. */
async function send(self, plain = false) {
  const text = written(self.pane.place.platform, self.field.value);
  if (!text && !self.files.length) return undefined;
  const before = self.field.value;
  const { answered, editing, files } = self;
  put(self, "");
  try {
    const said = editing ? await edit(self, text, editing) : await say(self, text, plain);
    if (self.files === files) self.files = [];
    if (self.answered === answered) answer(self, null);
    showFiles(self);
    return said;
  } catch (error) {
    if (!self.field.value) put(self, before);
    toast(`Not sent: ${error.message}`, "bad");
    return undefined;
  }
}

/** Without the blanks around it; in Slack one before a slash stays, which makes a message of what would be a command. */
const written = (platform, value) => (platform === "slack" && /^\s+\//.test(value) ? ` ${value.trim()}` : value.trim());

async function say(self, text, plain) {
  const { pane } = self;
  const { platform } = pane.place;
  if (platform === "discord" && text.startsWith("/") && Date.now() - self.learned > 2_000) await learn(self);
  const where = { conversation: pane.conversation(), user: pane.person, language_code: pane.language() };
  if (pane.thread) where.thread = pane.thread;
  const typed = plain || self.files.length || self.answered ? null : command(platform, text, self.tools);
  if (typed) return pane.api.command({ ...where, ...typed });
  const wanted = !pane.direct && self.mention.querySelector("input").checked;
  const what = { ...where, text: wanted ? text.trimStart() : text, mention: wanted && !(platform === "telegram" && text.startsWith("/")) };
  if (self.answered && platform === "slack") what.thread = self.answered.thread || self.answered.message;
  else if (self.answered) what.reply_to = self.answered.message;
  if (self.files.length) what.files = self.files;
  return pane.api.say(what);
}

const edit = ({ pane }, text, known) => pane.api.edit({ conversation: pane.conversation(), user: pane.person, message: known.message, text });

function keys(self, event) {
  if (event.isComposing) return;
  const open = !self.suggest.hidden;
  if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    choose(self, self.chosen + (event.key === "ArrowDown" ? 1 : -1));
  } else if (open && (event.key === "Tab" || (event.key === "Enter" && self.chosen >= 0)) && !event.shiftKey) {
    event.preventDefault();
    self.suggest.children[Math.max(self.chosen, 0)].click();
  } else if (event.key === "Escape") {
    if (open) close(self); else answer(self, null);
  } else if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    send(self);
  }
}

function answer(self, known, author, editing = false) {
  if (self.editing && !editing) put(self, "", false);
  self.answered = editing ? null : known;
  self.editing = editing ? known : null;
  self.answering.hidden = !known;
  if (!known) return;
  const what = editing ? "Edit" : self.pane.place.platform === "slack" ? `Thread of ${author}` : `Reply to ${author}`;
  self.answering.querySelector("span").textContent = `${what}: ${(known.text || "a file").slice(0, 60)}`;
  self.field.focus();
}

async function attach(self, input) {
  for (const file of input.files) {
    if (file.size > MOST_FILE) { toast(`${file.name} is larger than 5 MB`, "bad"); continue; }
    const bytes = new Uint8Array(await file.arrayBuffer());
    let binary = "";
    for (let i = 0; i < bytes.length; i += 0x8000) binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
    self.files.push({ name: file.name, mime: file.type || "application/octet-stream", base64: btoa(binary) });
  }
  input.value = "";
  showFiles(self);
  self.field.focus();
}

function showFiles(self) {
  self.attached.hidden = !self.files.length;
  self.attached.replaceChildren(...self.files.map((file, i) => make("li", {},
    make("span", { text: `${file.name} (${size(Math.floor(file.base64.length * 0.75))})` }),
    make("button", { type: "button", text: "×", "aria-label": `Remove ${file.name}`, on: { click: () => { self.files.splice(i, 1); showFiles(self); } } }))));
}

/** What fits what is typed: commands, and in Discord their options and values. */
async function suggest(self) {
  const { pane } = self;
  const line = self.field.value.split("\n").pop();
  self.asked += 1;
  const { asked } = self;
  const complete = (what) => pane.api.complete({ conversation: pane.conversation(), user: pane.person, ...what });
  const found = line.startsWith("/") && !self.editing ? await hints(pane.place.platform, line, self.tools, complete) : [];
  // Somebody typed on meanwhile.
  if (asked !== self.asked) return;
  if (!found.length) { close(self); return; }
  self.suggest.replaceChildren(...found.map((one, i) => make("button",
    { type: "button", id: `${self.suggest.id}-${i}`, tabindex: "-1", role: "option", on: { mousedown: (event) => event.preventDefault(), click: () => pick(self, one.line) } },
    make("b", { text: one.text }), make("span", { text: one.means || "" }))));
  self.suggest.setAttribute("role", "listbox");
  self.suggest.setAttribute("aria-label", "What fits");
  self.suggest.hidden = false;
  choose(self, -1);
}

function choose(self, at) {
  const items = [...self.suggest.children];
  self.chosen = at < 0 ? -1 : at % items.length;
  items.forEach((item, i) => item.setAttribute("aria-selected", String(i === self.chosen)));
  items[self.chosen]?.scrollIntoView({ block: "nearest" });
  // The focus stays in the field; this tells which command the arrows are at.
  if (items[self.chosen]) self.field.setAttribute("aria-activedescendant", items[self.chosen].id);
  else self.field.removeAttribute("aria-activedescendant");
}

function pick(self, line) {
  const lines = self.field.value.split("\n");
  lines[lines.length - 1] = line;
  put(self, lines.join("\n"));
  suggest(self);
}

function close(self) {
  self.asked += 1;
  self.suggest.hidden = true;
  self.chosen = -1;
  self.field.removeAttribute("aria-activedescendant");
}
