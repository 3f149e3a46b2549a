// The page: say something, see the answer grow, look behind it, press its buttons.

import * as api from "./api.js";
import { Waiting } from "./approvals.js";
import { at, make, say } from "./dom.js";
import { blocks } from "./markdown.js";
import { buttons, mention, notice, parts, wrong } from "./reply.js";
import * as sessions from "./sessions.js";
import { Tree } from "./tree.js";

const STARTS = 6;
/** The turn under way, so that it can be stopped. */
const now = { reference: null, abort: null, busy: false };

const log = at("log");

// Entry ----------------------------------------------------------------------

async function enter() {
  const tools = await api.tools(sessions.current()).catch((error) => error);
  if (tools instanceof Error) {
    if (tools.status === 401) return door(api.token.get() ? "This token is not known here. Another one?" : null);
    at("messages").replaceChildren(make("li", { class: "theirs" }, wrong(tools)));
    at("welcome").hidden = true;
    return;
  }
  menu(tools);
  await Promise.all([sessions.list(reopen).catch(() => {}), restore()]);
  document.body.dataset.ready = "";
  at("text").focus();
}

function door(words) {
  if (words) { at("door-say").textContent = words; api.token.set(""); }
  if (!at("door").open) at("door").showModal();
  at("token").focus();
}

at("door-form").addEventListener("submit", () => {
  api.token.set(at("token").value.trim());
  at("token").value = "";
  enter();
});
at("door").addEventListener("cancel", (event) => event.preventDefault());

// Tools ----------------------------------------------------------------------

function menu(tools) {
  at("open-tools").disabled = false;
  at("open-tools").textContent = `Tools (${tools.length})`;
  const entry = (tool, found) => make("li", {}, make("button", { type: "button", on: { click: () => { at("tools").close(); write(`/${tool.name} `); } } },
    make("code", { text: `/${tool.name}` }), make("span", { text: found })));
  const first = (tool) => (tool.description || "").split("\n")[0];
  at("tool-list").replaceChildren(...tools.map((tool) => entry(tool, first(tool))));
  if (!tools.length) at("tool-list").append(make("li", { class: "soft", text: "Policy shows you none." }));
  // What needs to be told something is more likely to be of use.
  const needs = (tool) => (tool.parameters?.required || []).length > 0;
  const starts = [...tools.filter(needs), ...tools.filter((tool) => !needs(tool))];
  at("starts").replaceChildren(...starts.slice(0, STARTS).map((tool) => entry(tool, first(tool))));
}

function write(text) {
  at("text").value = text;
  fit();
  at("text").focus();
}

at("open-tools").addEventListener("click", () => at("tools").showModal());

// Conversations --------------------------------------------------------------

at("new").addEventListener("click", () => { leave(); sessions.begin(); clear(); sessions.list(reopen).catch(() => {}); at("text").focus(); });
at("open-side").addEventListener("click", () => side(!document.body.hasAttribute("data-side")));
document.addEventListener("keydown", (event) => { if (event.key === "Escape") side(false); });
document.querySelector("main").addEventListener("click", () => side(false));

function side(open) {
  document.body.toggleAttribute("data-side", open);
  at("open-side").setAttribute("aria-expanded", String(open));
}

async function reopen() {
  leave();
  side(false);
  clear();
  await restore();
  await sessions.list(reopen).catch(() => {});
  at("text").focus();
}

function clear() {
  at("messages").replaceChildren();
  at("welcome").hidden = false;
}

/** A turn goes on without a page that shows it. */
function leave() {
  now.abort?.abort();
  working(false);
}

/** What was said before in the open conversation; a turn under way is followed. */
async function restore() {
  const turns = await sessions.past().catch(() => []);
  for (const turn of turns) {
    mine(turn.asked);
    const one = theirs();
    const [answer, trace] = await Promise.all([api.answer(turn.turn).catch(() => undefined), api.trace(turn.turn).catch(() => null)]);
    for (const node of trace?.nodes || []) one.tree.take(node);
    if (answer) one.end(answer, turn.turn);
    else if (answer === null) run(one, (on, signal) => { on.begun(turn.turn); return api.follow(turn.turn, on, signal); });
    else one.gone(turn.turn);
  }
  down(true);
}

// What is said ---------------------------------------------------------------

function mine(text) {
  at("welcome").hidden = true;
  at("messages").append(make("li", { class: "mine" }, make("p", { text })));
  down(true);
}

