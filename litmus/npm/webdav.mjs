// Drives a server with the npm package "webdav", which browser apps and note takers are built on. Each kind
// of request that the package sends is sent, and what came of it is looked at. Settings come from the environment:
// DAV_URL, DAV_USER, DAV_PASSWORD, DAV_AUTH (an AuthType of the package), DAV_NAMES (a JSON array of file
// names to use), DAV_QUOTA (of the user, in bytes). The exit status is 0 only if everything held.
import assert from "node:assert/strict";
import { once } from "node:events";
import { buffer, text } from "node:stream/consumers";
import { AuthType, createClient } from "webdav";

const { DAV_URL, DAV_USER: username, DAV_PASSWORD: password, DAV_AUTH, DAV_NAMES, DAV_QUOTA } = process.env;
const authType = Object.values(AuthType).find((type) => type === DAV_AUTH);
assert.ok(authType, `DAV_AUTH=${DAV_AUTH} is none of ${Object.values(AuthType)}`);
const client = createClient(DAV_URL, { authType, username, password });
const names = JSON.parse(DAV_NAMES);
const top = "/npm";

// fails asserts that a call is answered with a status.
const fails = (call, status) => assert.rejects(call, (error) => (assert.equal(error.status, status), true));

const tests = {
	async login() {
		const stranger = createClient(DAV_URL, { authType, username, password: `${password}?` });
		// With Digest the package takes a 401 for an answer and stumbles over its body.
		await (authType === AuthType.Digest ? assert.rejects(stranger.stat("/"), /No root multistatus/) : fails(stranger.stat("/"), 401));
		assert.equal((await client.stat("/")).type, "directory");
		const { compliance, server } = await client.getDAVCompliance("/");
		for (const token of ["1", "2", "3"]) assert.ok(compliance.includes(token), `class ${token} in ${compliance}`);
		// The package writes ranges to a server that claims these, and this one would not understand it.
		assert.ok(!compliance.includes("sabredav-partialupdate") && !server.includes("Apache"));
	},

	async "folders, one after another and all at once"() {
		await client.createDirectory(top);
		await fails(client.createDirectory(top), 405);
		await fails(client.createDirectory(`${top}/a/b`), 409);
		await client.createDirectory(`${top}/a/b & c/d`, { recursive: true });
		await client.createDirectory(`${top}/a/b & c/d/e`, { recursive: true });
		assert.ok(await client.exists(`${top}/a/b & c/d/e`));
		assert.ok(!(await client.exists(`${top}/a/none`)));
	},

	async "put and get"() {
		for (const name of names) {
			const path = `${top}/${name}`, content = `content of ${name}`;
			assert.ok(await client.putFileContents(path, content));
			assert.equal(await client.getFileContents(path, { format: "text" }), content);
			assert.deepEqual(await client.getFileContents(path), Buffer.from(content));
			// false is the package's word for 412.
			assert.equal(await client.putFileContents(path, "other", { overwrite: false }), false);
			assert.equal(await client.getFileContents(path, { format: "text" }), content);
			const stat = await client.stat(path);
			assert.deepEqual([stat.filename, stat.basename, stat.type, stat.size], [path, name, "file", Buffer.byteLength(content)]);
			assert.ok(stat.etag, "an ETag");
			assert.ok(Math.abs(new Date(stat.lastmod) - Date.now()) < 60_000, stat.lastmod);
		}
		assert.ok(await client.putFileContents(`${top}/empty`, ""));
		assert.equal((await client.getFileContents(`${top}/empty`)).length, 0);
		await fails(client.getFileContents(`${top}/none`), 404);
		await fails(client.putFileContents(`${top}/none/file`, "x"), 409);
	},

	async "streams and ranges"() {
		const path = `${top}/stream`, block = Buffer.from("0123456789abcdef".repeat(4096));
		const answered = new Promise((resolve) => {
			const stream = client.createWriteStream(path, {}, resolve);
			(async () => {
				for (let i = 0; i < 32; i++) if (!stream.write(block)) await once(stream, "drain");
				stream.end();
			})();
		});
		assert.equal((await answered).status, 201);
		const whole = Buffer.concat(Array(32).fill(block));
		assert.ok((await buffer(client.createReadStream(path))).equals(whole));
		const part = client.createReadStream(path, { range: { start: 5, end: 20 } });
		assert.equal(await text(part), whole.subarray(5, 21).toString());
		const end = client.createReadStream(path, { range: { start: whole.length - 7 } });
		assert.equal(await text(end), whole.subarray(-7).toString());
		const beyond = client.createReadStream(path, { range: { start: whole.length } });
		assert.equal((await once(beyond, "error").catch((error) => [error]))[0].status, 416);
		assert.equal((await client.stat(path)).size, whole.length);
		await assert.rejects(client.partialUpdateFileContents(path, 0, 3, "ABCD"), /Not supported/);
	},

	async listings() {
		await client.putFileContents(`${top}/a/b & c/d/deep.txt`, "deep");
		const listed = await client.getDirectoryContents(top);
		assert.deepEqual(listed.map((entry) => entry.basename).sort(), [...names, "a", "empty", "stream"].sort());
		assert.equal(listed.find((entry) => entry.basename === "a").type, "directory");
		const deep = await client.getDirectoryContents(top, { deep: true });
		assert.ok(deep.some((entry) => entry.filename === `${top}/a/b & c/d/deep.txt` && entry.size === 4));
		// a's own are "b & c", d, e and deep.txt.
		assert.equal(deep.length, listed.length + 4);
		const self = await client.getDirectoryContents(`${top}/a/b & c/d`, { includeSelf: true });
		assert.deepEqual(self.map((entry) => entry.basename).sort(), ["d", "deep.txt", "e"]);
		const globbed = await client.getDirectoryContents(top, { deep: true, glob: "/npm/**/*deep*" });
		assert.deepEqual(globbed.map((entry) => entry.basename), ["deep.txt"]);
		const { data, status } = await client.getDirectoryContents(top, { details: true });
		assert.equal(status, 207);
		assert.ok(data.every((entry) => entry.props.getlastmodified), "properties with details");
		await fails(client.getDirectoryContents(`${top}/none`), 404);
	},

	async "copy, move, delete"() {
		for (const name of names) {
			const path = `${top}/${name}`, copy = `${top}/a/copy of ${name}`, moved = `${top}/a/moved ${name}`;
			await client.copyFile(path, copy);
			await fails(client.copyFile(path, copy, { overwrite: false }), 412);
			await client.copyFile(path, copy);
			await client.moveFile(copy, moved);
			assert.ok(!(await client.exists(copy)));
			assert.equal(await client.getFileContents(moved, { format: "text" }), `content of ${name}`);
			await fails(client.moveFile(path, moved, { overwrite: false }), 412);
			assert.ok(await client.exists(path));
			await client.deleteFile(moved);
			await fails(client.deleteFile(moved), 404);
		}
		await client.copyFile(`${top}/a`, `${top}/shallow`, { shallow: true });
		assert.deepEqual(await client.getDirectoryContents(`${top}/shallow`), []);
		await client.copyFile(`${top}/a`, `${top}/whole`);
		assert.ok(await client.exists(`${top}/whole/b & c/d/deep.txt`));
		await client.moveFile(`${top}/whole`, `${top}/shallow/whole`);
		await client.deleteFile(`${top}/shallow`);
		assert.ok(!(await client.exists(`${top}/shallow`)));
	},

	async quota() {
		// Asked for nothing by name, a server should leave quotas out (RFC 4331 section 2).
		assert.equal(await client.getQuota(), null);
		const data = `<D:propfind xmlns:D="DAV:"><D:prop><D:quota-available-bytes/><D:quota-used-bytes/></D:prop></D:propfind>`;
		const { used, available } = await client.getQuota({ data });
		assert.ok(used >= 2 * 1024 * 1024, `${used} bytes used`);
		assert.equal(used + available, Number(DAV_QUOTA));
		assert.deepEqual(await client.getQuota({ path: top, data }), { used, available });
		await fails(client.putFileContents(`${top}/too large`, Buffer.alloc(available + 1)), 507);
		assert.ok(!(await client.exists(`${top}/too large`)));
	},

	async properties() {
		const path = `${top}/${names[0]}`;
		const patch = `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><n:mood xmlns:n="urn:npm">glad &amp; new</n:mood></D:prop></D:set></D:propertyupdate>`;
		const patched = await client.customRequest(path, { method: "PROPPATCH", headers: { "Content-Type": "application/xml" }, data: patch });
		assert.equal(patched.status, 207);
		const data = `<D:propfind xmlns:D="DAV:"><D:prop><D:resourcetype/><n:mood xmlns:n="urn:npm"/><n:none xmlns:n="urn:npm"/></D:prop></D:propfind>`;
		// The package reads the first propstat alone, so what is there must come first.
		const stat = await client.stat(path, { details: true, data, headers: { "Content-Type": "application/xml" } });
		assert.equal(stat.data.props.mood, "glad & new");
	},

	async search() {
		const data = `<D:searchrequest xmlns:D="DAV:"><D:basicsearch>
			<D:select><D:prop><D:resourcetype/><D:getcontentlength/><D:getlastmodified/><D:getetag/></D:prop></D:select>
			<D:from><D:scope><D:href>${new URL(DAV_URL).pathname}npm/</D:href><D:depth>infinity</D:depth></D:scope></D:from>
			<D:where><D:like><D:prop><D:displayname/></D:prop><D:literal>%deep%</D:literal></D:like></D:where>
		</D:basicsearch></D:searchrequest>`;
		const { results, truncated } = await client.search("/", { data });
		assert.equal(truncated, false);
		assert.deepEqual(results.map(({ basename, size, type }) => [basename, size, type]), [["deep.txt", 4, "file"]]);
	},

	async locks() {
		const path = `${top}/${names[1]}`;
		const { token, serverTimeout } = await client.lock(path);
		assert.match(token, /^urn:uuid:/);
		assert.match(serverTimeout, /^Second-[1-9]/);
		await fails(client.lock(path), 423);
		await fails(client.putFileContents(path, "stolen"), 423);
		await fails(client.deleteFile(path), 423);
		const headers = { If: `(<${token}>)` };
		assert.ok(await client.putFileContents(path, "with the token", { headers }));
		// The package's own refresh also sends the body of a new lock, which conflicts with the first here as it
		// does elsewhere (RFC 4918 section 9.10.2 wants no body).
		await fails(client.lock(path, { refreshToken: headers.If }), 423);
		await client.customRequest(path, { method: "LOCK", headers: { ...headers, Timeout: "Second-900" } });
		// It is given back as LOCK's answer spells it, without the angle brackets that the header has.
		await client.unlock(path, token);
		await fails(client.unlock(path, `<${token}>`), 409);
		const again = await client.lock(path, { timeout: "Second-60" });
		await client.unlock(path, `<${again.token}>`);
		const fresh = await client.lock(`${top}/new by LOCK`);
		assert.equal((await client.stat(`${top}/new by LOCK`)).size, 0);
		await client.unlock(`${top}/new by LOCK`, fresh.token);
	},
};

for (const [name, test] of Object.entries(tests)) {
	try {
		await test();
		console.log(`ok: ${name}`);
	} catch (error) {
		console.log(`not ok: ${name}: ${error.stack}`);
		process.exit(1); // what follows needs what came before
	}
}
