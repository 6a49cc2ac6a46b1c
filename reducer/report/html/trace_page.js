// SPDX-License-Identifier: Apache-2.0
// What stands around the picture of the Trace page: tools, the overview strip, details of an item, sums of a stretch, what
// was merged. Rule: a figure of a merged stretch says so; nothing is shown as exact that is not.
"use strict";

const STRIP_PX = 30;

function pair(name, ...value) {
	return [element("dt", {}, name), element("dd", {}, ...value)];
}

function whereText(i) {
	const track = trace.line.trackOf[i];
	return track.group.title + " › " + track.title;
}

// An item in words: pairs of a term and what it is.
function itemFacts(view, i) {
	const { items, source } = trace.line, [category, name] = source.names[items.name[i]], isOne = items.count[i] === 1;
	const words = source.details[items.detail[i]], facts = [];
	if (trace.line.trackOf[i].isCounter)
		return [["counter", name], [isOne ? "value" : `highest of ${items.count[i]} values`, shown(items.value[i], counterUnit(name))], ["at", clock(items.start[i], 1) + ` (${Math.round(items.start[i])} ns)`]];
	if (!isOne)
		facts.push(["merged", `${items.count[i]} spans shorter than ${shown(source.grain_ns, "ns")}; together busy ${exactNs(items.busy[i])}`], ["longest of them", `${name} (${category}), ${exactNs(items.longest[i])}`]);
	else
		facts.push(["name", category === "step" ? stepName(view, i) : name || ""], ["kind", category]);
	facts.push(["from", exactNs(items.start[i])], ["duration", exactNs(items.end[i] - items.start[i])], ["where", whereText(i)]);
	if (items.isOpen[i])
		facts.push(["not ended", "the log ends first"]);
	for (let k = 0; k + 1 < words.length; k += 2)
		facts.push([(isOne ? "" : "longest: ") + words[k], words[k] === "bytes" ? `${words[k + 1]} (${shown(Number(words[k + 1]), "bytes")})` : words[k + 1]]);
	if (items.flow[i] > 0 && isOne && trace.line.trackOf[i].on !== "process")
		facts.push(["correlation", String(items.flow[i])]);
	return facts;
}

function exactNs(ns) {
	const short = shown(ns, "ns");
	return Math.abs(ns) < 1000 ? short : `${short} (${String(Math.round(ns)).replace(/\B(?=(\d{3})+$)/g, " ")} ns)`;
}

function linkButton(view, i) {
	const { items, source } = trace.line, name = source.names[items.name[i]][1], isCall = trace.line.trackOf[i].on === "thread";
	return element("button", { type: "button", onclick: () => choose(view, i) }, `${isCall ? "launched by" : "started"} ${name.length > 60 ? name.slice(0, 59) + "…" : name}, ${shown(items.end[i] - items.start[i], "ns")}`);
}

function showDetails(view) {
	const pane = view.details, i = view.chosen;
	if (i < 0) {
		pane.replaceChildren(element("p", { class: "note" }, "Choose a span to see what is known of it; drag with Shift held to add up a stretch of time."));
		return;
	}
	const others = linked(trace.line, i).slice(0, 8);
	pane.replaceChildren(element("dl", { class: "facts" }, ...itemFacts(view, i).flatMap(([name, value]) => pair(name, value))),
		element("div", { class: "tools" }, element("button", { type: "button", onclick: () => lookAtItem(view, i) }, "Zoom to it (F)"),
			element("button", { type: "button", onclick: () => sumStretch(view, trace.line.items.start[i], trace.line.items.end[i]) }, "Add up its time (M)"),
			...others.map((other) => linkButton(view, other))));
}

const SUM_COLUMNS = [
	{ id: "where", header: "where", type: "text", unit: "none", help: "thread, stream or process" },
	{ id: "category", header: "kind", type: "text", unit: "none", help: "what kind of span" },
	{ id: "name", header: "name", type: "text", unit: "none", help: "name; of merged stretches that of the longest span in them" },
	{ id: "spans", header: "spans", type: "integer", unit: "count", help: "that overlap the stretch; of merged ones all of them" },
	{ id: "inside_ns", header: "inside", type: "integer", unit: "ns", help: "time inside the stretch, spans of one name added up; of a merged stretch that lies half inside, its share by length" },
	{ id: "average_ns", header: "average", type: "integer", unit: "ns", help: "whole duration, divided by spans" },
	{ id: "longest_ns", header: "longest", type: "integer", unit: "ns", help: "whole duration of the longest" },
	{ id: "is_merged", header: "merged", type: "text", unit: "none", help: "yes: these are merged stretches; shares at the edges are estimates" },
];

