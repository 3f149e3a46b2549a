// What is typed after a slash, as each platform's client sends it: Discord asks for options one by one, Slack sends the
// text behind a command that the app registered and nothing else that begins with a slash, Telegram knows no commands but text.

import { gateway } from "./api.js";

const [SUB, GROUP, INTEGER, BOOLEAN, NUMBER] = [1, 2, 4, 5, 10];
const MOST_HINTS = 7;

/** The commands that may be typed here: name, description and, in order, the options. */
export async function menu(platform, api, conversation) {
  if (platform === "telegram") return tools(platform);
  const { commands } = await api.menu(conversation);
  if (platform === "slack") {
    const all = await tools(platform);
    return (commands || []).flatMap(({ command: own }) => all.map((tool) => ({ ...tool, name: `${own.slice(1)} ${tool.name}` })));
  }
  return (commands || []).flatMap((one) => flat(one, one.name));
}

const tools = async (platform) => (await gateway.tools(platform)).map((tool) => tool.function || tool);

/** What a person types for a command: in Slack behind the app's own one, or as a message with a blank before the slash. */
export function spelled(platform, text, message) {
  if (platform !== "slack" || !text.startsWith("/")) return text;
  return message || text.includes("\n") ? ` ${text}` : `/toolgate ${text.slice(1)}`;
}

/** A command, or its sub-commands with their whole names. */
function flat({ description, options = [] }, name) {
  const inner = options.filter((one) => one.type === SUB || one.type === GROUP);
  return inner.length ? inner.flatMap((one) => flat(one, `${name} ${one.name}`)) : [{ name, description, options }];
}

/** The known command that a text begins with, and what follows it. */
function found(text, known) {
  const lower = text.toLowerCase();
  const fits = ({ name }) => lower.startsWith(`/${name}`) && !/\S/.test(text[name.length + 1] || " ");
  const one = known.filter(fits).sort((a, b) => b.name.length - a.name.length)[0];
  return one ? { one, rest: text.slice(one.name.length + 1) } : null;
}

/** What a text is as a command of the platform; nothing when it is sent as a message. */
export function command(platform, text, known) {
  if (!text.startsWith("/") || platform === "telegram" || /\n\s*\//.test(text)) return null;
  if (platform === "slack") {
    const [, name, rest = ""] = /^\/([\w-]+)(?:\s+([^]*))?$/.exec(text) || [];
    return name ? { name, args: rest } : null;
  }
  const { one, rest } = found(text, known) || {};
  return one ? { name: one.name, args: options(one, rest.trim()) } : null;
}

function options({ options: declared }, rest) {
  const args = {};
  const free = [];
  for (const word of words(rest)) {
    const [option, value] = pair(word, declared);
    if (option) args[option.name] = typed(option, unquoted(value));
    else free.push(unquoted(word));
  }
  for (const option of declared.filter((one) => !(one.name in args))) {
    if (!free.length) break;
    // The last text takes all that is left, as a person would write it there.
    const rests = option.type === 3 && !option.choices && !declared.slice(declared.indexOf(option) + 1).some((one) => one.required);
    args[option.name] = typed(option, rests ? free.splice(0).join(" ") : free.shift());
  }
  return args;
}

const words = (text) => text.match(/[\w-]+[=:]"[^"]*"|"[^"]*"|\S+/g) || [];

function pair(word, declared) {
  const [, name, value] = /^([\w-]+)[=:]([^]*)$/.exec(word) || [];
  return [name && declared.find((one) => one.name === name.toLowerCase()), value];
}

const unquoted = (word) => word.replace(/^"([^]*?)"?$/, "$1");
const quoted = (text) => (/[\s"]/.test(text) ? `"${text.replaceAll('"', "")}"` : text);

function typed(option, text) {
  if ((option.type === INTEGER || option.type === NUMBER) && text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  if (option.type === BOOLEAN && /^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  return text;
}

// What fits -------------------------------------------------------------------

/** What could stand where something is typed: each with its text, what it means, and the whole line with it. */
export async function hints(platform, line, known, complete) {
  const begun = /^\/([\w -]*)$/.exec(line);
  const fits = (name, typed) => name?.startsWith(typed) || (platform === "slack" && name?.split(" ")[1]?.startsWith(typed));
  const names = begun ? known.filter(({ name }) => fits(name, begun[1].toLowerCase())).slice(0, MOST_HINTS) : [];
  if (names.length) return names.map(({ name, description }) => ({ text: `/${name}`, means: description, line: `/${name} ` }));
  if (platform !== "discord") return [];
  const { one, rest } = found(line, known) || {};
  return one && /^\s/.test(rest) ? inOptions(one, rest, line, complete) : [];
}

async function inOptions(one, rest, line, complete) {
  const open = /\s$/.test(rest) && (rest.split('"').length - 1) % 2 === 0 ? "" : words(rest).at(-1) || "";
  const before = line.slice(0, line.length - open.length);
  const given = options(one, rest.slice(0, rest.length - open.length));
  const missing = one.options.filter((option) => !(option.name in given));
  const [named, value] = pair(open, one.options);
  const option = named || (missing[0]?.choices || missing[0]?.autocomplete ? missing[0] : null);
  const values = option ? await choices(option, unquoted(named ? value : open), given, one, complete) : [];
  const fitting = values.map((choice) => ({ text: choice.name, means: option.name, line: `${before}${option.name}:${quoted(String(choice.value))} ` }));
  if (named) return fitting;
  const fields = missing.filter(({ name }) => name.startsWith(open.toLowerCase()) && name !== option?.name)
    .map(({ name, description, required }) => ({ text: `${name}:`, means: `${required ? "" : "optional · "}${description}`, line: `${before}${name}:` }));
  return [...fitting, ...fields].slice(0, MOST_HINTS);
}

async function choices(option, value, args, { name }, complete) {
  const has = (choice) => choice.name.toLowerCase().includes(value.toLowerCase());
  if (option.choices) return option.choices.filter(has).slice(0, MOST_HINTS);
  if (!option.autocomplete) return [];
  const answer = await complete({ name, field: option.name, typed: value, args }).catch(() => ({}));
  return (answer.choices || []).slice(0, MOST_HINTS);
}
