// What is typed after a slash, as each platform's client sends it: Discord asks for options one by one, Slack sends the
// text as it is, Telegram knows no commands but text.

import { gateway } from "./api.js";

const TYPES = { 4: "integer", 5: "boolean", 10: "number" };

/** The commands that may be typed here: name, description and, in order, the options. */
export async function menu(platform, api) {
  if (platform !== "discord") {
    const tools = await gateway.tools(platform);
    return tools.map((tool) => tool.function || tool);
  }
  const { commands } = await api.menu();
  return (commands || []).map(({ name, description, options }) => ({ name, description, options: options || [] }));
}

/** What a text is as a command of the platform; nothing when it is sent as a message. */
export function command(platform, text, known) {
  const found = /^\/([\w-]+)(?:\s+([^]*))?$/.exec(text);
  if (!found || platform === "telegram" || /\n\s*\//.test(text)) return null;
  const [, name, rest = ""] = found;
  if (platform === "slack") return { name, args: rest };
  const one = known.find((command) => command.name === name.toLowerCase());
  return one ? { name: one.name, args: options(one, rest) } : null;
}

function options({ options: declared }, rest) {
  const args = {};
  const free = [];
  for (const word of rest.match(/[\w-]+[=:]"[^"]*"|"[^"]*"|\S+/g) || []) {
    const pair = /^([\w-]+)[=:]([^]*)$/.exec(word);
    const option = pair && declared.find((one) => one.name === pair[1].toLowerCase());
    if (option) args[option.name] = typed(option, unquoted(pair[2]));
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

const unquoted = (word) => (/^".*"$/s.test(word) ? word.slice(1, -1) : word);

function typed(option, text) {
  const type = TYPES[option.type];
  if ((type === "integer" || type === "number") && text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  if (type === "boolean" && /^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  return text;
}
