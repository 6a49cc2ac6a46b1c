// SPDX-License-Identifier: Apache-2.0
// Asks Perfetto's own trace processor, as its page does: node trace_processor.js PAGE_FOLDER TRACE SQL...
// PAGE_FOLDER holds engine_bundle.js and trace_processor.wasm. Prints a JSON list: for each query its rows, or {error}.
// Rule: no network; the engine believes to be a worker of its page and gets its files from that folder.
"use strict";
const fs = require("fs"), path = require("path");
const [folder, file, ...queries] = process.argv.slice(2);

function varint(value) {
	const bytes = [];
	for (let left = BigInt(value); ; left >>= 7n) {
		if (left < 128n)
			return Buffer.from([...bytes, Number(left)]);
		bytes.push(Number(left & 127n) | 128);
	}
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);

// The fields of a message: [number, value] with value a BigInt, a Buffer, or 8 bytes.
function* fields(buffer) {
	let at = 0;
	const read = () => {
		let value = 0n;
		for (let shift = 0n; ; shift += 7n) {
			const byte = buffer[at++];
			value |= BigInt(byte & 127) << shift;
			if (byte < 128)
				return value;
		}
	};
	while (at < buffer.length) {
		const key = Number(read()), kind = key & 7, field = key >> 3;
		if (kind === 0)
			yield [field, read()];
		else if (kind === 1)
			yield [field, buffer.subarray(at, at += 8)];
		else {
			const length = Number(read());
			yield [field, buffer.subarray(at, at += length)];
		}
	}
}

function* packed(buffer) {
	let value = 0n, shift = 0n;
	for (const byte of buffer) {
		value |= BigInt(byte & 127) << shift;
		shift += 7n;
		if (byte < 128) {
			yield BigInt.asIntN(64, value);
			value = shift = 0n;
		}
	}
}

function readBatch(buffer, cells) {
	let kinds = [], numbers = [], reals = [], texts = [];
	for (const [field, value] of fields(buffer)) {
		if (field === 1)
			kinds = typeof value === "bigint" ? [value] : [...packed(value)];
		else if (field === 2)
			numbers = typeof value === "bigint" ? [value] : [...packed(value)];
		else if (field === 3)
			for (let at = 0; at < value.length; at += 8)
				reals.push(value.readDoubleLE(at));
		else if (field === 5)
			texts = value.toString("utf8").split("\0");
	}
	for (const kind of kinds)
		cells.push({ 1: () => null, 2: () => Number(numbers.shift()), 3: () => reals.shift(), 4: () => texts.shift() }[Number(kind)]());
}

// Results come in pieces, one message each.
function readResults(buffers) {
	const results = [];
	let columns = 0, cells = [], error = "";
	for (const buffer of buffers)
		for (const [, message] of fields(buffer))
			for (const [field, result] of fields(message)) {
				if (field !== 203)
					continue;
				for (const [part, value] of fields(result)) {
					if (part === 1)
						columns++;
					else if (part === 2)
						error = value.toString("utf8");
					else if (part === 3) {
						readBatch(value, cells);
						if (![...fields(value)].some(([name, last]) => name === 6 && last === 1n))
							continue;
						const rows = [];
						for (let at = 0; columns && at < cells.length; at += columns)
							rows.push(cells.slice(at, at + columns));
						results.push(error ? { error } : rows);
						columns = 0, cells = [], error = "";
					}
				}
			}
	return results;
}

class Request {
	open(method, url) {
		this.url = String(url);
	}
	send() {
		const content = fs.readFileSync(path.join(folder, path.basename(this.url)));
		this.response = new Uint8Array(content).buffer;
		this.status = 200;
	}
}

const self = { location: { href: "file:///engine_bundle.js" } }, answers = [], requests = [];
let sequence = 0;
const call = (method, ...body) => requests.push(bytes(1, Buffer.concat([number(1, sequence++), number(2, method), ...body])));
const trace = fs.readFileSync(file);
for (let at = 0; at < trace.length; at += 1 << 20)
	call(1, bytes(101, trace.subarray(at, at + (1 << 20))));
call(2);
for (const query of queries)
	call(3, bytes(103, bytes(1, Buffer.from(query))));

const quiet = { log() {}, info() {}, debug() {}, warn() {}, error: (...words) => console.error(...words) };
new Function("self", "process", "WorkerGlobalScope", "XMLHttpRequest", "location", "importScripts", "console",
	fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"))(self, undefined, function () {}, Request, self.location, () => {}, quiet);
const port = { postMessage: (answer) => answers.push(Buffer.from(answer)), onmessage: null };
self.onmessage({ data: port });

function work() {
	try {
		port.onmessage({ data: new Uint8Array(requests[0]) }); // throws until the engine has started
	} catch (error) {
		if (/crashed/.test(error.message) || --tries === 0)
			throw error;
		setTimeout(work, 20);
		return;
	}
	for (const request of requests.slice(1))
		port.onmessage({ data: new Uint8Array(request) });
	process.stdout.write(JSON.stringify(readResults(answers)) + "\n", () => process.exit(0));
}
let tries = 500;
setTimeout(work, 20);
