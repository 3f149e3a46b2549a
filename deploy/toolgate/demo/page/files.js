// Files of messages: pictures are seen, texts can be read, everything else can be fetched.

import { make, size } from "./dom.js";

const PICTURE = /^image\/(png|jpeg|gif|webp|avif|bmp)$/i;
const TEXT = /^text\/|[/+](json|xml|yaml|toml)\b|javascript/i;
const TEXT_NAME = /\.(txt|md|csv|log|json|ya?ml|toml|rs|py|js|ts|sh|sql|html|css|diff|patch)$/i;
const MOST_TEXT = 200_000;

export function file(seen, url) {
  const facts = make("p", { class: "file" },
    make("span", { class: "kind", "aria-hidden": "true", text: (seen.name.split(".").pop() || "file").slice(0, 4) }),
    make("span", {}, make("a", { href: url, target: "_blank", rel: "noopener noreferrer", download: seen.name, text: seen.name }), make("i", { text: `${size(seen.size)} · ${seen.mime}` })));
  if (PICTURE.test(seen.mime)) return make("figure", { class: "picture" }, make("img", { src: url, alt: seen.name, loading: "lazy", crossorigin: "anonymous" }), facts);
  if ((TEXT.test(seen.mime) || TEXT_NAME.test(seen.name)) && seen.size <= MOST_TEXT) return readable(facts, seen, url);
  return facts;
}

function readable(facts, seen, url) {
  const box = make("pre", { hidden: true, tabindex: "0", "aria-label": seen.name });
  const button = make("button", { type: "button", class: "inline", text: "Show", "aria-expanded": "false", "aria-label": `Show ${seen.name}` });
  button.addEventListener("click", async () => {
    if (!box.textContent) box.textContent = await fetch(url).then((answer) => answer.text()).catch((error) => error.message);
    box.hidden = !box.hidden;
    button.textContent = box.hidden ? "Show" : "Hide";
    button.setAttribute("aria-expanded", String(!box.hidden));
  });
  facts.append(button);
  return make("div", { class: "attachment" }, facts, box);
}
