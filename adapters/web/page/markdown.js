// CommonMark as far as chat answers use it, as elements. Text of others is only ever put in as text.

import { copy, make } from "./dom.js";

const FENCE = /^ {0,3}(`{3,})\s*([\w+#.-]*)\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)]) +(.*)$/;
const RULE = /^ {0,3}(-{3,}|\*{3,}|_{3,})\s*$/;
const TABLE = /^\s*\|?(\s*:?-+:?\s*\|)+\s*:?-*:?\s*\|?\s*$/;

export function blocks(source) {
  const lines = source.split("\n");
  const out = [];
  let paragraph = [];
  const flush = () => {
    if (paragraph.length) out.push(make("p", {}, ...inline(paragraph.join("\n"))));
    paragraph = [];
  };
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i];
    const fence = FENCE.exec(line);
    const heading = /^ {0,3}(#{1,6}) +(.*?)#*$/.exec(line);
    if (fence) {
      flush();
      const code = [];
      // One that is not closed yet is still being written.
      for (i += 1; i < lines.length && !closes(lines[i], fence[1]); i += 1) code.push(lines[i]);
      out.push(figure(fence[2], code.join("\n")));
    } else if (heading) { flush(); out.push(make(`h${Math.min(6, heading[1].length + 2)}`, {}, ...inline(heading[2].trim()))); }
    else if (RULE.test(line)) { flush(); out.push(make("hr")); }
    else if (/^ {0,3}>/.test(line)) {
      flush();
      const quoted = [];
      for (; i < lines.length && /^ {0,3}>/.test(lines[i]); i += 1) quoted.push(lines[i].replace(/^ {0,3}> ?/, ""));
      i -= 1;
      out.push(make("blockquote", {}, ...blocks(quoted.join("\n"))));
    } else if (ITEM.test(line)) { flush(); i = list(lines, i, out); }
    else if (line.includes("|") && TABLE.test(lines[i + 1] || "")) { flush(); i = table(lines, i, out); }
    else if (!line.trim()) flush();
    else paragraph.push(line);
  }
  flush();
  return out;
}

const closes = (line, fence) => /^ {0,3}`{3,}\s*$/.test(line) && line.trim().length >= fence.length;

/** A list with the lists in it; the line where it ends. */
function list(lines, from, out) {
  const [, indent, mark] = ITEM.exec(lines[from]);
  const ordered = /\d/.test(mark);
  const items = [];
  let i = from;
  for (; i < lines.length; i += 1) {
    const item = ITEM.exec(lines[i]);
    if (item && item[1].length <= indent.length + 1) {
      if (/\d/.test(item[2]) !== ordered || item[1].length < indent.length) break;
      items.push([item[3]]);
    } else if (lines[i].trim() && (item || /^\s{2,}/.test(lines[i]))) items.at(-1).push(lines[i].slice(Math.min(indent.length + 2, lines[i].search(/\S/))));
    else if (lines[i].trim() || !ITEM.test(lines[i + 1] || "")) break;
  }
  const drawn = items.map((item) => {
    const [first, ...rest] = item;
    return make("li", {}, ...inline(first), ...(rest.length ? blocks(rest.join("\n")) : []));
  });
  out.push(make(ordered ? "ol" : "ul", { start: ordered ? parseInt(mark, 10) : undefined }, ...drawn));
  return i - 1;
}

function table(lines, from, out) {
  const cells = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  const row = (line, tag) => make("tr", {}, ...cells(line).map((cell) => make(tag, {}, ...inline(cell))));
  const rows = [];
  let i = from + 2;
  for (; i < lines.length && lines[i].includes("|"); i += 1) rows.push(row(lines[i], "td"));
  out.push(make("div", { class: "wide-table", tabindex: "0" }, make("table", {}, make("thead", {}, row(lines[from], "th")), make("tbody", {}, ...rows))));
  return i - 1;
}

export function figure(language, code) {
  const button = make("button", { type: "button", text: "Copy", on: { click: () => copy(code, button) } });
  return make("figure", { class: "code" },
    make("figcaption", {}, make("span", { text: language || "text" }), button),
    make("pre", { tabindex: "0", "aria-label": "Code" }, make("code", { text: code })));
}

const MARKS = [["***", "strong"], ["**", "strong"], ["__", "strong"], ["~~", "s"], ["*", "em"], ["_", "em"]];

export function inline(text) {
  const out = [];
  let plain = "";
  const push = (node) => { if (plain) out.push(plain); plain = ""; out.push(node); };
  for (let i = 0; i < text.length;) {
    const rest = text.slice(i);
    if (/^( {2,}|\\)\n/.test(rest)) { push(make("br")); i += rest.indexOf("\n") + 1; continue; }
    if (rest[0] === "\\" && /^[!-/:-@[-`{-~]/.test(rest.slice(1))) { plain += rest[1]; i += 2; continue; }
    const ticks = /^`+/.exec(rest)?.[0];
    const close = ticks ? closing(rest, ticks) : -1;
    if (close > 0) { push(make("code", { text: rest.slice(ticks.length, close).replace(/^ (.*) $/s, "$1") })); i += close + ticks.length; continue; }
    const link = /^!?\[([^\]\n]+)\]\(<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?\)/.exec(rest);
    if (link) { push(anchor(link[2], inline(link[1]))); i += link[0].length; continue; }
    const auto = /^<(https?:\/\/[^\s>]+)>/.exec(rest) || /^(https?:\/\/[^\s<>)\]]+[^\s<>)\].,;:!?'"])/.exec(rest);
    if (auto && (i === 0 || !/\w/.test(text[i - 1]))) { push(anchor(auto[1], [auto[1]])); i += auto[0].length; continue; }
    const mark = MARKS.find(([sign]) => rest.startsWith(sign));
    const end = mark ? ending(rest, mark[0], text[i - 1]) : -1;
    if (end > 0) {
      const inner = inline(rest.slice(mark[0].length, end));
      push(mark[0] === "***" ? make("strong", {}, make("em", {}, ...inner)) : make(mark[1], {}, ...inner));
      i += end + mark[0].length;
      continue;
    }
    plain += rest[0];
    i += 1;
  }
  if (plain) out.push(plain);
  return out;
}

function closing(rest, ticks) {
  for (let found = rest.indexOf(ticks, ticks.length); found > 0; found = rest.indexOf(ticks, found + 1)) {
    if (rest[found - 1] !== "`" && rest[found + ticks.length] !== "`") return found;
  }
  return -1;
}

/** Where a mark ends: not after a backslash, not in code, and a `_` not within a word. */
function ending(rest, sign, before) {
  const within = sign[0] === "_";
  if ((within && before && /\w/.test(before)) || /^\s/.test(rest.slice(sign.length))) return -1;
  for (let i = sign.length; i < rest.length; i += 1) {
    if (rest[i] === "\\") { i += 1; continue; }
    if (rest[i] === "`") {
      const end = rest.indexOf("`", i + 1);
      if (end > 0) { i = end; continue; }
    }
    if (i > sign.length && rest.startsWith(sign, i) && !/\s/.test(rest[i - 1])) {
      if (sign.length === 1 && rest[i + 1] === sign) { i += 1; continue; }
      if (within && /\w/.test(rest[i + sign.length] || "")) continue;
      return i;
    }
  }
  return -1;
}

function anchor(url, children) {
  const safe = /^(https?|mailto):/i.test(url || "") ? url : undefined;
  return make("a", { href: safe, target: "_blank", rel: "noopener noreferrer", title: safe }, ...children);
}
