// SPDX-License-Identifier: Apache-2.0
// The Trace page: moving about the time line, choosing, searching, adding up. What it looks like is trace_draw.js.
// Rule: the view (time, folded tracks, choice, search) is the address; drawing happens once a frame, and only after a change.
"use strict";

const TRACE = "trace";
const ZOOM = 1.25, PAN = 0.12, ARROWS_MOST = 300, SUM_ROWS = 500;
const CLICK_PX = 4; // a press that moves less is a click

const trace = { line: null, view: null };

function fitGutter(width) {
	return width < 600 ? 92 : 200;
}

function makeView(line, canvas, query) {
	const whole = { from: Math.min(0, line.source.from_ns), to: Math.max(line.source.to_ns, line.source.from_ns + 1) };
	const view = { source: line.source, items: line.items, whole, canvas, context: canvas.getContext("2d", { alpha: false }), scrollY: 0, chosen: -1, stretch: null,
		matches: null, arrows: [], hasAllArrows: query.get("arrows") === "1", folded: new Set((query.get("fold") || "").split("|").filter(Boolean)),
		from: whole.from, to: whole.to, palette: makePalette(line.source), isDirty: true };
	const margin = (whole.to - whole.from) * 0.01;
	const from = Number(query.get("from")), to = Number(query.get("to"));
	[view.from, view.to] = query.has("from") && to > from ? [from, to] : [whole.from - margin, whole.to + margin];
	if (query.has("item") && Number(query.get("item")) < line.items.start.length)
		view.chosen = Number(query.get("item"));
	relayOut(view);
	return view;
}

function relayOut(view) {
	const made = layOut(trace.line, view.folded), rowOfTrack = new Map();
	view.rows = made.rows;
	view.tall = made.height + RULER_PX;
	for (const row of view.rows)
		if (row.kind === "lane") {
			if (!rowOfTrack.has(row.track))
				rowOfTrack.set(row.track, []);
			rowOfTrack.get(row.track).push(row);
		}
	view.rowOf = (i) => (rowOfTrack.get(trace.line.trackOf[i]) || []).find((row) => laneHas(row.lane, trace.line.items, i));
	view.isDirty = true;
}

function laneHas(lane, items, i) {
	for (let k = after(lane.starts, items.start[i]) - 1; k >= 0 && lane.starts[k] === items.start[i]; k--)
		if (lane.ids[k] === i)
			return true;
	return false;
}

// The canvas has the pixels of the screen's box; coordinates here are CSS pixels.
function resize(view) {
	const box = view.canvas.parentElement.clientWidth, tall = Math.max(220, Math.min(view.tall + 4, Math.floor(window.innerHeight * 0.62)));
	if (view.canvas.width === box && view.canvas.height === tall && view.image)
		return;
	view.canvas.width = box;
	view.canvas.height = tall;
	view.gutter = fitGutter(box);
	view.width = Math.max(50, box - view.gutter);
	view.height = tall;
	view.image = view.context.createImageData(view.width, tall);
	view.isDirty = true;
}

function paint(view) {
	view.isDirty = false;
	view.scale = view.width / (view.to - view.from);
	view.scrollY = Math.max(0, Math.min(view.scrollY, view.tall - view.height));
	drawTimeline(view.context, view);
}

function remember(view) {
	clearTimeout(view.later);
	view.later = setTimeout(() => {
		if (address.read().name !== TRACE)
			return;
		address.change("from", String(Math.round(view.from)));
		address.change("to", String(Math.round(view.to)));
		address.change("item", view.chosen >= 0 ? String(view.chosen) : "");
		address.change("fold", [...view.folded].join("|"));
		address.change("arrows", view.hasAllArrows ? "1" : "");
	}, 150);
}

function changed(view) {
	view.isDirty = true;
	remember(view);
	if (!view.frame)
		view.frame = requestAnimationFrame(() => {
			view.frame = 0;
			refreshArrows(view);
			paint(view);
			view.told();
		});
}

