// Receives deliveries of webhooks and verifies each with the unmodified libraries standardwebhooks and
// svix. Each line of the input is a JSON object {secrets}: a map of names to secrets. Prints the port,
// then a line of JSON for each delivery: what each library says for each secret, and for a body or an
// id that was changed.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";

let secrets = {};
createInterface({ input: process.stdin }).on("line", (line) => { ({ secrets } = JSON.parse(line)); console.log(JSON.stringify({ ready: Object.keys(secrets) })); });

const libraries = { standard: Standard, svix: Svix };

/** Returns the payload that a library verifies, or its error. */
function verify(Library, secret, body, headers) {
  try {
    return { payload: new Library(secret).verify(body, headers) };
  } catch (error) {
    return { error: `${error.constructor.name}: ${error.message}` };
  }
}

const server = createServer((req, res) => {
  const chunks = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () => {
    const body = Buffer.concat(chunks).toString("utf8");
    const seen = { id: req.headers["webhook-id"], verified: {}, forged: {} };
    for (const [library, Library] of Object.entries(libraries)) {
      for (const [name, secret] of Object.entries(secrets)) {
        const verdict = verify(Library, secret, body, req.headers);
        seen.verified[`${library} ${name}`] = verdict.error ?? "";
        seen.type ??= verdict.payload?.type;
        seen.agentExecutionId ??= verdict.payload?.data.agentExecutionId;
        const changed = verify(Library, secret, body.replace("{", "{ "), req.headers);
        const renamed = verify(Library, secret, body, { ...req.headers, "webhook-id": "other" });
        seen.forged[`${library} ${name}`] = changed.error && renamed.error ? "" : "accepted";
      }
    }
    console.log(JSON.stringify(seen));
    res.writeHead(204).end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: server.address().port })));
