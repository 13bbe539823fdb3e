// Uses the client as a program would, against the server that API_URL names. The types are checked with it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { createClient } from "../src/client/index.js";
import * as api from "../src/index.js";
import type { Problem } from "../src/index.js";

const setting = (name: string): string => {
  const value = process.env[name];
  assert.ok(value, `${name} is not set`);
  return value;
};

const baseUrl = setting("API_URL");
const user = setting("API_USER");
const password = setting("API_PASSWORD");

/** A client that keeps the cookie of its session, as a browser does. */
async function logIn() {
  const client = createClient({ baseUrl });
  const { data, response } = await api.openSession({ client, body: { user, password } });
  assert.equal(data?.user.name, user);
  const [cookie] = response.headers.getSetCookie();
  assert.ok(cookie);
  client.setConfig({ headers: { cookie: cookie.split(";")[0] } });
  return client;
}

/** A client that logs in with an app password, which the session makes. */
async function program(name: string) {
  const { data, error } = await api.addAppPassword({ client: await logIn(), body: { name, scope: "all" } });
  assert.equal(error, undefined);
  assert.ok(data);
  return createClient({ baseUrl, auth: (scheme) => (scheme.scheme === "bearer" ? data.password : undefined) });
}

test("a session and an app password", async () => {
  const browser = await logIn();
  const session = await api.login({ client: browser });
  assert.equal(session.data?.kind, "session");
  const client = await program("sessions");
  const login = await api.login({ client });
  assert.equal(login.data?.kind, "app_password");
  const { response } = await api.closeSession({ client: browser });
  assert.equal(response.status, 204);
  assert.equal((await api.login({ client: browser })).response.status, 401);
});

test("a failure is a problem", async () => {
  const { data, error, response } = await api.me({ client: createClient({ baseUrl }) });
  assert.equal(data, undefined);
  const problem: Problem | undefined = error;
  assert.equal(problem?.code, "login.required");
  assert.equal(problem.status, response.status);
});

/** Locks a resource by WebDAV, as an editor does, and gives the token. */
async function lockByWebDAV(path: string): Promise<string> {
  const response = await fetch(new URL("/dav" + path, baseUrl), {
    method: "LOCK",
    headers: { Authorization: "Basic " + btoa(`${user}:${password}`), "Content-Type": "application/xml" },
    body: '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>',
  });
  assert.equal(response.status, 200, await response.text());
  return response.headers.get("Lock-Token") ?? "";
}

test("files, and a lock that is in the way", async () => {
  const client = await program("files");
  const workspace = await api.getWorkspace({ client, path: { workspace: "personal" } });
  assert.ok(workspace.data);
  const created = await api.createFile({
    client, path: { id: workspace.data.root }, query: { name: "plan ä.txt" }, body: new Blob(["first"]),
  });
  assert.equal(created.error, undefined);
  const file = created.data;
  assert.ok(file);
  assert.deepEqual([file.kind, file.path, file.size, file.lock_state.state], ["file", "/plan ä.txt", 5, "unlocked"]);

  const taken = await api.createFile({ client, path: { id: workspace.data.root }, query: { name: file.name }, body: new Blob([]) });
  assert.equal(taken.error?.code, "name.taken");
  const stale = await api.putFileContent({ client, path: { id: file.id }, headers: { "If-Match": '"other"' }, body: new Blob(["x"]) });
  assert.equal(stale.error?.code, "precondition.failed");

  const token = await lockByWebDAV("/plan%20%C3%A4.txt");
  const { data, error, response } = await api.putFileContent({ client, path: { id: file.id }, body: new Blob(["second"]) });
  assert.equal(response.status, 423);
  assert.equal(data, undefined);
  assert.equal(error?.code, "resource.locked");
  const [lock] = error?.locks ?? [];
  assert.deepEqual([lock?.origin, lock?.mode, lock?.root.id, lock?.root.path], ["webdav", "exclusive", file.id, file.path]);
  assert.ok(!JSON.stringify(error).includes(token.replace(/[<>]/g, "")), "the problem tells the token");

  const content = await api.getFileContent({ client, path: { id: file.id }, headers: { Range: "bytes=1-3" }, parseAs: "text" });
  assert.deepEqual([content.response.status, content.data], [206, "irs"]);
});

test("the caller's own locks, page by page", async () => {
  const client = await program("locks");
  const workspace = await api.getWorkspace({ client, path: { workspace: "personal" } });
  assert.ok(workspace.data);
  const { root } = workspace.data;
  for (const name of ["a", "b", "c"]) {
    const created = await api.createFile({ client, path: { id: root }, query: { name }, body: new Blob([name]) });
    assert.ok(created.data);
    const { data, response } = await api.lockFile({ client, path: { id: created.data.id }, body: { note: `for ${name}`, timeout_seconds: 60 } });
    assert.equal(response.status, 201);
    assert.deepEqual([data?.origin, data?.depth, data?.note], ["product", "resource", `for ${name}`]);
  }
  const paths: (string | undefined)[] = [];
  let cursor: string | undefined;
  do {
    const page: Awaited<ReturnType<typeof api.listMyLocks>> = await api.listMyLocks({ client, query: { limit: 2, cursor } });
    assert.ok(page.data);
    paths.push(...page.data.items.map((lock) => lock.root.path));
    cursor = page.data.next;
  } while (cursor);
  assert.deepEqual(paths.filter((path) => path !== "/plan ä.txt"), ["/a", "/b", "/c"]);
});

test("a folder, and what happens in it", { timeout: 30_000 }, async () => {
  const client = await program("events");
  const workspace = await api.getWorkspace({ client, path: { workspace: "personal" } });
  assert.ok(workspace.data);
  const { root } = workspace.data;

  const stop = new AbortController();
  let follows = () => {};
  const following = new Promise<void>((resolve) => (follows = resolve));
  const { stream } = await api.events({
    client, path: { workspace: "personal" }, signal: stop.signal, sseMaxRetryAttempts: 1,
    onSseEvent: () => follows(), // the first says from where on events are told
  });
  let next = stream.next();
  await following;
  const created = await api.createFile({ client, path: { id: root }, query: { name: "news" }, body: new Blob(["news"]) });
  assert.ok(created.data);
  const { id } = created.data;
  await lockByWebDAV("/news");
  const seen: string[] = [];
  for (let locked = false; !locked; next = stream.next()) {
    const { value: event, done } = await next;
    assert.ok(!done);
    if (event.event === "resource.changed") {
      assert.deepEqual([event.folder, event.kind, event.id, event.name], [root, "file", id, "news"]);
    } else {
      assert.equal(event.event, "lock.changed");
      assert.deepEqual([event.root.id, event.origin, event.mode], [id, "webdav", "exclusive"]);
      locked = true;
    }
    seen.push(event.event);
  }
  stop.abort();
  assert.deepEqual(new Set(seen), new Set(["resource.changed", "lock.changed"]));

  const { data } = await api.listChildren({ client, path: { id: root }, query: { sort: "name", order: "desc", limit: 2 } });
  assert.deepEqual(data?.items.map((item) => [item.name, item.lock_state.state]), [["plan ä.txt", "direct"], ["news", "direct"]]);
  assert.ok(data?.next);
});