// What lies in a stretch of time, by place, kind and name.
function sumRows(view, from, to) {
	const { items, source, tracks } = trace.line, sums = new Map();
	for (const track of tracks) {
		for (const lane of track.isCounter ? [] : track.lanes) {
			for (let k = after(lane.ends, from); k < lane.ids.length && lane.starts[k] < to; k++) {
				const i = lane.ids[k], isMerged = items.count[i] > 1, key = track.key + "|" + items.name[i] + "|" + isMerged;
				const length = lane.ends[k] - lane.starts[k], inside = Math.min(to, lane.ends[k]) - Math.max(from, lane.starts[k]);
				const sum = sums.get(key) || { track, name: items.name[i], isMerged, spans: 0, inside: 0, busy: 0, longest: 0 };
				sum.spans += items.count[i];
				sum.inside += length > 0 ? items.busy[i] * inside / length : 0;
				sum.busy += items.busy[i];
				sum.longest = Math.max(sum.longest, items.longest[i]);
				sums.set(key, sum);
			}
		}
	}
	return [...sums.values()].sort((a, b) => b.inside - a.inside).map((sum) => [sum.track.group.title + " › " + sum.track.title, ...source.names[sum.name].slice(0, 2), sum.spans,
		Math.round(sum.inside), Math.round(sum.busy / sum.spans), sum.longest, sum.isMerged ? "yes" : "no"]);
}

function sumStretch(view, from, to) {
	const rows = sumRows(view, from, to), table = { id: "stretch", columns: SUM_COLUMNS, rows };
	view.stretch = { from, to };
	view.chosen = -1;
	const body = element("tbody", {}, ...rows.slice(0, SUM_ROWS).map((row) => element("tr", {}, ...row.map((value, i) => cell(value, SUM_COLUMNS[i], false)))));
	view.details.replaceChildren(
		element("p", {}, `Stretch of ${exactNs(to - from)}, from ${exactNs(from)}: ${rows.reduce((sum, row) => sum + row[3], 0)} spans of ${rows.length} names.`),
		element("div", { class: "tools" }, element("button", { type: "button", onclick: () => save("stretch.csv", csv(table, rows)) }, "Save as CSV"),
			element("button", { type: "button", onclick: () => look(view, from, to) }, "Zoom to it")),
		element("div", { class: "scroll" }, element("table", { id: "sums" }, head(table), body)));
	changed(view);
}

// How busy each pixel of the whole run is, over all lanes of spans.
function stripShares(view, width) {
	const shares = new Float64Array(width), length = (view.whole.to - view.whole.from) / width;
	let lanes = 0;
	for (const track of trace.line.tracks) {
		if (track.isCounter || track.on === "process")
			continue;
		const lane = track.lanes[0];
		lanes++;
		for (let x = 0; x < width; x++) {
			const low = after(lane.ends, view.whole.from + x * length), high = after(lane.starts, view.whole.from + (x + 1) * length);
			if (high > low)
				shares[x] += high - low === 1 ? Math.min(length, lane.ends[low] - lane.starts[low]) / length : Math.min(1, (lane.cumulated[high] - lane.cumulated[low]) / length);
		}
	}
	return shares.map((share) => lanes ? share / lanes : 0);
}

function paintStrip(view, canvas) {
	const width = canvas.parentElement.clientWidth, context = canvas.getContext("2d"), { palette, whole } = view;
	if (canvas.width !== width || !canvas.shares) {
		canvas.width = width;
		canvas.height = STRIP_PX;
		canvas.shares = stripShares(view, width);
	}
	const x = (ns) => (ns - whole.from) / (whole.to - whole.from) * width;
	context.fillStyle = css(splitColour(palette.panel));
	context.fillRect(0, 0, width, STRIP_PX);
	context.fillStyle = css(palette.faint);
	canvas.shares.forEach((share, at) => context.fillRect(at, STRIP_PX - 3 - share * (STRIP_PX - 8), 1, share * (STRIP_PX - 8)));
	context.fillStyle = css([42, 157, 92]);
	for (const window of view.source.grain_ns ? view.source.windows : [])
		context.fillRect(x(window.from_ns), STRIP_PX - 3, Math.max(2, x(window.to_ns) - x(window.from_ns)), 3);
	context.fillStyle = css(palette.mark, 0.25);
	context.fillRect(x(view.from), 0, Math.max(2, x(view.to) - x(view.from)), STRIP_PX);
	context.strokeStyle = css(palette.mark);
	context.strokeRect(x(view.from) + 0.5, 0.5, Math.max(2, x(view.to) - x(view.from)), STRIP_PX - 1);
}

