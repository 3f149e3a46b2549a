// Starts aimock on a free port of loopback and prints where it is. Each API finds the same scenes; a scene is picked by what
// the person says: `openai: cut for ever`.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${modules}/`));
const { LLMock } = require("@copilotkit/aimock");

const mock = new LLMock({
  host: "127.0.0.1",
  port: 0,
  chunkSize: 8,
  logLevel: "silent",
  auth: { apiKeys: ["key-of-the-test"] },
});
const call = (name, args) => ({ name, arguments: JSON.stringify(args) });
const sunny = { content: "It is sunny in Oslo, and it rains in Rome." };
const error = (status, message, more) => ({ error: { message, type: "server_error" }, status, ...more });

for (const api of ["openai", "ollama", "anthropic", "gemini"]) {
  const scene = (name, response, { match, ...options } = {}) =>
    mock.on({ userMessage: `${api}: ${name}`, endpoint: "chat", ...match }, response, options);
  scene("words", sunny);
  scene("thinking", { ...sunny, reasoning: "They ask for the weather." });
  const calls = [call("weather", { city: "Oslo" }), call("weather", { city: "Rome" }), call("time", {})];
  scene("parallel calls", { toolCalls: calls }, { match: { hasToolResult: false } });
  scene("parallel calls", sunny, { match: { hasToolResult: true } });
  scene("cut for ever", sunny, { truncateAfterChunks: 2 });
  scene("cut once", sunny, { truncateAfterChunks: 2, match: { sequenceIndex: 0 } });
  scene("cut once", sunny);
  scene("hung up", sunny, { latency: 50, disconnectAfterMs: 1 });
  scene("asked too often once", error(429, "slow down", { retryAfter: 1 }), { match: { sequenceIndex: 0 } });
  scene("asked too often once", sunny);
  scene("asked too often", error(429, "slow down", { retryAfter: 3600 }));
  scene("failing once", error(500, "oops"), { match: { sequenceIndex: 0 } });
  scene("failing once", sunny);
  scene("failing", error(500, "oops"));
  scene("slow", sunny, { latency: 20_000 });
  scene("empty", { content: "" });
  scene("too long", error(400, "this model's maximum context length is 10 tokens"));
}
await mock.start();
console.log(mock.url);
