// What the gateway asks of Discord, and what the simulator answers, against Discord's published API description.
//
// usage: node discord_schema.mjs SIMULATORS TOOLGATE MODULES
// A proxy between the gateway and the simulator reads both sides; each kind of request is a line `ok NAME`.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , simulators, toolgate, modules] = process.argv;
const schemas = await import(pathToFileURL(join(modules, "discord-api-spec/build/discord-api-spec.zod.js")).href);
const { array, union } = await import(pathToFileURL(join(modules, "zod/mini/index.js")).href);

const callback = union([
  schemas.CreateMessageInteractionCallbackRequestSchema, schemas.ModalInteractionCallbackRequestSchema,
  schemas.ApplicationCommandAutocompleteCallbackRequestSchema, schemas.UpdateMessageInteractionCallbackRequestSchema,
]);
const command = schemas.ApplicationCommandUpdateRequestSchema;
/** Method, path, what is asked, what is answered. */
const RULES = [
  ["POST", /^\/channels\/\d+\/messages$/, schemas.MessageCreateRequestSchema, schemas.MessageResponseSchema],
  ["PATCH", /^\/channels\/\d+\/messages\/\d+$/, schemas.MessageEditRequestPartialSchema, schemas.MessageResponseSchema],
  ["GET", /^\/channels\/\d+\/messages$/, null, array(schemas.MessageResponseSchema)],
  ["POST", /^\/interactions\/\d+\/[^/]+\/callback$/, callback, null],
  ["POST", /^\/webhooks\/\d+\/[^/]+$/, schemas.IncomingWebhookInteractionRequestSchema, schemas.MessageResponseSchema],
  ["PATCH", /^\/webhooks\/\d+\/[^/]+\/messages\/[@\w]+$/, schemas.IncomingWebhookUpdateRequestPartialSchema, schemas.MessageResponseSchema],
  ["PUT", /^\/applications\/\d+(?:\/guilds\/\d+)?\/commands$/, array(command), array(schemas.ApplicationCommandResponseSchema)],
  ["GET", /^\/gateway\/bot$/, null, schemas.GatewayBotResponseSchema],
  ["GET", /^\/users\/@me$/, null, schemas.UserPIIResponseSchema],
  ["GET", /^\/applications\/@me$/, null, schemas.PrivateApplicationResponseSchema],
];
const MUST = ["POST /channels/N/messages", "PATCH /channels/N/messages/N", "POST /interactions/N/T/callback", "PATCH /webhooks/N/T/messages/@original", "PUT /applications/N/commands", "GET /gateway/bot", "GET /users/@me"];

const seen = new Map();
const wrong = [];

function judge(method, path, asked, status, answered) {
  const rule = RULES.find(([m, pattern]) => m === method && pattern.test(path));
  if (!rule || status >= 400) return;
  const name = `${method} ${path.replace(/^\/(interactions|webhooks)\/\d+\/[^/]+/, "/$1/N/T").replace(/\d{5,}/g, "N")}`;
  seen.set(name, (seen.get(name) || 0) + 1);
  for (const [side, schema, value] of [["asked", rule[2], asked], ["answered", rule[3], answered]]) {
    if (!schema || value === undefined) continue;
    const issues = schema.safeParse(value).error?.issues.flatMap(plain).filter((issue) => issue.format !== "datetime") || [];
    for (const { path: where, message, code, expected } of issues) wrong.push(`${name}: ${side}: ${where.join(".")}: ${message} (${expected || code})`);
  }
}

