// Puts the page together: panes, call trees, things to try, colours.

import { config } from "./api.js";
import { start, show, reference } from "./calls.js";
import { follow, pane } from "./chat.js";
import { make, toast } from "./dom.js";

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
  const to = (one) => () => { one.root.scrollIntoView({ inline: "start", block: "nearest" }); one.composer.focus(); };
  const tabs = made.map((one) => make("button", { type: "button", text: one.place.title, on: { click: to(one) } }));
  if (tabs.length > 1) document.getElementById("panes").append(make("nav", { class: "pane-tabs", "aria-label": "Chats" }, ...tabs));
  document.getElementById("panes").append(rail);
  for (const one of made) follow(one, lamp("light-sim"));
  return made;
}

function tries(panes) {
  // The chat that was used last; at first the first.
  let chosen = panes[0];
  for (const one of panes) one.root.addEventListener("focusin", () => { chosen = one; mark(panes, one); });
  mark(panes, chosen);

  document.querySelector(".tries").addEventListener("click", (event) => {
    const button = event.target.closest("button[data-say]");
    if (!button) return;
    if (button.hasAttribute("data-needs-ref") && !reference()) {
      toast("No turn is shown yet: send something first");
      return;
    }
    const text = button.dataset.say.replace("{ref}", reference() || "");
    look("chat");
    if (event.altKey) chosen.composer.put(text); else chosen.composer.say(text);
  });
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
