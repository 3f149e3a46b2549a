// Telegram's marks on a text, drawn as elements. Offsets count UTF-16 units, as JavaScript's strings do.

import { copy, make } from "./dom.js";

const PLAIN = { bold: "strong", italic: "em", underline: "u", strikethrough: "s", code: "code" };

const BLOCKS = ["pre", "blockquote", "expandable_blockquote"];

/** The text as nodes; `act` is told of commands and links that are clicked. */
export function draw(text, entities, act = {}) {
  const marks = (entities || [])
    .filter((mark) => mark.length > 0 && mark.offset >= 0 && mark.offset < text.length)
    .sort((a, b) => a.offset - b.offset || b.length - a.length);
  return part(text, 0, text.length, marks, act);
}

function part(text, from, to, marks, act) {
  const nodes = [];
  let at = from;
  for (let i = 0; i < marks.length; i += 1) {
    const mark = marks[i];
    if (mark.offset < at || mark.offset >= to) continue;
    const end = Math.min(mark.offset + mark.length, to);
    const isBlock = BLOCKS.includes(mark.type);
    // A block begins and ends a line by itself: the line ends around it are not drawn too.
    if (mark.offset > at) nodes.push(isBlock ? text.slice(at, mark.offset).replace(/\n$/, "") : text.slice(at, mark.offset));
    const inner = marks.slice(i + 1).filter((other) => other.offset >= mark.offset && other.offset < end);
    nodes.push(wrap(mark, text.slice(mark.offset, end), part(text, mark.offset, end, inner, act), act));
    at = isBlock && text[end] === "\n" ? end + 1 : end;
  }
  if (at < to) nodes.push(text.slice(at, to));
  return nodes;
}

function wrap(mark, raw, children, act) {
  switch (mark.type) {
    case "pre": return block(mark.language, raw);
    case "blockquote": return make("blockquote", {}, ...children);
    case "expandable_blockquote": return expandable(raw, children);
    case "spoiler": return spoiler(children);
    case "text_link": return link(mark.url, children);
    case "url": return link(/^[a-z]+:/i.test(raw) ? raw : `https://${raw}`, children);
    case "bot_command":
      return make("button", { type: "button", class: "inline", text: raw, on: { click: () => act.command?.(raw) } });
    case "mention": case "text_mention": case "hashtag": case "cashtag": case "email": case "phone_number":
      return make("span", { class: "mentioned" }, ...children);
    default:
      return make(PLAIN[mark.type] || "span", {}, ...children);
  }
}

function link(url, children) {
  const safe = /^(https?|tg|mailto):/i.test(url || "") ? url : undefined;
  return make("a", { href: safe, target: "_blank", rel: "noopener noreferrer", title: safe }, ...children);
}

function block(language, raw) {
  const button = make("button", { type: "button", text: "Copy", on: { click: () => copy(raw, button) } });
  return make("figure", { class: "code" },
    make("figcaption", {}, make("span", { text: language || "text" }), button),
    make("pre", { tabindex: "0", "aria-label": "Code" }, make("code", { text: raw })));
}

function expandable(raw, children) {
  const quote = make("blockquote", { class: "expandable" }, ...children);
  const long = raw.split("\n").length > 3 || raw.length > 160;
  if (!long) return quote;
  quote.dataset.closed = "";
  const button = make("button", { type: "button", class: "more", text: "Show all", "aria-expanded": "false" });
  button.addEventListener("click", () => {
    const closed = quote.toggleAttribute("data-closed");
    button.textContent = closed ? "Show all" : "Show less";
    button.setAttribute("aria-expanded", String(!closed));
  });
  return make("div", { class: "expands" }, quote, button);
}

function spoiler(children) {
  const hidden = make("button", { type: "button", class: "spoiler", "aria-label": "Hidden text, press to show" }, ...children);
  hidden.addEventListener("click", () => {
    hidden.classList.add("open");
    hidden.removeAttribute("aria-label");
  });
  return hidden;
}
