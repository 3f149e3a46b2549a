// Forms that the bot asks a person to fill in: Discord's modals and Slack's views, as a dialog.

import { make, toast } from "./dom.js";

/** Shows the form of an entry, or what is wrong in the one that is open. */
export function form(pane, entry) {
  const id = entry.message || entry.interaction;
  const open = pane.forms.get(id);
  if (open && entry.payload?.response_action === "errors") return open.wrong(entry.payload.errors || {});
  open?.dialog.close();
  const one = made(pane, entry, id);
  pane.forms.set(id, one);
  document.body.append(one.dialog);
  try { one.dialog.showModal(); } catch (error) { toast(error.message, "bad"); }
  return undefined;
}

/** The platform took what was filled in. */
export const closed = (pane, id) => pane.forms.get(id)?.dialog.close();

/** Says in its form that a submission failed; whether there is such a form. */
export function failed(pane, entry) {
  const open = pane.forms.get(entry.payload?.view);
  open?.say(entry.text);
  return !!open;
}

function made(pane, entry, id) {
  const slack = pane.place.platform === "slack";
  const view = entry.payload?.view || entry.payload?.data || entry.payload || {};
  const fields = slack ? (entry.fields || []).map(ofSlack) : ofDiscord(view);
  const title = view.title?.text || view.title || entry.text.split("\n")[0] || "Form";
  const inputs = fields.map((field, i) => ({ field, element: input(field), note: make("span", { class: "form-wrong", id: `wrong-${id}-${i}` }) }));
  const note = make("p", { class: "form-note", role: "alert" });
  const submit = make("button", { type: "submit", class: "primary", text: view.submit?.text || "Submit" });
  const dialog = make("dialog", { class: "form", "aria-label": title, data: { platform: pane.place.platform } },
    make("h3", { text: title }),
    make("p", { class: "form-from", text: `${pane.place.bot} on ${pane.place.title} asks` }),
    make("form", { method: "dialog" }, ...inputs.map(row), note,
      make("div", { class: "form-buttons" }, make("button", { type: "button", text: view.close?.text || "Cancel", on: { click: () => cancel() } }), submit)));
  const say = (text) => { note.textContent = text; submit.disabled = false; };
  const what = { conversation: entry.conversation, user: pane.person, [slack ? "view" : "interaction"]: id };
  // Slack tells the app that a view was closed.
  const cancel = () => { if (slack) pane.api.submit({ ...what, close: true }).catch(() => {}); dialog.close(); };
  dialog.addEventListener("cancel", (event) => { event.preventDefault(); cancel(); });
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    for (const one of inputs) mark(one, "");
    say("");
    submit.disabled = true;
    try {
      await pane.api.submit({ ...what, values: filled(inputs) });
      // Slack's view stays open until the app has answered.
      if (!slack) dialog.close(); else setTimeout(() => { submit.disabled = false; }, 3_000);
    } catch (error) {
      say(error.message);
    }
  });
  dialog.addEventListener("close", () => {
    pane.forms.delete(id);
    dialog.remove();
    // The browser gave the focus back before the dialog was gone, and what is typed would be lost: it is given anew.
    document.activeElement?.blur();
    pane.composer.focus();
  });
  const wrong = (errors) => {
    const found = inputs.filter((one) => errors[one.field.block] || errors[one.field.id]);
    for (const one of found) mark(one, errors[one.field.block] || errors[one.field.id]);
    say(found.length ? "" : Object.values(errors).join("\n"));
    found[0]?.element.focus();
  };
  return { dialog, say, wrong };
}

const row = ({ field, element, note }) => make("label", {},
  make("span", { text: field.label + (field.optional ? "" : " *") }), element, note, field.hint ? make("i", { text: field.hint }) : null);

function mark({ element, note }, why) {
  note.textContent = why ? `⚠ ${why}` : "";
  if (why) { element.setAttribute("aria-invalid", "true"); element.setAttribute("aria-describedby", note.id); }
  else { element.removeAttribute("aria-invalid"); element.removeAttribute("aria-describedby"); }
}

function filled(inputs) {
  const values = {};
  for (const { field, element } of inputs) {
    const value = field.many ? [...element.selectedOptions].map((option) => option.value) : element.value;
    if (value.length) values[field.id] = value;
  }
  return values;
}

const ofSlack = (field) => ({
  id: field.action || field.block, block: field.block, label: field.label, kind: field.kind, optional: field.optional, value: field.value,
  options: (field.options || []).map((value) => ({ value, text: value })), many: /^multi_|checkboxes/.test(field.kind),
});

/** The inputs of a Discord modal: rows with one each, or labels around them. */
function ofDiscord(modal) {
  return (modal.components || []).flatMap((part) => {
    const inner = part.component ? [part.component] : part.components || [];
    return inner.map((one) => ({
      id: one.custom_id, label: part.label || one.label || one.custom_id, hint: part.description || one.placeholder,
      optional: one.required === false, value: one.value, kind: one.style === 2 ? "multiline" : "text", least: one.min_length, most: one.max_length,
      options: (one.options || []).map((option) => ({ value: option.value, text: option.label || option.value })), many: one.max_values > 1,
    }));
  });
}

function input(field) {
  const value = typeof field.value === "string" ? field.value : "";
  const required = !field.optional;
  if (field.options.length) {
    const select = make("select", { multiple: field.many, required });
    if (field.optional && !field.many) select.append(make("option", { value: "", text: "" }));
    for (const option of field.options) select.append(make("option", { value: option.value, text: option.text, selected: option.value === value }));
    return select;
  }
  const length = { maxlength: field.most, minlength: required ? field.least || undefined : undefined };
  if (/multiline/.test(field.kind)) return make("textarea", { rows: 4, text: value, required, ...length });
  const type = { datepicker: "date", timepicker: "time", number_input: "number", email_text_input: "email", url_text_input: "url" }[field.kind] || "text";
  return make("input", { type, value, required, step: type === "number" ? "any" : undefined, ...length });
}

/** A small question of the page's own; nothing when it was not answered. */
export function ask(title, label) {
  const field = make("input", { type: "text", required: true, maxlength: 100 });
  const dialog = make("dialog", { class: "form", "aria-label": title }, make("h3", { text: title }),
    make("form", { method: "dialog" }, make("label", {}, make("span", { text: label }), field),
      make("div", { class: "form-buttons" }, make("button", { type: "button", text: "Cancel", on: { click: () => dialog.close("") } }), make("button", { type: "submit", class: "primary", text: "Open", value: "open" }))));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((answer) => dialog.addEventListener("close", () => {
    dialog.remove();
    answer(dialog.returnValue === "open" ? field.value.trim() : "");
  }));
}
