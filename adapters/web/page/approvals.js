// Calls that wait for people. An operator may answer all of them here, everybody what they asked for and only have to confirm;
// of the others it is told that somebody is asked.

import * as api from "./api.js";
import { make } from "./dom.js";

/** What stands in an answer while its turn waits. */
export class Waiting {
  constructor() {
    this.box = make("div", { class: "waiting", hidden: true });
    this.asked = false;
  }

  /** A node as it stands now. */
  async take(node, reference) {
    if (node.kind !== "call" || node.state !== "parked") return;
    if (this.asked || !reference) return;
    this.asked = true;
    const found = await api.approvals().catch(() => null);
    const own = (found || []).filter((one) => one.turn === reference);
    this.box.replaceChildren(...(own.length ? own.map((one) => this.card(one)) : [make("p", { class: "soft", text: "This waits for a person who may allow it." })]));
    this.box.hidden = false;
    // Another call of the turn may come to wait.
    this.asked = false;
  }

  card(one) {
    const card = make("div", { class: "card", role: "group", "aria-label": `May ${one.tool} run?` });
    const answer = (words) => async () => {
      card.querySelectorAll("button").forEach((button) => { button.disabled = true; });
      const said = await api.decide(one.id, words).then((decided) => decided.said, (error) => error.message);
      card.replaceChildren(make("p", { text: said || "Answered." }));
    };
    const key = (label, words) => make("button", { type: "button", class: "key", text: label, on: { click: answer(words) } });
    card.append(
      make("p", {}, make("strong", { text: one.by === "requester" ? "Please confirm: " : "May this run? " }), make("code", { text: one.tool })),
      make("pre", { text: one.args || "" }),
      one.said_by_model ? make("p", { class: "soft", text: one.said_by_model }) : "",
      make("p", { class: "soft small", text: `Asked by ${one.name || one.sender}, until ${new Date(one.until_ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })}` }),
      make("div", { class: "keys" }, key("Allow", { answer: "allow" }), key("Allow in this session", { answer: "allow", session: true }), key("Deny", { answer: "deny" })));
    return card;
  }

  end() { this.box.remove(); }
}