// What the file holds of the run, in words.
function wholeness(view) {
	const { source } = view, made = [], buttons = [];
	const count = source.told.toLocaleString("en");
	if (!source.grain_ns)
		made.push(`All ${count} spans and values are here as they were recorded.`);
	else
		made.push(`${count} spans and values were recorded; this file holds ${source.items.toLocaleString("en")} items of them. Those shorter than ${shown(source.grain_ns, "ns")} are merged with their neighbours on the same row: counts and busy times stay exact, names only of the longest. ` +
			(source.windows.length ? "Kept as recorded, green in the strip: " : ""));
	if (source.grain_ns)
		for (const window of source.windows)
			buttons.push(element("button", { type: "button", onclick: () => look(view, window.from_ns, window.to_ns) }, window.why));
	if (source.rows_shared)
		made.push(` ${source.rows_shared} lie on rows that stand for several threads or streams: there were too many.`);
	const hint = source.grain_ns ? [" For everything of another stretch: ", view.hint = element("code", {})] : [];
	return element("p", { class: "note" }, ...made, ...buttons, ...hint);
}

function tools(view) {
	const button = (text, help, act) => element("button", { type: "button", title: help, onclick: act }, text);
	view.search = element("input", { type: "search", placeholder: "Search names", "aria-label": "search names of spans", value: address.read().query.get("search") || "" });
	view.search.addEventListener("input", () => search(view, view.search.value));
	view.search.addEventListener("keydown", (event) => event.key === "Enter" && findNext(view, event.shiftKey ? -1 : 1));
	view.found = element("span", { class: "note", "aria-live": "polite" });
	const arrows = element("input", { type: "checkbox" });
	arrows.checked = view.hasAllArrows;
	arrows.addEventListener("change", () => {
		view.hasAllArrows = arrows.checked;
		changed(view);
	});
	view.range = element("span", { class: "note range" });
	return element("div", { class: "tools" }, button("−", "zoom out (S)", () => zoom(view, ZOOM * ZOOM)), button("+", "zoom in (W)", () => zoom(view, 1 / ZOOM / ZOOM)),
		button("◂", "earlier (A)", () => pan(view, -0.3)), button("▸", "later (D)", () => pan(view, 0.3)), button("whole run", "0", () => look(view, view.whole.from, view.whole.to)),
		view.search, button("next", "next match (N)", () => findNext(view, 1)), view.found, element("label", {}, arrows, " all arrows"), view.range);
}

function place2(event, view) {
	const box = view.canvas.getBoundingClientRect();
	return [event.clientX - box.left, event.clientY - box.top];
}

function hover(view, x, y) {
	const i = itemAt(view, x, y), tip = view.tip;
	tip.hidden = i < 0;
	if (i < 0)
		return;
	tip.replaceChildren(...itemFacts(view, i).filter(([name]) => name !== "where").map(([name, value]) => element("div", {}, element("b", {}, name + " "), value)));
	tip.style.left = Math.max(0, Math.min(x + 14, view.canvas.width - 330)) + "px";
	tip.style.top = y + 18 + "px";
}

function fold(view, row) {
	const key = row.kind === "group" ? row.group.key : row.track.key;
	if (view.folded.has(key))
		view.folded.delete(key);
	else
		view.folded.add(key);
	relayOut(view);
	resize(view);
	changed(view);
}

function click(view, x, y) {
	const row = rowAt(view, y);
	if (row && (x < view.gutter || row.kind === "group"))
		fold(view, row);
	else
		choose(view, itemAt(view, x, y));
}

