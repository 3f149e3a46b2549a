// The parts of an answer, and what went wrong in place of one.

import { copy, make } from "./dom.js";
import { blocks, figure } from "./markdown.js";

/** Of what has none of its own: the gateway itself did not take what was asked. */
const HEADINGS = {
  validation: ["⚠️", "Check the input"], permission: ["🚫", "Not available"],
  execution: ["⚠️", "It did not work"], fatal: ["❌", "The gateway failed"],
};

export function parts(answer) {
  return (answer.parts || []).flatMap((part) => drawn(part));
}

function drawn(part) {
  switch (part.kind) {
    case "text": return blocks(part.text);
    case "plain": return [make("p", { class: "plain", text: part.text })];
    case "code": return [figure(part.language, part.text)];
    case "notice": return [notice(part)];
    case "file": return [file(part)];
    default: return [];
  }
}

export function notice({ layer, code, tool, mark: sign, heading: words, say, problems, usage, hint, reference }) {
  const [usualMark, usualHeading] = HEADINGS[layer] || HEADINGS.fatal;
  const [mark, heading] = [sign || usualMark, words || usualHeading];
  const wrong = (problems || []).map((one) => make("li", {},
    make("code", { text: one.path }), ` expected ${one.expected}`, one.got ? `, got ${one.got}` : "", one.hint ? ` (${one.hint})` : ""));
  return make("div", { class: "notice", role: "note", data: { layer } },
    make("p", {}, make("span", { text: `${mark} `, "aria-hidden": "true" }), make("strong", { text: heading }), tool ? ` · ${tool}` : ""),
    make("p", { text: say }),
    wrong.length ? make("ul", {}, ...wrong) : null,
    usage ? make("p", {}, make("code", { text: usage })) : null,
    hint ? make("p", { class: "soft", text: `→ ${hint}` }) : null,
    make("p", { class: "soft small" }, code || "", reference ? " · " : "", reference ? mention(reference) : null));
}

/** An error of the gateway itself, or none at all. */
export const wrong = (error) => notice({ layer: error.layer || "fatal", code: error.code, say: error.message, problems: error.problems, hint: error.hint, reference: error.reference });

function file(part) {
  const label = make("span", { text: `📎 ${part.name} · ${part.size ?? "?"} B` });
  return make("div", { class: "file" }, label, part.text ? figure(part.media_type, part.text) : null);
}

/** The reference, to be copied. */
export function mention(reference) {
  const button = make("button", { type: "button", class: "ref", text: reference, title: "Copy the reference", on: { click: () => copy(reference, button) } });
  return button;
}

export function buttons(answer, press) {
  const all = (answer.buttons || []).map((button) =>
    make("button", { type: "button", class: "key", text: button.label, data: { press: button.press }, on: { click: (event) => press(button, event.currentTarget) } }));
  return all.length ? make("div", { class: "keys" }, ...all) : null;
}
