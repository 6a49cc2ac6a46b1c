// SPDX-License-Identifier: Apache-2.0
// From when to when the largest blocks lived that were live at an allocator's peak: a bar each, as thick as it is large, over the steps.
"use strict";

const LIFETIME_BARS = 40, LEAST_SIZE = 1e-3, THICK = 14, STEP_PX = 110; // bars; what they are at least of the largest block; its pixels; room of a label below
const LIFETIME_FIELDS = [["op_name", "op"], ["allocated_bytes", "allocated"], ["requested_bytes", "requested"], ["from_ns", "from"], ["to_ns", "to"],
	["lifetime_ns", "lived"], ["from_step", "handed out in step"], ["to_step", "came back in step"], ["release_op_name", "released in"], ["region", "region"],
	["data_type", "type"], ["shape", "shape"]];

// Where steps begin, between two moments: as many as there is room for; without steps the axis keeps its times.
function stepTicks(from, to) {
	const table = byId.get("step_stats"), start = table ? place(table, "start_ns") : -1;
	if (start < 0)
		return [];
	const rows = table.rows.filter((row) => Number(row[start]) >= from && Number(row[start]) <= to).sort((a, b) => a[start] - b[start]);
	const apart = (to - from) * STEP_PX / Math.max(1, Math.min(window.innerWidth - 100, 1100)); // in ns: steps may fill a small part of the axis
	let free = from;
	return rows.filter((row) => {
		const fits = Number(row[start]) >= free;
		free = fits ? Number(row[start]) + apart : free;
		return fits;
	}).map((row) => ({ value: Number(row[start]), label: "step " + value(table, row, "step") }));
}

function lifetimeLines(table, row) {
	return LIFETIME_FIELDS.filter(([id]) => value(table, row, id) !== null)
		.map(([id, name]) => name + ": " + (id === "from_ns" || id === "to_ns" ? exactNs(value(table, row, id)) : shown(value(table, row, id), table.columns[place(table, id)].unit)))
		.concat(value(table, row, "to_ns") === null ? ["its release is not in the log"] : []);
}

// A line where the allocator held most.
function peakLine(peak) {
	return { id: "peak", afterDatasetsDraw(chart) {
		const x = chart.scales.x.getPixelForValue(peak), area = chart.chartArea, context = chart.ctx;
		context.save();
		context.strokeStyle = ink();
		context.setLineDash([4, 3]);
		context.beginPath();
		context.moveTo(x, area.top);
		context.lineTo(x, area.bottom);
		context.stroke();
		context.restore();
	} };
}

// Blocks of the process whose allocator of that name held most of them: others have a peak of their own.
function lifetimeRows(table, name) {
	const groups = [...grouped({ rows: ofAllocator("memory.lifetimes", name) }, place(table, "process")).values()];
	const sum = (rows) => rows.reduce((bytes, row) => bytes + Number(value(table, row, "allocated_bytes")), 0);
	return groups.sort((a, b) => sum(b) - sum(a))[0] || [];
}

// null = the log has no blocks of that allocator.
function lifetimeChart(name) {
	if (!has("memory.lifetimes"))
		return null;
	const table = byId.get("memory.lifetimes"), all = lifetimeRows(table, name), size = (row) => Number(value(table, row, "allocated_bytes"));
	const rows = all.slice(0, LIFETIME_BARS).filter((row) => size(row) >= LEAST_SIZE * size(all[0]));
	if (rows.length === 0)
		return null;
	const at = (row, id) => value(table, row, id), ends = rows.filter((row) => at(row, "to_ns") !== null).map((row) => Number(at(row, "to_ns")));
	const curve = ofAllocator("memory.timeline", name).map((row) => Number(value(byId.get("memory.timeline"), row, "time_ns")));
	const from = Math.min(...rows.map((row) => Number(at(row, "from_ns")))), peak = Number(at(rows[0], "peak_time_ns")), to = Math.max(peak, ...ends, ...curve);
	const ops = [...new Set(rows.map((row) => at(row, "op_name")))], isNarrow = window.innerWidth < 600;
	const labels = rows.map((row) => shown(at(row, "allocated_bytes"), "bytes") + (isNarrow ? "" : "  " + shortened(String(at(row, "op_name") || "no op"), 28)));
	const datasets = rows.map((row, i) => ({ row, grouped: false, barThickness: Math.max(2, Math.round(THICK * size(row) / size(rows[0]))),
		backgroundColor: at(row, "op_name") === null ? REST : colour(ops.indexOf(at(row, "op_name"))), minBarLength: 2,
		data: rows.map((other, k) => k === i ? [Number(at(row, "from_ns")), at(row, "to_ns") === null ? to : Number(at(row, "to_ns"))] : null) }));
	const ticks = stepTicks(from, to), time = axis("ns", "time since the start of the run; dashed: the peak", to - from);
	const config = { type: "bar", data: { labels, datasets }, plugins: [peakLine(peak)], options: {
		indexAxis: "y", animation: false, maintainAspectRatio: false,
		scales: { x: { type: "linear", min: from, max: to, ...time, ...ticks.length > 1 ? { afterBuildTicks: (scale) => { scale.ticks = ticks; }, ticks: { color: ink(), callback: (tick, i, list) => list[i].label } } : {} },
			y: { ticks: { color: ink(), autoSkip: false, font: { size: 10 } }, grid: { display: false } } },
		plugins: { legend: { display: false }, tooltip: { callbacks: { title: () => "", label: (point) => lifetimeLines(table, point.dataset.row) } } } } };
	const made = picture(`Lifetimes of blocks of ${name}, at its peak`, config,
		table.row_count > 0 && all.length > rows.length ? [element("p", { class: "note" }, `The ${rows.length} largest of ${all.length}; `, link("memory.lifetimes", "all rows"))] : []);
	made.box.querySelector(".chart").style.height = `${6 + rows.length * 1.1}rem`;
	return made;
}