/** What is wrong in the nearest of several shapes. Times are left out: Discord writes an offset, which these schemas do not know. */
function plain(issue) {
  if (issue.code !== "invalid_union" || !issue.errors?.length) return [issue];
  const nearest = issue.errors.map((errors) => errors.flatMap(plain)).map((errors) => errors.filter((one) => one.format !== "datetime")).sort((a, b) => a.length - b.length)[0];
  return nearest.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

const parsed = (bytes) => { try { return JSON.parse(bytes.toString()); } catch { return undefined; } };

const proxy = createServer((from, to) => {
  const chunks = [];
  from.on("data", (chunk) => chunks.push(chunk));
  from.on("end", () => {
    const body = Buffer.concat(chunks);
    const target = new URL(from.url, simulators);
    const passed = request(target, { method: from.method, headers: { ...from.headers, host: target.host } }, (answer) => {
      const parts = [];
      answer.on("data", (chunk) => parts.push(chunk));
      answer.on("end", () => {
        const bytes = Buffer.concat(parts);
        const path = target.pathname.replace(/^\/discord\/api\/v10/, "");
        judge(from.method, path, body.length ? parsed(body) : undefined, answer.statusCode, bytes.length ? parsed(bytes) : undefined);
        to.writeHead(answer.statusCode, answer.headers);
        to.end(bytes);
      });
    });
    passed.on("error", () => to.destroy());
    passed.end(body);
  });
});
await new Promise((listening) => proxy.listen(0, "127.0.0.1", listening));

const folder = mkdtempSync(join(tmpdir(), "toolgate-schema-"));
const at = simulators.replace("http://", "");
writeFileSync(join(folder, "toolgate.yaml"), `
listen: 127.0.0.1:0
tools: [tools.yaml]
policies: policies
platforms:
  discord: { token: "env:DISCORD_TOKEN", api_url: "http://127.0.0.1:${proxy.address().port}/discord/api/v10", gateway_url: "ws://${at}/discord/gateway" }
`);
writeFileSync(join(folder, "tools.yaml"), `
name: sleep
toolset: lab
description: Sleeps for some milliseconds, to see what waits
permissions: [read]
parameters: { type: object, required: [ms], properties: { ms: { type: integer, minimum: 0, maximum: 60000 }, mood: { type: string, enum: [calm, deep] } } }
endpoint: { type: native, name: sleep }
---
name: crash
toolset: lab
description: Crashes on purpose, to see that others go on
permissions: [read]
endpoint: { type: native, name: crash }
`);
const { mkdirSync } = await import("node:fs");
mkdirSync(join(folder, "policies"));
writeFileSync(join(folder, "policies/discord.yaml"), "platform: discord\ntoolsets: { allow: [lab] }\n");

const gateway = spawn(toolgate, ["up", "--config", join(folder, "toolgate.yaml")], {
  cwd: folder, stdio: ["ignore", "ignore", "pipe"],
  env: { ...process.env, DISCORD_TOKEN: "MTIzNDU2Nzg5MDEyMzQ1Njc4.GdEmoX.schema-check-of-the-simulated-bot-00" },
});
let log = "";
gateway.stderr.on("data", (chunk) => { log = (log + chunk).slice(-8_000); });

const control = async (verb, body) => {
  const answer = await fetch(`${simulators}/control/discord/${verb}`, body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const said = await answer.json();
  if (!answer.ok) throw new Error(`${verb}: ${JSON.stringify(said)}`);
  return said;
};
const entries = async (conversation) => (await control(`transcript?conversation=${encodeURIComponent(conversation)}`)).entries;
const until = async (what, holds) => {
  for (let i = 0; i < 300; i += 1) {
    const found = await holds();
    if (found) return found;
    await new Promise((later) => setTimeout(later, 100));
  }
  throw new Error(`it never came true: ${what}`);
};
const said = (entry) => entry.by === "bot" && ["message", "edit", "private"].includes(entry.kind);
const reads = (conversation, words) => until(`${conversation} reads ${words}`, async () => (await entries(conversation)).find((entry) => said(entry) && words.test(entry.text)));

let status = 0;
try {
  await until("commands are registered", async () => ((await control("menu?conversation=general")).commands || []).some((one) => one.name === "sleep"));
  await until("the socket is open", async () => log.includes("is connected to the gateway"));
  const someone = { conversation: "schemas", user: "iris" };
  await control("command", { ...someone, name: "sleep", args: { ms: 3 } });
  await reads("schemas", /slept/);
  await control("command", { ...someone, name: "crash", args: {} });
  const failed = await reads("schemas", /Our fault/);
  await control("press", { ...someone, message: failed.message, button: failed.buttons[0].id });
  await control("command", { ...someone, name: "help", args: {} });
  await control("say", { conversation: "dm:iris", user: "iris", text: "/sleep 2600" });
  await reads("dm:iris", /slept/);
  await control("say", { conversation: "dm:iris", user: "iris", text: "/sleep soon" });
  await reads("dm:iris", /Check the input/);
  await control("autocomplete", { ...someone, name: "sleep", field: "mood", typed: "ca" }).catch(() => undefined);
  for (const name of MUST) if (!seen.has(name)) wrong.push(`${name} was never asked; seen: ${[...seen.keys()].join(", ")}`);
  for (const [name, times] of seen) if (!wrong.some((line) => line.startsWith(`${name}:`))) console.log(`ok ${name} (${times})`);
} catch (error) {
  wrong.push(`${error.message}\n${log}`);
}
for (const line of new Set(wrong)) { console.log(`wrong ${line}`); status = 1; }
gateway.kill("SIGTERM");
await new Promise((ended) => { gateway.on("exit", ended); setTimeout(() => { gateway.kill("SIGKILL"); ended(); }, 10_000); });
proxy.close();
rmSync(folder, { recursive: true, force: true });
process.exit(status);
