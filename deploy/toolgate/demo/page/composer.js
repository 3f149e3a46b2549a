// The field that is written into: text, files, the message that is answered, and the commands that fit.

import { command, menu } from "./commands.js";
import { make, size, toast } from "./dom.js";

const MOST_FILE = 5_000_000;

export function composer(pane) {
  const form = pane.root.querySelector(".composer");
  const find = (selector) => form.querySelector(selector);
  const self = {
    pane, form, field: find("textarea"), mention: find(".mention"), answering: find(".answering"),
    attached: find(".attached"), suggest: find(".suggest"), files: [], answered: null, tools: [], chosen: -1,
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
    put: (text) => put(self, text),
    say: (text) => { put(self, text); return send(self); },
  };
}

/** The commands that may be typed; asked again now and then, since a policy may have changed them. */
function learn(self) {
  self.learned = Date.now();
  return menu(self.pane.place.platform, self.pane.api).then((tools) => { self.tools = tools; }, () => {});
}

function put(self, text) {
  self.field.value = text;
  grow(self.field);
  close(self);
  self.field.focus();
  self.field.setSelectionRange(text.length, text.length);
}

function grow(field) {
  field.style.height = "auto";
  // The border is not part of what scrolls.
  field.style.height = `${Math.min(field.scrollHeight + 2, 168)}px`;
}

async function send(self) {
  const text = self.field.value.trim();
  if (!text && !self.files.length) return;
  const { pane } = self;
  const mention = !pane.direct && !text.startsWith("/") && self.mention.querySelector("input").checked;
  const { platform } = pane.place;
  if (platform === "discord" && text.startsWith("/") && Date.now() - self.learned > 2_000) await learn(self);
  const typed = self.files.length || self.answered ? null : command(platform, text, self.tools);
  const what = { conversation: pane.conversation(), user: pane.person, text, mention: mention || (!pane.direct && platform !== "telegram" && !typed) };
  if (self.answered) what[platform === "slack" ? "thread" : "reply_to"] = (platform === "slack" && self.answered.thread) || self.answered.message;
  if (self.files.length) what.files = self.files;
  const before = self.field.value;
  put(self, "");
  try {
    if (typed) await pane.api.command({ conversation: what.conversation, user: what.user, ...typed });
    else await pane.api.say(what);
    self.files = [];
    answer(self, null);
    showFiles(self);
    pane.root.dispatchEvent(new CustomEvent("said", { bubbles: true }));
  } catch (error) {
    if (!self.field.value) put(self, before);
    toast(`Not sent: ${error.message}`, "bad");
  }
}

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

function answer(self, known, author) {
  self.answered = known;
  self.answering.hidden = !known;
  if (!known) return;
  self.answering.querySelector("span").textContent = `Reply to ${author}: ${(known.text || "a file").slice(0, 60)}`;
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

/** The commands that begin with what the last line begins with. */
function suggest(self) {
  const line = self.field.value.split("\n").pop();
  const typed = /^\/([a-z0-9_-]*)$/i.exec(line);
  const found = typed ? self.tools.filter((tool) => tool.name?.startsWith(typed[1].toLowerCase())).slice(0, 6) : [];
  if (!found.length) return close(self);
  self.suggest.replaceChildren(...found.map((tool) => make("button",
    { type: "button", id: `${self.suggest.id}-${tool.name}`, tabindex: "-1", role: "option", on: { mousedown: (event) => event.preventDefault(), click: () => pick(self, tool.name) } },
    make("b", { text: `/${tool.name}` }), make("span", { text: tool.description || "" }))));
  self.suggest.setAttribute("role", "listbox");
  self.suggest.setAttribute("aria-label", "Commands");
  self.suggest.hidden = false;
  return choose(self, -1);
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

function pick(self, name) {
  const lines = self.field.value.split("\n");
  lines[lines.length - 1] = `/${name} `;
  put(self, lines.join("\n"));
}

function close(self) {
  self.suggest.hidden = true;
  self.chosen = -1;
  self.field.removeAttribute("aria-activedescendant");
}