function pointer(view) {
	const { canvas } = view, nsAt = (x) => view.from + (x - view.gutter) / view.scale;
	let press = null;
	canvas.addEventListener("pointerdown", (event) => {
		const [x, y] = place2(event, view);
		press = { x, y, from: view.from, to: view.to, scrollY: view.scrollY, at: nsAt(x), isSelecting: event.shiftKey, moved: false };
		canvas.setPointerCapture(event.pointerId);
		canvas.focus({ preventScroll: true });
	});
	canvas.addEventListener("pointermove", (event) => {
		const [x, y] = place2(event, view);
		if (!press) {
			hover(view, x, y);
			return;
		}
		press.moved ||= Math.abs(x - press.x) + Math.abs(y - press.y) > CLICK_PX;
		if (!press.moved)
			return;
		view.tip.hidden = true;
		if (press.isSelecting) {
			view.stretch = { from: Math.min(press.at, nsAt(x)), to: Math.max(press.at, nsAt(x)) };
			changed(view);
		} else {
			view.scrollY = press.scrollY - (y - press.y);
			const by = (press.x - x) / view.scale;
			look(view, press.from + by, press.to + by);
		}
	});
	canvas.addEventListener("pointerup", (event) => {
		const [x, y] = place2(event, view), was = press;
		press = null;
		if (!was)
			return;
		if (!was.moved)
			click(view, x, y);
		else if (was.isSelecting)
			sumStretch(view, view.stretch.from, view.stretch.to);
	});
	canvas.addEventListener("pointerleave", () => view.tip.hidden = true);
	canvas.addEventListener("dblclick", (event) => {
		const i = itemAt(view, ...place2(event, view));
		if (i >= 0)
			lookAtItem(view, i);
	});
	canvas.addEventListener("wheel", (event) => {
		const [x] = place2(event, view), size = event.deltaMode === 1 ? 16 : 1;
		if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) < Math.abs(event.deltaY) && view.tall <= view.height)
			return; // nothing to scroll here: the page moves
		event.preventDefault();
		if (event.ctrlKey) {
			zoom(view, Math.exp(event.deltaY * size / 300), x - view.gutter);
		} else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
			pan(view, (event.deltaX || event.deltaY) * size / view.width);
		} else {
			view.scrollY += event.deltaY * size;
			changed(view);
		}
	}, { passive: false });
}

function tracePage(main) {
	main.append(element("h2", {}, "Trace"));
	if (!run.timeline) {
		main.append(element("p", { class: "note" }, "No time line: the log holds no ops, ranges, steps, GPU calls or device work, and no memory curve."));
		return;
	}
	const canvas = element("canvas", { id: "timeline", tabindex: "0", role: "application", "aria-label": "time line; W and S zoom, A and D move, arrow keys choose spans" });
	const strip = element("canvas", { id: "strip", role: "img", "aria-label": "the whole run; click to move there" });
	const frame = element("div", { class: "timeline" }, canvas), stripFrame = element("div", { class: "timeline" }, strip);
	const wait = element("p", { class: "note" }, "Unpacking the time line …");
	main.append(wait);
	started.push({ start: () => void fillTrace(main, wait, canvas, strip, frame, stripFrame) });
}

async function fillTrace(main, wait, canvas, strip, frame, stripFrame) {
	try {
		trace.line = await timeline();
	} catch (error) {
		wait.textContent = `This browser cannot unpack the time line (${error.message}); any of 2023 or later can.`;
		return;
	}
	if (!wait.isConnected)
		return;
	const view = trace.view = makeView(trace.line, canvas, address.read().query);
	view.tip = element("div", { class: "tip", role: "tooltip" });
	view.tip.hidden = true;
	frame.append(view.tip);
	view.details = element("section", { id: "details", "aria-live": "polite" });
	wait.replaceWith(wholeness(view), tools(view), stripFrame, frame,
		element("p", { class: "note keys" }, "Keys: W S zoom, A D move, arrows choose, F zoom to the choice, M add up, N next match, 0 whole run, / search. Drag moves, Ctrl and wheel zoom, Shift and drag adds up; a click on a title folds it."), view.details);
	view.told = () => {
		view.range.textContent = `${clock(view.from, (view.to - view.from) / 100)} to ${clock(view.to, (view.to - view.from) / 100)} (${shown(view.to - view.from, "ns")})`;
		if (view.hint)
			view.hint.textContent = `tfprof-reduce LOG --window ${Math.max(0, Math.floor(view.from))}ns-${Math.max(1, Math.ceil(view.to))}ns --html part.html`;
		paintStrip(view, strip);
	};
	canvas.addEventListener("keydown", (event) => onKey(view, event));
	pointer(view);
	strip.addEventListener("pointerdown", (event) => {
		const at = view.whole.from + (view.whole.to - view.whole.from) * event.offsetX / strip.width, half = (view.to - view.from) / 2;
		look(view, at - half, at + half);
	});
	new ResizeObserver(() => {
		resize(view);
		changed(view);
	}).observe(frame);
	resize(view);
	showDetails(view);
	if (view.search.value)
		search(view, view.search.value);
	changed(view);
}
