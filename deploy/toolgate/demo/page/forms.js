// Forms that the bot asks a person to fill in: Discord's modals and Slack's views, as a dialog.

import { make, toast } from "./dom.js";

/** Shows the form of an entry; it closes when the platform takes what was filled in. */
export function form(pane, entry) {
  const fields = entry.fields?.length ? entry.fields.map(ofSlack) : fieldsOf(entry.payload?.data || entry.payload || {});
  const view = entry.payload?.view || entry.payload?.data || entry.payload || {};
  const title = view.title?.text || view.title || entry.text.split("\n")[0] || "Form";
  const note = make("p", { class: "form-note", role: "alert" });
  const inputs = fields.map((field) => [field, input(field)]);
  const dialog = make("dialog", { class: "form", "aria-label": title },
    make("h3", { text: title }),
    make("form", { method: "dialog" },
      ...inputs.map(([field, element]) => make("label", {}, make("span", { text: field.label + (field.optional ? "" : " *") }), element, field.hint ? make("i", { text: field.hint }) : null)),
      note,
      make("div", { class: "form-buttons" },
        make("button", { type: "button", text: "Close", on: { click: () => dialog.close() } }),
        make("button", { type: "submit", class: "primary", text: view.submit?.text || "Submit" }))));
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = {};
    for (const [field, element] of inputs) {
      const value = field.many ? [...element.selectedOptions].map((option) => option.value) : element.value;
      if (value.length) values[field.id] = value;
    }
    const what = { conversation: pane.conversation(), user: pane.person, values, interaction: entry.interaction, view: entry.message };
    try {
      const answer = await pane.api.submit(what);
      const errors = answer?.errors || answer?.response?.errors;
      if (errors && Object.keys(errors).length) note.textContent = Object.values(errors).join("\n");
      else dialog.close();
    } catch (error) {
      note.textContent = error.message;
    }
  });
  dialog.addEventListener("close", () => { dialog.remove(); pane.composer.focus(); });
  document.body.append(dialog);
  try { dialog.showModal(); } catch (error) { toast(error.message, "bad"); }
}

const ofSlack = (field) => ({ id: field.action || field.block, label: field.label, kind: field.kind, optional: field.optional, value: field.value, options: field.options || [], many: /^multi_/.test(field.kind) });

/** The inputs of a Discord modal: rows with one each, or labels around them. */
function fieldsOf(modal) {
  return (modal.components || []).flatMap((row) => {
    const inner = row.component ? [row.component] : row.components || [];
    return inner.map((one) => ({
      id: one.custom_id, label: row.label || one.label || one.custom_id, hint: row.description || one.placeholder,
      optional: one.required === false, value: one.value, kind: one.style === 2 ? "multiline" : "text",
      options: (one.options || []).map((option) => option.value),
    }));
  });
}

function input(field) {
  const value = typeof field.value === "string" ? field.value : "";
  if (field.options.length) {
    const select = make("select", { multiple: field.many, required: !field.optional });
    if (field.optional && !field.many) select.append(make("option", { value: "", text: "" }));
    for (const option of field.options) select.append(make("option", { value: option, text: option, selected: option === value }));
    return select;
  }
  if (/multiline/.test(field.kind)) return make("textarea", { rows: 4, text: value, required: !field.optional });
  const type = { datepicker: "date", number_input: "number", email_text_input: "email", url_text_input: "url" }[field.kind] || "text";
  return make("input", { type, value, required: !field.optional, step: type === "number" ? "any" : undefined });
}
