// What the page asks of the gateway that served it. Errors become what a notice shows.

const KEPT = "toolgate-token";

export const token = {
  get: () => sessionStorage.getItem(KEPT) || "",
  set: (value) => { if (value) sessionStorage.setItem(KEPT, value); else sessionStorage.removeItem(KEPT); },
};

/** What went wrong, with its layer, code and reference. */
export class Wrong extends Error {
  constructor(status, body) {
    const told = body.error || {};
    super(body.detail || told.message || (status ? `answered ${status}` : "the gateway does not answer"));
    Object.assign(this, {
      status, code: body.code || told.code || "", reference: body.reference || null,
      layer: told.layer || (status ? "execution" : "fatal"),
      hint: told.hint || (status ? null : "is it still running?"), problems: told.problems || [],
    });
  }
}

async function ask(path, { method = "GET", body, accept, signal } = {}) {
  const headers = { accept: accept || "application/json" };
  if (token.get()) headers.authorization = `Bearer ${token.get()}`;
  if (body) headers["content-type"] = "application/json";
  const sent = { method, headers, signal, body: body && JSON.stringify(body) };
  const answer = await fetch(path, sent).catch((error) => { throw signal?.aborted ? error : new Wrong(0, {}); });
  if (!answer.ok) throw new Wrong(answer.status, await answer.json().catch(() => ({})));
  return answer;
}

const json = async (path, options) => (await ask(path, options)).json();
const part = encodeURIComponent;

export const tools = (conversation) => json(`/v1/tools?conversation=${part(conversation)}`);
export const turns = async (query) => (await json(`/v1/traces?${query}`)).traces || [];
export const trace = (reference) => json(`/v1/traces/${part(reference)}`);
export const answer = async (reference) => {
  const found = await ask(`/v1/messages/${part(reference)}`);
  return found.status === 200 ? found.json() : null;
};
export const approvals = async () => (await json("/v1/approvals")).approvals || [];
export const decide = (id, body) => json(`/v1/approvals/${part(id)}`, { method: "POST", body });
/** Says something; an object with the events as they come. */
export async function say(body, on, signal) {
  const told = await ask("/v1/messages", { method: "POST", body, accept: "text/event-stream", signal });
  const reference = (told.headers.get("location") || "").split("/").pop() || null;
  // What is done at once has no turn: there is nothing to follow.
  if (!(told.headers.get("content-type") || "").startsWith("text/event-stream")) return { reference, end: await told.json() };
  on.begun?.(reference);
  return { reference, end: await read(told.body, on) };
}

/** Goes on with a turn that is under way. */
export async function follow(reference, on, signal) {
  const told = await ask(`/v1/traces/${part(reference)}/events`, { accept: "text/event-stream", signal });
  return { reference, end: await read(told.body, on) };
}

/** Reads events until the end; what the last one said, or nothing when the stream was cut. */
async function read(body, on) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read().catch(() => ({ done: true }));
    if (done) return null;
    text += value;
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const event = parsed(text.slice(0, end));
      text = text.slice(end + 2);
      if (event?.name === "end") { reader.cancel().catch(() => {}); return event.data; }
      if (event) on[event.name]?.(event.data);
    }
  }
}

function parsed(lines) {
  const event = { name: "message", data: "" };
  for (const line of lines.split("\n")) {
    if (line.startsWith("event:")) event.name = line.slice(6).trim();
    if (line.startsWith("data:")) event.data += line.slice(5);
  }
  return event.data ? { name: event.name, data: JSON.parse(event.data) } : null;
}
