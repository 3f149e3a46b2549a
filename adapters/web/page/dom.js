// Small helpers. Text of others is only ever put in as text, never as markup.

export const at = (id) => document.getElementById(id);

export function make(tag, { text, on, data, ...properties } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const [name, value] of Object.entries(data || {})) if (value !== undefined && value !== null) element.dataset[name] = value;
  for (const [name, listener] of Object.entries(on || {})) element.addEventListener(name, listener);
  if (text !== undefined) element.textContent = text;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export async function copy(text, button) {
  const done = await navigator.clipboard.writeText(text).then(() => true, () => false);
  const before = button.textContent;
  button.textContent = done ? "Copied" : "Not allowed";
  setTimeout(() => { button.textContent = before; }, 1200);
}

export function duration(us) {
  if (us === undefined || us === null) return "";
  if (us < 1_000) return `${Math.round(us)} µs`;
  if (us < 1_000_000) return `${Math.round(us / 1_000)} ms`;
  if (us < 60_000_000) return `${(us / 1_000_000).toFixed(1)} s`;
  return `${Math.floor(us / 60_000_000)} min ${Math.round((us % 60_000_000) / 1_000_000)} s`;
}

/** Said to those who listen rather than look. */
export function say(text) { at("said").textContent = text; }
