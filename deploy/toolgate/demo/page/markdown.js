// Markdown as Discord's client and Slack's markdown blocks show it, as elements. Text of others is only ever put in as text.

import { copy, make } from "./dom.js";

/** A whole text; `names` turns ids of mentions into words. */
export function blocks(source, names = {}) {
  const lines = source.split("\n");
  const out = [];
  let paragraph = [];
  const flush = () => {
    if (paragraph.length) out.push(make("p", {}, ...inline(paragraph.join("\n"), names)));
    paragraph = [];
  };
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i];
    const fence = /^\s*```([\w+#.-]*)\s*$/.exec(line) || /^\s*```(?=\S)/.exec(line);
    if (fence) {
      const [code, end] = fenced(lines, i, fence[1] === undefined);
      if (code !== null) {
        flush();
        out.push(figure(fence[1] || "", code));
        i = end;
        continue;
      }
    }
    const heading = /^(#{1,3}) +(.*)$/.exec(line);
    const small = /^-# +(.*)$/.exec(line);
    const item = /^(\s*)([-*]|\d+\.) +(.*)$/.exec(line);
    if (heading) { flush(); out.push(make(`h${heading[1].length + 3}`, { class: `md-h${heading[1].length}` }, ...inline(heading[2], names))); }
    else if (small) { flush(); out.push(make("p", { class: "md-small" }, ...inline(small[1], names))); }
    else if (/^>>> /.test(line)) { flush(); out.push(make("blockquote", {}, ...blocks([line.slice(4), ...lines.slice(i + 1)].join("\n"), names))); break; }
    else if (/^> ?/.test(line) && line.startsWith(">")) {
      flush();
      const quoted = [];
      while (i < lines.length && /^>( |$)/.test(lines[i])) quoted.push(lines[i++].replace(/^> ?/, ""));
      if (!quoted.length) quoted.push(lines[i++]);
      i -= 1;
      out.push(make("blockquote", {}, ...blocks(quoted.join("\n"), names)));
    } else if (item) { flush(); out.push(make("p", { class: "md-item", data: { depth: Math.min(5, Math.floor(item[1].length / 2)) } }, make("span", { class: "md-mark", text: /\d/.test(item[2]) ? item[2] : "•" }), make("span", {}, ...inline(item[3], names)))); }
    else if (/^(-{3,}|\*{3,}|_{3,})$/.test(line.trim())) { flush(); out.push(make("hr")); }
    else if (!line.trim()) flush();
    else paragraph.push(line);
  }
  flush();
  return out;
}

