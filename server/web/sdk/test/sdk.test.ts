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
