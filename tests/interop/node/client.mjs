// Makes the calls of the job on standard input, one after the other, and writes what came back of each as JSON.
//
// Knows the service by its .proto files alone. Health has no file here: its two messages are described below, as its
// published contract has them.
import { readFileSync } from "node:fs";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const FILES = ["context", "memory", "knowledge", "profile", "admin"].map((name) => `sidecar/v1/${name}.proto`);
const RPC_FILES = ["google/rpc/status.proto", "google/rpc/error_details.proto"];
const SHAPE = { longs: String, enums: String, defaults: true, oneofs: true };
const HEALTH = {
  nested: {
    grpc: { nested: { health: { nested: { v1: { nested: {
      HealthCheckRequest: { fields: { service: { type: "string", id: 1 } } },
      HealthCheckResponse: {
        fields: { status: { type: "ServingStatus", id: 1 } },
        nested: { ServingStatus: { values: { UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 } } },
      },
      Health: { methods: { Check: { requestType: "HealthCheckRequest", responseType: "HealthCheckResponse" } } },
    } } } } } },
  },
};
const AMPLE_MS = 30_000;
const HASTE_MS = 1;
// In the header alone, so that it is the server that finds the deadline passed and says so.
const HASTE_HEADER = { "grpc-timeout": "1m" };

const job = JSON.parse(readFileSync(0, "utf8"));
const definitions = {
  ...loader.loadSync([...FILES, ...RPC_FILES], { ...SHAPE, includeDirs: job.protoDirs }),
  ...loader.fromJSON(HEALTH, SHAPE),
};
const client = new grpc.Client(job.target, grpc.credentials.createInsecure());

/** Status details, decoded from the trailer that carries them. */
function details(metadata) {
  const [bytes] = metadata?.get("grpc-status-details-bin") ?? [];
  if (!bytes) return [];
  return definitions["google.rpc.Status"].deserialize(bytes).details.map((any) => {
    const type = (any.type_url ?? any.typeUrl).split("/").pop();
    return { type, ...definitions[type].deserialize(any.value) };
  });
}

/** The outcome of a call. One in haste is made twice: under a deadline of the client's, then under the server's. */
async function outcome(one) {
  if (!one.inHaste) return call(one, {}, AMPLE_MS);
  const ours = await call(one, {}, HASTE_MS);
  return ours.code === "DEADLINE_EXCEEDED" ? call(one, HASTE_HEADER, AMPLE_MS) : ours;
}

function call({ method, request, hasToken }, headers, deadlineMs) {
  const [service, name] = method.split("/");
  const described = definitions[service]?.[name] ?? {
    path: `/${method}`,
    requestSerialize: () => Buffer.alloc(0),
    responseDeserialize: () => ({}),
  };
  const metadata = new grpc.Metadata();
  if (hasToken) metadata.set("authorization", `Bearer ${job.token}`);
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  const options = headers["grpc-timeout"] ? {} : { deadline: Date.now() + deadlineMs };
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      described.path, described.requestSerialize, described.responseDeserialize, request, metadata, options,
      (error, response) => resolve(
        error
          ? { code: grpc.status[error.code], message: error.details, details: details(error.metadata) }
          : { code: "OK", response },
      ),
    );
  });
}

const outcomes = [];
for (const one of job.cases) outcomes.push(await outcome(one));
client.close();
process.stdout.write(JSON.stringify(outcomes));
