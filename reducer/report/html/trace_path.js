// SPDX-License-Identifier: Apache-2.0
// The critical path of some steps as a track of its process, from the rows of table path_pieces.
// Rule: when and how long a piece was is measured; that the next one waited for it is inferred, and the track says so. Its calls and kernels
// stand elsewhere as well: a search does not find them twice.
"use strict";

const PIECES_MOST = 8192; // of a process: REPLAY_PIECES_MOST
const PATH_KINDS = { "kernel": "kernel", "copy": "copy", "set": "set", "graph": "graph", "host": "python", "input wait": "io", "call": "call" };

const identity = (pid, host, rank) => `${pid}/${host ?? ""}/${rank ?? ""}`;

// Rows as objects by column, a list for each process.
function pathRows() {
	const table = byId.get("path_pieces"), found = new Map();
	for (const cells of table ? table.rows : []) {
		const row = Object.fromEntries(table.columns.map((column, k) => [column.id, cells[k]])), key = identity(row.process, row.host, row.job_rank);
		if (!found.has(key))
			found.set(key, []);
		found.get(key).push(row);
	}
	return found;
}

function pieceDetail(row) {
	const words = ["part", row.part, "inferred", "what comes next on this track had to wait for it"];
	if (row.op)
		words.push("op", row.op);
	if (row.stream !== null)
		words.push("stream", `${row.stream} of GPU ${row.device}`);
	else if (row.thread !== null)
		words.push("thread", String(row.thread));
	return words;
}

// Adds the track to each process that has one. Returns the items, its pieces behind the others.
function addPath(source, items, groups) {
	const own = new Map();
	for (const group of groups)
		if (group.tracks[0].on !== "queue" && group.tracks[0].on !== "follows") { // what follows from streams stands with them
			const { pid, host, rank } = source.processes[group.tracks[0].row.process], key = identity(pid, host, rank);
			own.set(key, own.has(key) ? null : group); // of two processes of one number (exec) nothing says whose a row is
		}
	const found = [...pathRows()].filter(([key]) => own.get(key));
	if (!found.length)
		return items;
	let at = items.start.length;
	const larger = extended(items, found.reduce((sum, [, list]) => sum + list.length, 0));
	for (const [key, list] of found) {
		const group = own.get(key), first = at;
		for (const row of list) {
			larger.start[at] = row.start_ns;
			larger.end[at] = row.start_ns + row.duration_ns;
			larger.busy[at] = larger.longest[at] = row.duration_ns;
			larger.count[at] = 1;
			larger.name[at] = source.names.push([PATH_KINDS[row.part] || "wait", row.name || row.part]) - 1;
			larger.detail[at] = source.details.push(pieceDetail(row)) - 1;
			at++;
		}
		const table = byId.get("path_pieces"), isCut = list.length === PIECES_MOST;
		const part = table.rows.length < table.row_count ? `; its first ${table.rows.length} of ${table.row_count} pieces` : isCut ? `; its last ${PIECES_MOST} pieces` : "";
		const track = { key: group.key + "/path", title: `critical path (inferred${part})`, on: "follows", row: group.tracks[0].row, group, isCounter: false, isRepeated: true,
			lanes: [makeLane(larger, Array.from({ length: at - first }, (_, k) => first + k), false)] };
		const place = group.tracks.findIndex((one) => one.on === "thread");
		group.tracks.splice(place < 0 ? group.tracks.length : place, 0, track);
	}
	return larger;
}
