// A real small model behind chat completions: node-llama-cpp on one thread. Refuses tools, obeys response_format json_schema.
// Usage: node server.mjs FOLDER_WITH_NODE_MODULES MODEL_FILE. Writes its port on the first line.

import http from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [home, modelPath] = process.argv.slice(2);
const library = path.join(home, "node_modules", "node-llama-cpp", "dist", "index.js");
const { getLlama, LlamaChatSession } = await import(pathToFileURL(library));

const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: "error" });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 8192, threads: 1 });

async function answer(request, signal) {
  const said = (role) => request.messages.filter((one) => one.role === role).map((one) => one.content).join("\n");
  const shape = request.response_format?.json_schema?.schema;
  const grammar = shape && (await llama.createGrammarForJsonSchema(shape));
  const sequence = context.getSequence();
  try {
    const before = sequence.tokenMeter.getState();
    const session = new LlamaChatSession({ contextSequence: sequence, systemPrompt: said("system") });
    const made = await session.promptWithMeta(said("user"), {
      grammar, signal, stopOnAbortSignal: true, maxTokens: request.max_tokens, temperature: request.temperature ?? 0,
    });
    const used = sequence.tokenMeter.diff(before);
    return {
      object: "chat.completion",
      model: request.model,
      choices: [{
        index: 0,
        message: { role: "assistant", content: made.responseText },
        finish_reason: made.stopReason === "maxTokens" ? "length" : "stop",
      }],
      usage: { prompt_tokens: used.usedInputTokens, completion_tokens: used.usedOutputTokens },
    };
  } finally {
    sequence.dispose();
  }
}

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString("utf8"));
}

// The context holds one conversation at a time.
let last = Promise.resolve();

const server = http.createServer(async (request, response) => {
  const send = (status, fields) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(fields));
  };
  const asked = await body(request);
  if (request.url !== "/v1/chat/completions") return send(404, { error: { message: "no such path", code: "not_found" } });
  if (asked.tools) return send(400, { error: { message: "this server has no tools", code: "invalid_request_error" } });
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  last = last
    .then(() => gone.signal.aborted ? undefined : answer(asked, gone.signal))
    .then((fields) => fields && send(200, fields), (error) => send(500, { error: { message: error.message } }));
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