/** The code of a fence and the line where it ends; nothing when it never does. */
function fenced(lines, start, inLine) {
  if (inLine) {
    const rest = lines.slice(start).join("\n").replace(/^\s*```/, "");
    const end = rest.indexOf("```");
    return end < 0 ? [null, start] : [rest.slice(0, end), start + rest.slice(0, end).split("\n").length - 1];
  }
  for (let i = start + 1; i < lines.length; i += 1) if (lines[i].trimEnd().endsWith("```")) {
    const last = lines[i].trimEnd().slice(0, -3);
    return [[...lines.slice(start + 1, i), ...(last ? [last] : [])].join("\n"), i];
  }
  return [null, start];
}

export function figure(language, code) {
  const button = make("button", { type: "button", text: "Copy", on: { click: () => copy(code, button) } });
  return make("figure", { class: "code" },
    make("figcaption", {}, make("span", { text: language || "text" }), button),
    make("pre", { tabindex: "0", "aria-label": "Code" }, make("code", { text: code })));
}

const MARKS = [["***", "strong"], ["**", "strong"], ["__", "u"], ["~~", "s"], ["||", "spoiler"], ["*", "em"], ["_", "em"]];

export function inline(text, names = {}) {
  const out = [];
  let plain = "";
  const push = (node) => { if (plain) out.push(plain); plain = ""; out.push(node); };
  for (let i = 0; i < text.length;) {
    const rest = text.slice(i);
    if (rest[0] === "\\" && /^[^a-zA-Z0-9\s]/.test(rest.slice(1))) { plain += rest[1]; i += 2; continue; }
    const ticks = /^`+/.exec(rest)?.[0];
    const close = ticks ? closing(rest, ticks) : -1;
    if (close > 0) { push(make("code", { text: rest.slice(ticks.length, close).replace(/^ (.*) $/s, "$1") })); i += close + ticks.length; continue; }
    const link = /^\[([^\]\n]+)\]\(<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?\)/.exec(rest);
    if (link) { push(anchor(link[2], inline(link[1], names))); i += link[0].length; continue; }
    const auto = /^<(https?:\/\/[^\s>]+)>/.exec(rest) || /^(https?:\/\/[^\s<>)\]]+[^\s<>)\].,;:!?'"])/.exec(rest);
    if (auto && (i === 0 || !/\w/.test(text[i - 1]))) { push(anchor(auto[1], [auto[1]])); i += auto[0].length; continue; }
    const mention = /^<(@!?|@&|#|t:)(\d+)(?::\w)?>/.exec(rest);
    if (mention) { push(make("span", { class: "mentioned", text: named(mention, names) })); i += mention[0].length; continue; }
    const emoji = /^<a?:(\w+):\d+>/.exec(rest);
    if (emoji) { plain += `:${emoji[1]}:`; i += emoji[0].length; continue; }
    const mark = MARKS.find(([sign]) => rest.startsWith(sign));
    const end = mark ? ending(rest, mark[0], text[i - 1]) : -1;
    if (end > 0) {
      const inner = inline(rest.slice(mark[0].length, end), names);
      push(wrap(mark, inner));
      i += end + mark[0].length;
      continue;
    }
    plain += rest[0];
    i += 1;
  }
  if (plain) out.push(plain);
  return out;
}

function wrap([sign, tag], inner) {
  if (sign === "***") return make("strong", {}, make("em", {}, ...inner));
  if (tag !== "spoiler") return make(tag, {}, ...inner);
  const hidden = make("button", { type: "button", class: "spoiler", "aria-label": "Hidden text, press to show" }, ...inner);
  hidden.addEventListener("click", () => { hidden.classList.add("open"); hidden.removeAttribute("aria-label"); });
  return hidden;
}

function closing(rest, ticks) {
  for (let at = rest.indexOf(ticks, ticks.length); at > 0; at = rest.indexOf(ticks, at + 1)) {
    if (rest[at - 1] !== "`" && rest[at + ticks.length] !== "`") return at;
  }
  return -1;
}

/** Where a mark ends: not after a backslash, not in code, and a single `_` not within a word. */
function ending(rest, sign, before) {
  if (sign === "_" && before && /\w/.test(before)) return -1;
  if (/^\s/.test(rest.slice(sign.length)) && sign !== "||") return -1;
  for (let at = sign.length; at < rest.length; at += 1) {
    if (rest[at] === "\\") { at += 1; continue; }
    if (rest[at] === "`") {
      const end = rest.indexOf("`", at + 1);
      if (end > 0) { at = end; continue; }
    }
    if (at > sign.length && rest.startsWith(sign, at)) {
      if (sign === "*" && rest[at + 1] === "*") { at += 1; continue; }
      if (sign === "_" && /\w/.test(rest[at + 1] || "")) continue;
      if (sign === "_" && rest[at + 1] === "_") { at += 1; continue; }
      return at;
    }
  }
  return -1;
}

export function anchor(url, children) {
  const safe = /^(https?|mailto):/i.test(url || "") ? url : undefined;
  return make("a", { href: safe, target: "_blank", rel: "noopener noreferrer", title: safe }, ...children);
}

function named([, kind, id], names) {
  if (kind === "t:") return new Date(Number(id) * 1_000).toLocaleString();
  return (kind === "#" ? "#" : "@") + (names[id] || id);
}
