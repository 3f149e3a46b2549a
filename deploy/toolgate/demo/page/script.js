// Puts the page together: panes, call trees, things to try, colours.

import { config } from "./api.js";
import { start, show, reference } from "./calls.js";
import { follow, pane } from "./chat.js";
import { spelled } from "./commands.js";
import { make, toast } from "./dom.js";
import { CROSS } from "./message.js";

const lamp = (id) => (state) => {
  document.getElementById(id).dataset.state = state;
  // For whoever waits until it can be used: both were heard.
  if (!document.querySelector(".light:not([data-state=on])")) document.body.dataset.ready = "";
};

function look(part) {
  document.body.dataset.view = part;
  for (const button of document.querySelectorAll("[data-show]")) button.setAttribute("aria-pressed", String(button.dataset.show === part));
}

function panes() {
  const rail = make("div", { class: "rail", data: { count: String(config.panes.length) } });
  const made = config.panes.map((place) => pane(place, { show: (ref) => { show(ref); look("calls"); } }));
  rail.append(...made.map((one) => one.root));
  const to = (one) => () => { one.root.scrollIntoView({ inline: "start", block: "nearest" }); choose(one); };
  const tabs = made.map((one) => make("button", { type: "button", text: one.place.title, data: { tab: one.place.platform }, on: { click: to(one) } }));
  // The tab of the pane that is seen.
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) tabs.find((tab) => tab.dataset.tab === target.dataset.platform)?.setAttribute("aria-pressed", String(isIntersecting));
  }, { root: rail, threshold: 0.6 });
  for (const one of made) seen.observe(one.root);
  if (tabs.length > 1) document.getElementById("panes").append(make("nav", { class: "pane-tabs", "aria-label": "Chats" }, ...tabs));
  document.getElementById("panes").append(rail);
  for (const one of made) follow(one, lamp("light-sim"));
  return made;
}

/** The chat that was used last. */
let chosen = null;
let choose = () => {};

function tries(panes) {
  choose = (one) => { chosen = one; mark(panes, one); };
  for (const one of panes) for (const used of ["focusin", "pointerdown"]) one.root.addEventListener(used, () => choose(one));
  choose(panes[0]);

  document.querySelector(".tries").addEventListener("click", (event) => {
    const button = event.target.closest("button[data-say]");
    if (!button) return;
    if (button.hasAttribute("data-needs-ref") && !reference()) {
      toast("No turn is shown yet: send something first");
      return;
    }
    look("chat");
    chosen.root.scrollIntoView({ inline: "start", block: "nearest" });
    if (button.dataset.approver) asked(panes, button.dataset.approver);
    attempt(chosen, button.dataset, event.altKey).catch((error) => toast(error.message, "bad"));
  });
}

/** Where an approver is asked stands open: Slack's group, unless what waits is asked for there. */
function asked(panes, person) {
  const slack = panes.find((one) => one.place.platform === "slack");
  if (slack && slack !== chosen) slack.open({ direct: false, person });
}

/** Does a thing to try in a chat: as whom, where and in which words stands at its button. */
async function attempt(pane, wanted, onlyWritten) {
  const { platform, title } = pane.place;
  const named = (wanted[platform] ?? wanted.say).replace("{ref}", reference() || "");
  const says = spelled(platform, named, wanted.thread || wanted.then === "react");
  if (wanted.then === "react" && !CROSS[platform]) toast(`${title} offers no such reaction: press Cancel there`);
  if (wanted.in || wanted.as) {
    const direct = wanted.in ? wanted.in === "direct" : pane.direct;
    pane.open({ direct, person: wanted.as || pane.person, thread: wanted.thread });
  }
  if (onlyWritten) return pane.composer.put(says);
  const root = wanted.thread && platform === "slack" ? await pane.composer.say("Some questions about the weather", true) : null;
  if (root) pane.composer.answer({ message: root.message, text: "Some questions about the weather" }, "yourself");
  const said = await pane.composer.say(says, wanted.then === "react");
  if (wanted.then !== "react" || !said?.message || !CROSS[platform]) return undefined;
  await new Promise((over) => setTimeout(over, 1_500));
  return pane.api.react({ conversation: pane.conversation(), user: pane.person, message: said.message, emoji: CROSS[platform] });
}

/** Where things to try are sent. */
function mark(panes, chosen) {
  for (const one of panes) one.root.toggleAttribute("data-chosen", panes.length > 1 && one === chosen);
  const name = document.getElementById("try-where");
  if (name) name.textContent = panes.length > 1 ? ` into ${chosen.place.title}` : "";
}

function colours() {
  const button = document.getElementById("theme");
  const order = ["auto", "light", "dark"];
  const stored = () => { try { return localStorage.getItem("toolgate-theme"); } catch { return null; } };
  const set = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    const name = theme[0].toUpperCase() + theme.slice(1);
    document.getElementById("theme-name").textContent = name;
    button.setAttribute("aria-label", `Colours: ${theme === "auto" ? "as the system" : theme}`);
    button.dataset.theme = theme;
    try { localStorage.setItem("toolgate-theme", theme); } catch { /* a browser that keeps nothing still shows it */ }
  };
  set(order.includes(stored()) ? stored() : "auto");
  button.addEventListener("click", () => set(order[(order.indexOf(button.dataset.theme) + 1) % 3]));
}

colours();
const all = panes();
const [first] = all;
tries(all);
// Whoever has a keyboard can begin to type; on a phone it would only cover the page.
if (!matchMedia("(pointer: coarse)").matches) first.composer.focus();
start(lamp("light-gateway"));
for (const button of document.querySelectorAll("[data-show]")) button.addEventListener("click", () => look(button.dataset.show));
