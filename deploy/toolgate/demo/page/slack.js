// A message as Slack's client shows it, from the payload that the simulator received.

import { make } from "./dom.js";
import { anchor, blocks as markdown, figure } from "./markdown.js";

/** Names of people by their ids, for the message that is being drawn. */
let names = {};

export function body(entry, act, known = {}) {
  names = known;
  const payload = entry.payload || {};
  const blocks = parsed(payload.blocks ?? payload.message?.blocks);
  const shown = entry.by === "bot" && Array.isArray(blocks) ? blocks.map(block).filter(Boolean) : [];
  if (shown.length) return [make("div", { class: "text md" }, ...shown)];
  if (payload.markdown_text) return [make("div", { class: "text md" }, ...markdown(payload.markdown_text))];
  const source = entry.by === "bot" && typeof payload.text === "string" ? payload.text : null;
  if (source) return [make("div", { class: "text md" }, ...mrkdwn(source))];
  return entry.text ? [make("div", { class: "text md" }, make("p", { text: entry.text }))] : [];
}

/** A stream is told what is added to it, and nothing when it is stopped. */
export function merge(before, { payload }) {
  const said = before.payload?.markdown_text;
  if (said === undefined || !payload || payload.blocks || payload.text) return payload;
  return { ...payload, markdown_text: said + (payload.markdown_text || "") };
}

/** A form-encoded request carries its blocks as text. */
function parsed(blocks) {
  if (typeof blocks !== "string") return blocks;
  try { return JSON.parse(blocks); } catch { return null; }
}

function block(one) {
  switch (one.type) {
    case "rich_text": return make("div", {}, ...(one.elements || []).map(rich));
    case "header": return make("h4", { class: "md-h1", text: plain(one.text) });
    case "section": return section(one);
    case "context": return make("p", { class: "md-small" }, ...(one.elements || []).flatMap((element, i) => [i ? " · " : "", ...words(element)]));
    case "divider": return make("hr");
    case "table": return table(one);
    case "markdown": return make("div", { class: "md" }, ...markdown(one.text || ""));
    case "actions": return null;
    default: return null;
  }
}

const plain = (text) => (typeof text === "string" ? text : text?.text || "");

function words(text) {
  if (!text) return [];
  return text.type === "mrkdwn" ? line(text.text || "") : [plain(text)];
}

function section(one) {
  const fields = (one.fields || []).map((field) => make("div", { class: "field inline-field" }, ...mrkdwnOf(field)));
  return make("div", {}, ...(one.text ? mrkdwnOf(one.text) : []), fields.length ? make("div", { class: "fields" }, ...fields) : null);
}

const mrkdwnOf = (text) => (text.type === "mrkdwn" ? mrkdwn(text.text || "") : [make("p", { text: plain(text) })]);

function rich(element) {
  const parts = () => (element.elements || []).map(piece);
  switch (element.type) {
    case "rich_text_section": return make("p", {}, ...parts());
    case "rich_text_quote": return make("blockquote", {}, make("p", {}, ...parts()));
    case "rich_text_preformatted": return figure(element.language || "", (element.elements || []).map((e) => e.text || e.url || "").join(""));
    case "rich_text_list": return make("div", {}, ...(element.elements || []).map((item, i) => make("p", { class: "md-item", data: { depth: Math.min(5, element.indent || 0) } },
      make("span", { class: "md-mark", text: element.style === "ordered" ? `${(element.offset || 0) + i + 1}.` : ["•", "◦", "▪"][(element.indent || 0) % 3] }),
      make("span", {}, ...(item.elements || []).map(piece)))));
    default: return make("p", { text: element.text || "" });
  }
}

function piece(element) {
  const text = element.text ?? (element.type === "emoji" ? unicode(element) : element.type === "user" ? `@${names[element.user_id] || element.user_id}` : element.type === "channel" ? `#${element.channel_id}` : element.url || "");
  let node = element.type === "link" ? anchor(element.url, [text || element.url]) : text;
  const style = element.style || {};
  if (style.code) node = make("code", {}, node);
  if (style.strike) node = make("s", {}, node);
  if (style.italic) node = make("em", {}, node);
  if (style.bold) node = make("strong", {}, node);
  if (style.underline) node = make("u", {}, node);
  if (element.type === "user" || element.type === "channel" || element.type === "broadcast") node = make("span", { class: "mentioned" }, node);
  return node;
}

function unicode(element) {
  if (!element.unicode) return `:${element.name}:`;
  return String.fromCodePoint(...element.unicode.split("-").map((code) => Number.parseInt(code, 16)));
}

function table(one) {
  const align = (column) => one.column_settings?.[column]?.align;
  const cell = (tag) => (content, column) => make(tag, { data: { align: align(column) } }, ...(content?.type === "rich_text" ? (content.elements || []).flatMap((element) => (element.elements || []).map(piece)) : [content?.text || ""]));
  const rows = (one.rows || []).map((row, i) => make("tr", {}, ...row.map(cell(i ? "td" : "th"))));
  return make("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table" }, make("table", {}, ...rows));
}

/** Slack's own markup: fences, quotes, and lines. */
export function mrkdwn(source) {
  return source.split(/```/).flatMap((part, i) => {
    if (i % 2) return [figure("", decode(part).replace(/^\n|\n$/g, ""))];
    return part.split(/\n{2,}/).filter((text) => text.trim()).map((text) => {
      const quoted = /^(&gt;|>) ?/.test(text);
      const inner = line(text.replace(/^(&gt;|>) ?/gm, ""));
      return quoted ? make("blockquote", {}, make("p", {}, ...inner)) : make("p", {}, ...inner);
    });
  });
}

const decode = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");

const STYLES = { "*": "strong", _: "em", "~": "s" };

function line(text) {
  const out = [];
  const pattern = /`([^`\n]+)`|<([^<>\n|]+)(?:\|([^<>\n]*))?>|(?<![\w*_~])([*_~])(?=\S)([^\n]*?\S)\4(?![\w*_~])/g;
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    if (found.index > at) out.push(decode(text.slice(at, found.index)));
    if (found[1] !== undefined) out.push(make("code", { text: decode(found[1]) }));
    else if (found[2] !== undefined) out.push(target(found[2], found[3]));
    else out.push(make(STYLES[found[4]], {}, ...line(found[5])));
    at = found.index + found[0].length;
  }
  if (at < text.length) out.push(decode(text.slice(at)));
  return out;
}

const named = (raw) => (raw[0] === "!" ? raw.replace(/^!/, "@") : raw[0] + (names[raw.slice(1)] || raw.slice(1)));

function target(raw, label) {
  if (/^[@#!]/.test(raw)) return make("span", { class: "mentioned", text: decode(label ? `@${label}` : named(raw)) });
  return anchor(decode(raw), [decode(label || raw)]);
}
