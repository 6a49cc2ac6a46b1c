// SPDX-License-Identifier: Apache-2.0
// The Memory page: one allocator at a time, its curve with what it holds from below and how broken up that is, the events
// behind the curve, what was live at the peak, and where it came from.
"use strict";

const EVENT_FIELDS = [["time_ns", "time"], ["event", "event"], ["requested_bytes", "requested"], ["allocated_bytes", "allocated"], ["op_name", "op"], ["step", "step"],
	["region", "region"], ["data_type", "type"], ["shape", "shape"], ["live_bytes", "in use"], ["fragmentation", "fragmentation"]];

const NEXT_TO_NOTHING = 0.01; // of what the largest holds

// Allocators with a curve, the one with the highest value that frameworks or devices own first, if it is worth looking at.
function allocators(table) {
	const most = new Map(), live = place(table, "live_bytes"), by = place(table, "allocator");
	for (const row of table.rows)
		most.set(row[by], Math.max(most.get(row[by]) || 0, Number(row[live] || 0)));
	const least = NEXT_TO_NOTHING * Math.max(...most.values());
	const plain = (name) => Number(name === "heap" || name === "mmap" || most.get(name) < least);
	return [...most].sort((a, b) => plain(a[0]) - plain(b[0]) || b[1] - a[1]).map(([name]) => name);
}

function ofAllocator(id, name) {
	const table = byId.get(id), by = table ? place(table, "allocator") : -1;
	return by < 0 ? [] : table.rows.filter((row) => row[by] === name);
}

const NEAR = 1e-4; // of the width: Chart.js fills wrongly below a curve that ends with two points nearer than that

function curve(table, rows, id, label, index, more) {
	const x = place(table, "time_ns"), y = place(table, id);
	const data = y < 0 ? [] : rows.filter((row) => row[y] !== null).map((row) => ({ x: row[x], y: Number(row[y]), row, table }));
	if (data.length > 1) {
		const [before, last] = data.slice(-2);
		last.x = Math.max(last.x, before.x + NEAR * last.x);
	}
	return data.length ? [{ label, data, borderColor: colour(index), backgroundColor: colour(index) + "33", pointRadius: data.length > 1 ? 0 : 3, pointHitRadius: 8, borderWidth: 1.5, stepped: true, ...more }] : [];
}

// The hover card: what the table knows of the point, in the order of EVENT_FIELDS.
function card(point) {
	const { row, table } = point.raw, lines = [];
	for (const [id, name] of EVENT_FIELDS) {
		const i = place(table, id);
		if (i >= 0 && row[i] !== null && row[i] !== "")
			lines.push(name + ": " + (id === "time_ns" ? exactNs(row[i]) : shown(row[i], table.columns[i].unit)));
	}
	for (const id of ["reserved_bytes", "free_bytes"]) {
		const i = place(table, id);
		if (i >= 0 && row[i] !== null)
			lines.push(table.columns[i].header + ": " + shown(row[i], "bytes"));
	}
	return lines;
}

function memoryChart(name) {
	const table = byId.get("memory.timeline"), rows = ofAllocator("memory.timeline", name), events = byId.get("memory.events");
	const single = ofAllocator("memory.events", name), share = { yAxisID: "share", borderDash: [4, 3] };
	const torn = curve(table, rows, "fragmentation", "fragmentation", 3, share);
	const datasets = [...curve(table, rows, "live_bytes", "in use", 0, { fill: true }), ...curve(table, rows, "reserved_bytes", "held from below", 1),
		...torn.length || !events ? torn : curve(events, single, "fragmentation", "fragmentation", 3, share),
		...events ? curve(events, single, "live_bytes", events.row_count > events.rows.length ? `events (${events.rows.length} of ${events.row_count})` : "events", 2, { showLine: false, pointRadius: 2, pointHitRadius: 6 }) : []];
	const most = Math.max(1, ...datasets.filter((one) => one.yAxisID !== "share").flatMap((one) => one.data.map((point) => point.y)));
	const hasShare = datasets.some((one) => one.yAxisID === "share");
	const totals = byId.get("memory.allocators"), row = totals && totals.rows.find((one) => value(totals, one, "allocator") === name);
	const why = row && value(totals, row, "fragmentation_unknown");
	const more = hasShare ? [] : [element("p", { class: "note" }, "No fragmentation axis: " + (why || "this allocator's largest free block was not recorded") + ".")];
	return picture(`Memory of ${name} over time`, { type: "line", data: { datasets }, options: {
		parsing: false, animation: false, maintainAspectRatio: false, interaction: { mode: "nearest", axis: "x", intersect: false },
		scales: { x: { type: "linear", min: 0, ...axis("ns", "time since the start of the run", Math.max(1, ...rows.map((row) => Number(row[place(table, "time_ns")])))) }, y: { beginAtZero: true, ...axis("bytes", "bytes", most) },
			...hasShare ? { share: { position: "right", min: 0, max: 1, ...axis("ratio", "fragmentation"), grid: { drawOnChartArea: false } } } : {} },
		plugins: { legend: { labels: { color: ink(), boxWidth: 12 } }, tooltip: { callbacks: { title: () => "", label: card } } } } }, more);
}

function memoryFacts(main, name) {
	const table = byId.get(byId.has("memory.allocators") ? "memory.allocators" : "memory.summary");
	const rows = table.rows.filter((row) => value(table, row, "allocator") === name && (place(table, "scope") < 0 || value(table, row, "scope") !== "thread"));
	rows.sort((a, b) => Number(value(table, b, "peak_bytes")) - Number(value(table, a, "peak_bytes")));
	if (rows.length)
		main.append(small(table, rows.slice(0, FEW_ROWS), ["process", "scope", "id", "allocations", "frees", "live_bytes", "capacity_bytes", "lifetime_peak_bytes", "peak_bytes", "peak_time_ns", "stack_bytes",
			"heap_bytes", "free_bytes", "fragmentation", "reserved_bytes"]));
	if (rows.length > FEW_ROWS)
		main.append(element("p", { class: "note" }, "The highest peaks; ", link(table.id, `all ${rows.length} rows`)));
}

function memoryPage(main) {
	const table = byId.get("memory.timeline"), names = table ? allocators(table) : [];
	main.append(element("h2", {}, "Memory"));
	if (names.length) {
		const wanted = address.read().query.get("of"), name = names.includes(wanted) ? wanted : names[0];
		const choice = element("select", { id: "allocator" }, ...names.map((one) => element("option", { value: one }, one)));
		choice.value = name;
		choice.addEventListener("change", () => {
			address.change("of", choice.value);
			show();
		});
		main.append(element("div", { class: "tools" }, element("label", {}, "Allocator ", choice)));
		memoryFacts(main, name);
		put(main, memoryChart(name));
		const lifetimes = lifetimeChart(name);
		if (lifetimes)
			put(main, lifetimes);
		main.append(...notes(table));
	} else {
		main.append(element("p", { class: "note" }, "No curve of live memory: TFPROF_MALLOC was off, or nothing was allocated."));
	}
	if (has("memory.refused"))
		panel(main, "memory.refused");
	for (const id of ["memory.peak", ...has("memory.lifetimes") ? ["memory.lifetimes"] : [], "memory.events", "memory.allocators", "memory.summary"])
		panel(main, id);
	if (has("memory.sites"))
		for (const made of pictures(byId.get("memory.sites")))
			put(main, made);
	for (const id of ["memory.sites", "memory.histogram", ...has("xla_memory") ? ["xla_memory"] : []])
		panel(main, id);
}
