// Small helpers. Text of others is only ever put in as text, never as markup.

export function make(tag, { text, on, data, ...properties } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const [name, value] of Object.entries(data || {})) if (value !== undefined) element.dataset[name] = value;
  for (const [name, listener] of Object.entries(on || {})) element.addEventListener(name, listener);
  if (text !== undefined) element.textContent = text;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function toast(text, tone = "plain") {
  const note = make("p", { class: "toast", text, data: { tone } });
  const box = document.getElementById("toasts");
  box.append(note);
  while (box.children.length > 3) box.firstChild.remove();
  setTimeout(() => note.remove(), 4500);
}

export async function copy(text, button) {
  const done = await navigator.clipboard.writeText(text).then(() => true, () => false);
  if (!button) return;
  const before = button.textContent;
  button.textContent = done ? "Copied" : "Not allowed";
  setTimeout(() => { button.textContent = before; }, 1200);
}

export function duration(us) {
  if (us === undefined || us === null) return "";
  if (us < 1_000) return `${Math.round(us)} µs`;
  if (us < 10_000) return `${(us / 1_000).toFixed(1)} ms`;
  if (us < 1_000_000) return `${Math.round(us / 1_000)} ms`;
  if (us < 60_000_000) return `${(us / 1_000_000).toFixed(us < 10_000_000 ? 2 : 1)} s`;
  return `${Math.floor(us / 60_000_000)} min ${Math.round((us % 60_000_000) / 1_000_000)} s`;
}

export const clock = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

export const preciseClock = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

export function size(bytes) {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KB`;
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}

export const REFERENCE = /\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b/i;