// A nanosecond has at least, the whole run at most, the width of the picture.
function look(view, from, to) {
	const least = 1, most = (view.whole.to - view.whole.from) * 1.1;
	const span = Math.min(Math.max(to - from, least), most), middle = (from + to) / 2;
	const low = view.whole.from - span * 0.9, high = view.whole.to - span * 0.1;
	view.from = Math.min(Math.max(middle - span / 2, low), high);
	view.to = view.from + span;
	changed(view);
}

function zoom(view, factor, x) {
	const at = view.from + (view.to - view.from) * (x === undefined ? 0.5 : x / view.width);
	look(view, at - (at - view.from) * factor, at + (view.to - at) * factor);
}

function pan(view, share) {
	const by = (view.to - view.from) * share;
	look(view, view.from + by, view.to + by);
}

function lookAtItem(view, i) {
	const { start, end } = trace.line.items, margin = Math.max(end[i] - start[i], 10) * 2;
	look(view, start[i] - margin, end[i] + margin);
}

function bringIntoView(view, i) {
	const row = view.rowOf(i);
	if (row && (row.top < view.scrollY || row.top + row.height > view.scrollY + view.height - RULER_PX))
		view.scrollY = row.top - view.height / 3;
}

function unfold(view, i) {
	const track = trace.line.trackOf[i];
	if (view.rowOf(i))
		return;
	view.folded.delete(track.key);
	view.folded.delete(track.group.key);
	relayOut(view);
}

function choose(view, i) {
	view.chosen = i;
	view.stretch = null;
	if (i >= 0) {
		unfold(view, i);
		bringIntoView(view, i);
		const { start, end } = trace.line.items;
		if (end[i] < view.from || start[i] > view.to)
			look(view, (start[i] + end[i] - view.to + view.from) / 2, (start[i] + end[i] + view.to - view.from) / 2);
	}
	showDetails(view);
	changed(view);
}

// Arrows of the chosen item; of all that are wide enough to see, where that is asked for.
function refreshArrows(view) {
	const line = trace.line, add = (i) => linked(line, i).map((other) => line.trackOf[i].on === "thread" ? [i, other] : [other, i]);
	view.arrows = view.chosen >= 0 ? add(view.chosen) : [];
	if (!view.hasAllArrows)
		return;
	for (const row of view.rows) {
		if (row.kind !== "lane" || row.track.on !== "queue")
			continue;
		for (let k = after(row.lane.ends, view.from); k < row.lane.ids.length && row.lane.starts[k] < view.to && view.arrows.length < ARROWS_MOST; k++)
			if ((row.lane.ends[k] - row.lane.starts[k]) * view.scale > 1)
				view.arrows.push(...add(row.lane.ids[k]));
	}
}

function rowAt(view, y) {
	const at = y - RULER_PX + view.scrollY;
	return y < RULER_PX ? null : view.rows.find((row) => at >= row.top && at < row.top + row.height) || null;
}

// The item under a place, or the nearest within 3 pixels; -1 = none.
function itemAt(view, x, y) {
	const row = rowAt(view, y);
	if (!row || row.kind !== "lane" || x < view.gutter)
		return -1;
	const ns = view.from + (x - view.gutter) / view.scale, lane = row.lane, near = 3 / view.scale;
	let best = -1, distance = near;
	const last = after(lane.starts, ns + near) - 1;
	if (lane.isCounter)
		return last >= 0 ? lane.ids[Math.max(0, after(lane.starts, ns) - 1)] : -1;
	for (let k = last; k >= 0 && k > last - 64; k--) {
		const off = ns < lane.starts[k] ? lane.starts[k] - ns : Math.max(0, ns - lane.ends[k]);
		if (off < distance || (off === 0 && best < 0)) {
			best = lane.ids[k];
			distance = off;
		}
	}
	return best;
}