/** An answer in the making. */
function theirs() {
  const tree = new Tree();
  const waiting = new Waiting();
  const body = make("div", { class: "body", "aria-busy": "true" }, make("p", { class: "wait", "aria-label": "An answer is being made" }, make("i"), make("i"), make("i")));
  const foot = make("div", { class: "foot" });
  const item = make("li", { class: "theirs" }, tree.live, waiting.box, body, foot);
  at("messages").append(item);
  down(true);
  let draft = null;
  const drawDraft = () => {
    if (draft === null) return;
    body.replaceChildren(...blocks(draft));
    body.classList.add("draft");
    draft = null;
    down();
  };
  const finish = (...children) => {
    draft = null;
    body.classList.remove("draft");
    body.removeAttribute("aria-busy");
    body.replaceChildren(...children.filter(Boolean));
    tree.end();
    waiting.end();
    down();
  };
  return {
    tree,
    node(node, reference) {
      tree.take(node);
      waiting.take(node, reference).then(() => down());
      down();
    },
    draft(text) {
      if (draft === null) requestAnimationFrame(drawDraft);
      draft = text;
    },
    end(answer, reference) {
      const shown = parts(answer);
      finish(...(shown.length ? shown : [make("p", { class: "plain", text: answer.text || "(no answer)" })]), buttons(answer, press));
      foot.replaceChildren(tree.details, answer.failed || reference ? make("span", { class: "small soft" }, mention(answer.reference || reference)) : "");
      say(answer.text || "");
    },
    gone(reference) {
      finish(make("p", { class: "soft", text: "This answer is not kept any more; what happened is below." }));
      foot.replaceChildren(tree.details, make("span", { class: "small soft" }, mention(reference)));
    },
    failed(error) {
      finish(wrong(error));
      foot.replaceChildren(tree.details);
      say(error.message);
    },
    cut(reference) {
      finish(notice({ layer: "fatal", say: "The connection was lost before the answer came.", hint: "what you asked goes on; load the page again to see its answer", reference }));
      foot.replaceChildren(tree.details);
    },
  };
}

/** Shows a turn until its end. */
async function run(one, start) {
  const abort = new AbortController();
  Object.assign(now, { reference: null, abort });
  working(true);
  let reference = null;
  const on = {
    begun: (of) => { reference = of; now.reference = of; },
    node: (node) => one.node(node, reference),
    draft: ({ text }) => one.draft(text),
  };
  try {
    const { end } = await start(on, abort.signal);
    if (end) one.end(end, reference);
    else one.cut(reference);
  } catch (error) {
    if (abort.signal.aborted) return;
    if (error.status === 401) door("This token is not known any more. Another one?");
    one.failed(error instanceof api.Wrong ? error : new api.Wrong(0, { detail: String(error.message || error) }));
  }
  if (now.abort === abort) working(false);
  relist();
}

/** What is listed is written a little behind what happens. */
function relist() {
  const list = () => sessions.list(reopen).catch(() => {});
  list();
  setTimeout(list, 1_500);
}

async function press(button, element) {
  const keys = element.closest(".keys");
  keys.querySelectorAll("button").forEach((one) => { one.disabled = true; });
  element.setAttribute("aria-pressed", "true");
  await run(theirs(), (on, signal) => api.say({ press: button.press, conversation: sessions.current() }, on, signal));
}

function working(busy) {
  now.busy = busy;
  const send = at("send");
  send.classList.toggle("stop", busy);
  send.setAttribute("aria-label", busy ? "Stop" : "Send");
}

async function stop() {
  if (!now.reference) return;
  await api.say({ press: `cancel:${now.reference}`, conversation: sessions.current() }, {}).catch(() => {});
}

// The field ------------------------------------------------------------------

at("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("text").value.trim();
  if (now.busy && !text) { stop(); return; }
  if (!text || now.busy) return;
  write("");
  mine(text);
  run(theirs(), (on, signal) => api.say({ text, conversation: sessions.current() }, on, signal));
});
at("text").addEventListener("keydown", (event) => {
  // Enter ends the choice of a character in an input method before it sends anything.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  at("composer").requestSubmit();
});
at("text").addEventListener("input", fit);

function fit() {
  const field = at("text");
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, 200)}px`;
}

// The end of the log ---------------------------------------------------------

const isDown = () => log.scrollHeight - log.scrollTop - log.clientHeight < 80;
let follows = true;

function down(always) {
  if (always) follows = true;
  if (follows) log.scrollTop = log.scrollHeight;
}

log.addEventListener("scroll", () => { follows = isDown(); at("down").hidden = follows; });
at("down").addEventListener("click", () => down(true));

enter();
