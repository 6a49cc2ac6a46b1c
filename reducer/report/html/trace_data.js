// SPDX-License-Identifier: Apache-2.0
// The time line as the file holds it (reducer/trace/digest_write.c) made into lanes that can be drawn and searched.
// Rule: a lane's items never overlap and stand by start, so every question about a stretch of time is a binary search.
"use strict";

const LANES_MOST = 24; // of one thread at one depth, or one stream; what overlaps further shares the last

async function inflated(base64) {
	const text = atob(base64), bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).arrayBuffer());
}

function numberReader(bytes, from) {
	let at = from;
	return () => {
		let value = 0, scale = 1, byte;
		do {
			byte = bytes[at++];
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte > 127);
		return value;
	};
}

const unzigzag = (value) => value % 2 ? -(value + 1) / 2 : value / 2;

// All items of the file, one array a field; times are ns since the start of the run.
function readItems(source, bytes) {
	const n = source.items, readers = [];
	let at = 0;
	for (const length of source.columns) {
		readers.push(numberReader(bytes, at));
		at += length;
	}
	const [start, duration, name, detail, flow, count, busy, longest] = readers;
	const values = new DataView(bytes.buffer, at - source.columns[8], source.columns[8]);
	const items = { start: new Float64Array(n), end: new Float64Array(n), busy: new Float64Array(n), longest: new Float64Array(n),
		flow: new Float64Array(n), value: new Float64Array(n), name: new Uint32Array(n), detail: new Uint32Array(n),
		count: new Uint32Array(n), isOpen: new Uint8Array(n) };
	let i = 0, value = 0;
	for (const row of source.rows) {
		for (let k = 0; k < row.count; k++, i++) {
			items.start[i] = k ? items.start[i - 1] + start() : unzigzag(start());
			items.end[i] = items.start[i] + duration();
			items.name[i] = name();
			items.detail[i] = detail();
			items.flow[i] = (k ? items.flow[i - 1] : 0) + unzigzag(flow());
			const word = count();
			items.isOpen[i] = word % 2;
			items.count[i] = Math.floor(word / 2);
			items.busy[i] = items.count[i] > 1 ? busy() : items.end[i] - items.start[i];
			items.longest[i] = items.count[i] > 1 ? longest() : items.end[i] - items.start[i];
			if (row.kind === "counter")
				items.value[i] = values.getFloat64(8 * value++, true);
		}
	}
	return items;
}

// Items of a row in lanes in which none overlap: what begins inside another goes one lane further. A row's items stand by
// start, the longer ones first.
function packed(items, first, count) {
	const ends = [], lanes = [];
	for (let i = first; i < first + count; i++) {
		let lane = 0;
		while (lane + 1 < LANES_MOST && ends[lane] > items.start[i])
			lane++;
		if (!lanes[lane])
			lanes[lane] = [];
		lanes[lane].push(i);
		ends[lane] = Math.max(ends[lane] || -Infinity, items.end[i]);
	}
	return lanes;
}

// One line of the picture. `cumulated[k]`: busy ns of the items before the k-th.
function makeLane(items, numbers, isCounter) {
	const n = numbers.length, lane = { ids: Uint32Array.from(numbers), starts: new Float64Array(n), ends: new Float64Array(n),
		cumulated: new Float64Array(n + 1), isCounter, most: 0 };
	for (let k = 0; k < n; k++) {
		const i = numbers[k];
		lane.starts[k] = items.start[i];
		lane.ends[k] = items.end[i];
		lane.cumulated[k + 1] = lane.cumulated[k] + items.busy[i];
		lane.most = Math.max(lane.most, items.value[i]);
	}
	return lane;
}

const THREAD_LANES = ["", ": traces", ": reads"]; // as in digest.c