// The next item of the lane, or the one nearest in the lane above or below.
function step(view, sideways, down) {
	const lanes = view.rows.filter((row) => row.kind === "lane" && row.lane.ids.length && !row.track.isCounter);
	if (lanes.length === 0)
		return;
	const at = view.chosen < 0 ? -1 : lanes.findIndex((row) => laneHas(row.lane, trace.line.items, view.chosen));
	if (at < 0) {
		const middle = (view.from + view.to) / 2;
		choose(view, lanes[0].lane.ids[Math.min(lanes[0].lane.ids.length - 1, after(lanes[0].lane.ends, middle))]);
		return;
	}
	const start = trace.line.items.start[view.chosen];
	if (sideways) {
		const { ids } = lanes[at].lane;
		choose(view, ids[Math.min(ids.length - 1, Math.max(0, ids.indexOf(view.chosen) + sideways))]);
	} else {
		const { ids, starts } = lanes[Math.min(lanes.length - 1, Math.max(0, at + down))].lane;
		choose(view, ids[Math.max(0, after(starts, start) - 1)]);
	}
}

const KEYS = {
	w: (view) => zoom(view, 1 / ZOOM), s: (view) => zoom(view, ZOOM), a: (view) => pan(view, -PAN), d: (view) => pan(view, PAN),
	"+": (view) => zoom(view, 1 / ZOOM), "-": (view) => zoom(view, ZOOM),
	ArrowLeft: (view) => step(view, -1, 0), ArrowRight: (view) => step(view, 1, 0), ArrowUp: (view) => step(view, 0, -1), ArrowDown: (view) => step(view, 0, 1),
	f: (view) => view.chosen >= 0 ? lookAtItem(view, view.chosen) : view.stretch && look(view, view.stretch.from, view.stretch.to),
	0: (view) => look(view, view.whole.from, view.whole.to),
	Escape: (view) => choose(view, -1),
	n: (view) => findNext(view, 1), N: (view) => findNext(view, -1),
	m: (view) => view.chosen >= 0 && sumStretch(view, trace.line.items.start[view.chosen], trace.line.items.end[view.chosen]),
	"/": (view) => view.search.focus(),
	PageDown: (view) => { view.scrollY += view.height / 2; changed(view); }, PageUp: (view) => { view.scrollY -= view.height / 2; changed(view); },
};

function onKey(view, event) {
	const act = KEYS[event.key.length === 1 && event.key !== "N" ? event.key.toLowerCase() : event.key];
	if (!act || event.ctrlKey || event.metaKey || event.altKey)
		return;
	event.preventDefault();
	act(view);
}

// Names that hold the words; empty = no search. Returns how many spans have one.
function search(view, words) {
	const line = trace.line, wanted = words.toLowerCase();
	address.change("search", words);
	view.matches = words ? Uint8Array.from(line.source.names, ([, name]) => Number((name || "").toLowerCase().includes(wanted))) : null;
	let items = 0, spans = 0;
	for (let i = 0; view.matches && i < line.items.name.length; i++)
		if (view.matches[line.items.name[i]] && !line.trackOf[i].isCounter && !line.trackOf[i].isRepeated) {
			items++;
			spans += line.items.count[i] > 1 ? 0 : 1;
		}
	view.found.textContent = words ? (spans === items ? `${spans} spans` : `${spans} spans, and the longest of ${items - spans} merged stretches`) : "";
	changed(view);
}

// The next match in time, of any lane.
function findNext(view, direction) {
	const { items, trackOf } = trace.line;
	if (!view.matches)
		return;
	const from = view.chosen >= 0 ? items.start[view.chosen] : direction > 0 ? -Infinity : Infinity, id = view.chosen;
	let best = -1;
	for (let i = 0; i < items.start.length; i++) {
		if (!view.matches[items.name[i]] || trackOf[i].isCounter || trackOf[i].isRepeated || i === id)
			continue;
		const isBeyond = direction > 0 ? items.start[i] > from || (items.start[i] === from && i > id) : items.start[i] < from || (items.start[i] === from && i < id);
		const isNearer = best < 0 || (direction > 0 ? items.start[i] < items.start[best] : items.start[i] >= items.start[best]);
		if (isBeyond && isNearer)
			best = i;
	}
	if (best >= 0)
		choose(view, best);
}
