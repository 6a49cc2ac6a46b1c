// SPDX-License-Identifier: Apache-2.0
// Charts of tables, by Chart.js: which columns of which table make which picture. A table that is not named has none.
"use strict";

const CHARTS = {
	"memory.timeline": { kind: "line", x: "time_ns", y: "live_bytes", by: "allocator", title: "Live memory" },
	"kernel_stats": { kind: "pie", label: "kernel_name", value: "total_ns", title: "Device time by kernel" },
	"op_stats": { kind: "pie", label: "name", value: "self_ns", by: "side", title: "Self time by op" },
	"copy_stats": { kind: "pie", label: "kind", value: "total_ns", title: "Time of copies by kind" },
	"library_calls": { kind: "pie", label: "function", value: "total_ns", title: "Time in libraries" },
	"range_stats": { kind: "pie", label: "name", value: "self_ns", title: "Self time by range" },
	"python_stats": { kind: "pie", label: "function", value: "self_ns", title: "Self time by Python function" },
	"step_stats": { kind: "bar", x: "step", y: "total_ns", title: "Time of each step" },
	"memory.sites": { kind: "flame", title: "Call stacks" },
};
const COLOURS = ["#0b62c4", "#e07b00", "#2a9d5c", "#b3318f", "#c9a800", "#5b6fd8", "#c0392b", "#16a3a3", "#7f8c3d", "#8a5a44", "#8c96a3"];
const SLICES = 10; // of a pie; the rest is one slice

function colour(i) {
	return COLOURS[i % COLOURS.length];
}

function ink() {
	return getComputedStyle(document.body).getPropertyValue("--ink").trim();
}

// `most`: the largest value; bytes get ticks at powers of two.
function axis(unit, title, most) {
	const step = unit === "bytes" && most > 0 ? { stepSize: 2 ** Math.ceil(Math.log2(most / 6)) } : {};
	return { ticks: { color: ink(), callback: (value) => shown(value, unit), ...step }, title: { display: true, text: title, color: ink() },
		grid: { color: getComputedStyle(document.body).getPropertyValue("--line").trim() } };
}

function grouped(table, by) {
	const groups = new Map();
	for (const row of table.rows) {
		const key = by < 0 || row[by] === null ? "" : String(row[by]);
		if (!groups.has(key))
			groups.set(key, []);
		groups.get(key).push(row);
	}
	return groups;
}

function lineChart(table, spec) {
	const x = place(table, spec.x), y = place(table, spec.y);
	const datasets = [...grouped(table, place(table, spec.by))].map(([label, rows], i) => ({
		label, data: rows.filter((row) => row[y] !== null).map((row) => ({ x: row[x], y: row[y], row })),
		borderColor: colour(i), backgroundColor: colour(i), pointRadius: 0, pointHitRadius: 8, borderWidth: 1.5, stepped: true,
	}));
	const most = table.rows.reduce((largest, row) => Math.max(largest, Number(row[y] || 0)), 0);
	const words = (point) => table.columns.map((column, i) => [column, point.raw.row[i]]).filter(([, value]) => value !== null)
		.map(([column, value]) => column.header + ": " + shown(value, column.unit));
	return { type: "line", data: { datasets }, options: {
		parsing: false, animation: false, maintainAspectRatio: false, interaction: { mode: "nearest", axis: "x", intersect: false },
		scales: { x: { type: "linear", ...axis(table.columns[x].unit, table.columns[x].header) }, y: { beginAtZero: true, ...axis(table.columns[y].unit, table.columns[y].header, most) } },
		plugins: { legend: { labels: { color: ink() } }, tooltip: { callbacks: { title: () => "", label: words } } } } };
}

function barChart(table, spec) {
	const x = place(table, spec.x), y = place(table, spec.y);
	return { type: "bar", data: { labels: table.rows.map((row) => row[x]), datasets: [{ label: table.columns[y].header, data: table.rows.map((row) => row[y]), backgroundColor: colour(0) }] },
		options: { animation: false, maintainAspectRatio: false, scales: { x: axis(null, table.columns[x].header), y: { beginAtZero: true, ...axis(table.columns[y].unit, table.columns[y].header) } },
			plugins: { legend: { display: false } } } };
}

function pieChart(rows, table, spec) {
	const label = place(table, spec.label), value = place(table, spec.value), sums = new Map();
	for (const row of rows)
		sums.set(String(row[label]), (sums.get(String(row[label])) || 0) + Number(row[value] || 0));
	const sorted = [...sums].sort((a, b) => b[1] - a[1]), kept = sorted.slice(0, SLICES);
	const rest = sorted.slice(SLICES).reduce((sum, entry) => sum + entry[1], 0);
	if (rest > 0)
		kept.push([sorted.length - SLICES + " others", rest]);
	const all = kept.reduce((sum, entry) => sum + entry[1], 0);
	return { type: "doughnut", data: { labels: kept.map(([name]) => name.length > 48 ? name.slice(0, 47) + "…" : name), datasets: [{ data: kept.map((entry) => entry[1]), backgroundColor: kept.map((_, i) => colour(i)), borderWidth: 1 }] },
		options: { animation: false, maintainAspectRatio: false, plugins: { legend: { position: "right", labels: { color: ink(), boxWidth: 12 } },
			tooltip: { callbacks: { label: (point) => point.label + ": " + shown(point.raw, table.columns[value].unit) + ", " + (100 * point.raw / all).toFixed(1) + " %" } } } } };
}

// The pictures of a table: elements, each to be started once it stands in the page.
function pictures(table) {
	const spec = CHARTS[table.id], made = [];
	if (!spec || table.rows.length === 0)
		return made;
	if (spec.kind === "flame")
		return [flame(table)];
	const wanted = [spec.x, spec.y, spec.label, spec.value].filter((id) => id !== undefined);
	if (wanted.some((id) => place(table, id) < 0))
		return made;
	const add = (title, config) => {
		const canvas = element("canvas", { role: "img", "aria-label": title });
		const box = element("section", {}, element("h3", {}, title), element("div", { class: "chart" }, canvas));
		made.push({ box, start: () => new Chart(canvas, config) });
	};
	if (spec.kind === "line")
		add(spec.title, lineChart(table, spec));
	else if (spec.kind === "bar")
		add(spec.title, barChart(table, spec));
	else
		for (const [key, rows] of spec.by ? grouped(table, place(table, spec.by)) : [["", table.rows]])
			add(spec.title + (key ? ", " + key : ""), pieChart(rows, table, spec));
	return made;
}