function rowTitle(source, row) {
	const [category, name] = source.names[row.name];
	if (row.on === "process")
		return row.kind === "counter" ? name : { step: "steps", window: "capture windows", range: "process-wide ranges" }[category] || category;
	if (row.on === "queue")
		return row.device === undefined ? "further streams" : `stream ${row.stream} (context ${row.context})`;
	return row.tid === undefined ? "further threads" : `${row.label || "thread"} ${row.tid}${THREAD_LANES[row.lane] || ""}`;
}

// Tracks: a thread, a stream, a counter, each with its lanes. Groups: a process, then its devices.
function makeGroups(source, items) {
	const groups = new Map(), tracks = new Map();
	let first = 0;
	for (const row of source.rows) {
		const process = source.processes[row.process];
		const isDevice = row.on === "queue";
		const key = isDevice ? `${row.process}.${row.device}` : String(row.process);
		if (!groups.has(key))
			groups.set(key, { key, order: row.process * 4096 + (isDevice ? 1 + (row.device || 0) : 0), tracks: [],
				title: isDevice ? `GPU ${row.device} ${row.label || ""} of process ${process.called}` : `${process.command} (process ${process.called})` });
		const trackKey = `${key}/${row.on}/${row.track}/${row.on === "process" ? row.name : row.on === "thread" ? row.lane : ""}`;
		if (!tracks.has(trackKey)) {
			const track = { key: trackKey, title: rowTitle(source, row), on: row.on, row, group: groups.get(key), lanes: [], isCounter: row.kind === "counter", end: process.end };
			tracks.set(trackKey, track);
			track.group.tracks.push(track);
		}
		const track = tracks.get(trackKey);
		for (const numbers of track.isCounter ? [Array.from({ length: row.count }, (_, k) => first + k)] : packed(items, first, row.count))
			track.lanes.push({ depth: row.depth + row.lane, ...makeLane(items, numbers, track.isCounter), end: track.end });
		first += row.count;
	}
	const place = { process: 0, thread: 1, queue: 2 };
	for (const group of groups.values()) {
		group.tracks.sort((a, b) => a.isCounter - b.isCounter || place[a.on] - place[b.on] || a.row.track - b.row.track || a.row.lane - b.row.lane);
		for (const track of group.tracks)
			track.lanes.sort((a, b) => a.depth - b.depth);
	}
	return [...groups.values()].sort((a, b) => a.order - b.order);
}

// The first place k of a sorted array with array[k] > value; `from`: known to be at or before it.
function after(array, value, from = 0) {
	let low = from, high = array.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (array[middle] > value)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

let timelineOnce = null;

// The time line, unpacked once: { source, items, groups, tracks, byFlow }. Rejects where the browser is too old.
function timeline() {
	timelineOnce ||= (async () => {
		const source = run.timeline, read = readItems(source, source.data ? await inflated(source.data) : new Uint8Array());
		const groups = makeGroups(source, read), items = addPath(source, addFollowing(source, read, groups), groups);
		const made = { source, items, groups, tracks: groups.flatMap((group) => group.tracks), trackOf: new Array(items.start.length) };
		for (const track of made.tracks)
			for (const lane of track.lanes)
				for (const i of lane.ids)
					made.trackOf[i] = track;
		return made;
	})();
	return timelineOnce;
}

// What a call started, or which call started it: items with the same flow in the same process. Merged ones have no arrows.
function linked(line, i) {
	const { items } = line;
	if (!line.byFlow) {
		line.byFlow = new Map();
		for (let k = 0; k < items.flow.length; k++) {
			if (items.flow[k] === 0 || items.count[k] > 1 || line.trackOf[k].on === "process")
				continue;
			const key = line.trackOf[k].row.process + "/" + items.flow[k];
			if (!line.byFlow.has(key))
				line.byFlow.set(key, []);
			line.byFlow.get(key).push(k);
		}
	}
	if (items.flow[i] === 0 || items.count[i] > 1 || line.trackOf[i].on === "process")
		return [];
	const isCall = (k) => line.trackOf[k].on === "thread";
	return (line.byFlow.get(line.trackOf[i].row.process + "/" + items.flow[i]) || []).filter((k) => k !== i && isCall(k) !== isCall(i));
}
