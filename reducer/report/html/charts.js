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
	"python_time": { kind: "pie", label: "function", value: "time_own_ns", title: "Time by the program's own Python functions, with libraries" },
	"native_time": { kind: "pie", label: "function", value: "cpu_own_ns", title: "Processor time by native function, with the C library" },
	"python_stats": { kind: "pie", label: "function", value: "bytes_self", title: "Memory allocated by Python function" },
	"step_stats": { kind: "steps" },
	"overview.split": { kind: "pie", label: "category", value: "steady_ns", title: "Where the time of the steps went" },
	"input.steps": { kind: "bar", x: "step", y: "wait_ns", title: "Wait for input, by step" },
	"input.host": { kind: "pie", label: "stage", value: "total_ns", title: "Input work of the host" },
	"memory.sites": { kind: "flame", title: "Call stacks" },
	"python_stacks": { kind: "flame", unit: "ns", first: "step_ns", title: "Time by call stack of Python" },
	"native_stacks": { kind: "flame", unit: "ns", first: "step_cpu_ns", title: "Time by call stack of native code" },
};
const COLOURS = ["#0b62c4", "#e07b00", "#2a9d5c", "#b3318f", "#c9a800", "#5b6fd8", "#c0392b", "#16a3a3", "#7f8c3d", "#8a5a44", "#6b9bd1", "#a3c14a"];
const REST = "#8c96a3"; // colour of what is not named, or not known
const STEP_BARS = 400;
const SLICES = 12; // of a pie; the rest is one slice

function colour(i) {
	return COLOURS[i % COLOURS.length];
}

function ink() {
	return getComputedStyle(document.body).getPropertyValue("--ink").trim();
}

// `most`: the largest value; bytes get ticks at powers of two.
function axis(unit, title, most) {
	const step = unit === "bytes" && most > 0 ? { stepSize: 2 ** Math.ceil(Math.log2(most / 6)) } : unit === "ns" && most > 0 ? { stepSize: niceStep(most / 6) } : {};
	return { ticks: { color: ink(), callback: (value) => shown(value, unit), ...step }, title: { display: true, text: title, color: ink() },
		grid: { color: getComputedStyle(document.body).getPropertyValue("--line").trim() } };
}

// Long names keep both ends; that of a call of XLA's, an address, says nothing.
function shortened(whole, most) {
	const name = whole.length > most ? whole.replace(/^(XLA call: .+) \+0x[0-9a-f]+$/, "$1") : whole;
	return name.length <= most ? name : name.slice(0, Math.ceil(most / 2) - 1) + "…" + name.slice(-Math.floor(most / 2));
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
	const x = place(table, spec.x), y = place(table, spec.y), rows = table.bands ? table.bands.rows : table.rows;
	const most = Math.max(...rows.map((row) => Number(row[y] || 0)));
	return { type: "bar", data: { labels: rows.map((row) => table.bands ? "about " + Math.round(row[x]) : String(row[x])), datasets: [{ label: table.columns[y].header, data: rows.map((row) => row[y]), backgroundColor: colour(0) }] },
		options: { animation: false, maintainAspectRatio: false,
			scales: { x: { ...axis(null, table.columns[x].header), ticks: { color: ink(), autoSkip: true, maxRotation: 0 } }, y: { beginAtZero: true, ...axis(table.columns[y].unit, table.columns[y].header, most) } },
			plugins: { legend: { display: false }, tooltip: { callbacks: { label: (point) => shown(point.raw, table.columns[y].unit) } } } } };
}

function pieChart(rows, table, spec) {
	const label = place(table, spec.label), value = place(table, spec.value), sums = new Map();
	for (const row of rows)
		sums.set(String(row[label]), (sums.get(String(row[label])) || 0) + Number(row[value] || 0));
	const isRest = (entry) => Number(entry[0] === "other");
	const sorted = [...sums].filter((entry) => entry[1] > 0).sort((a, b) => isRest(a) - isRest(b) || b[1] - a[1]), kept = sorted.slice(0, SLICES);
	const rest = sorted.slice(SLICES).reduce((sum, entry) => sum + entry[1], 0);
	const others = sorted.length - SLICES + " others";
	if (rest > 0)
		kept.push([others, rest]);
	const all = kept.reduce((sum, entry) => sum + entry[1], 0);
	return { type: "doughnut", data: { labels: kept.map(([name]) => shortened(name, 30)), datasets: [{ data: kept.map((entry) => entry[1]), backgroundColor: kept.map((entry, i) => isRest(entry) || entry[0] === others ? REST : colour(i)), borderWidth: 1 }] },
		options: { animation: false, maintainAspectRatio: false, plugins: { legend: { position: window.innerWidth < 600 ? "bottom" : "right", labels: { color: ink(), boxWidth: 10, font: { size: 11 }, padding: 6 } },
			tooltip: { callbacks: { label: (point) => point.label + ": " + shown(point.raw, table.columns[value].unit) + ", " + (100 * point.raw / all).toFixed(1) + " %" } } } } };
}

// A picture to be started once it stands in the page.
function picture(title, config, more = []) {
	const canvas = element("canvas", { role: "img", "aria-label": title });
	return { box: element("section", {}, element("h3", {}, title), element("div", { class: "chart " + config.type }, canvas), ...more), start: () => new Chart(canvas, config) };
}

function pie(rows, table, spec) {
	return picture(spec.title, pieChart(rows, table, spec));
}

// What adds up rows says of how many, where not all are here.
function ofRows(table, made) {
	if (table.row_count > table.rows.length)
		made.box.append(element("p", { class: "note" }, `Of the ${table.rows.length} of ${table.row_count} rows that are in this file.`));
	return made;
}

// The pictures of a table, by CHARTS unless told.
function pictures(table, spec = CHARTS[table.id]) {
	if (!spec || table.rows.length === 0)
		return [];
	if (spec.kind === "flame")
		return table.rows.some((row) => row[place(table, "stack")] !== null) ? [ofRows(table, flame(table, spec))] : [];
	const wanted = [spec.x, spec.y, spec.label, spec.value].filter((id) => id !== undefined);
	if (wanted.some((id) => place(table, id) < 0))
		return [];
	if (spec.kind === "line")
		return [picture(spec.title, lineChart(table, spec))];
	if (spec.kind === "bar")
		return [picture(spec.title, barChart(table, spec))];
	if (spec.kind === "steps")
		return [stepChart(table)];
	return [...spec.by ? grouped(table, place(table, spec.by)) : [["", table.rows]]].map(([key, rows]) => ofRows(table, pie(rows, table, { ...spec, title: spec.title + (key ? ", " + key : "") })));
}

// What a step's time is split into, as overview.split says: { label, column, colour }. None = only the total is known.
function splitParts(table) {
	const split = byId.get("overview.split"), at = split ? place(split, "column") : -1;
	if (at < 0)
		return [];
	return split.rows.map((row, i) => ({ label: row[place(split, "category")], column: place(table, row[at] || ""), colour: colour(i) }))
		.filter((part) => part.column >= 0 && table.rows.some((row) => Number(row[part.column]) > 0));
}

// Whose step a row is: each process has a step 1.
function whose(table, row) {
	const [process, host, rank] = ["process", "host", "job_rank"].map((id) => place(table, id) < 0 ? null : row[place(table, id)]);
	return `process ${process}${host ? " of " + host : ""}${rank === null || rank === "" ? "" : ", rank " + rank}`;
}

// Steps in bars of neighbours where there are more than pixels: each bar is their mean, of one process alone.
function stepBars(table) {
	if (table.bands)
		return table.bands.rows.map((row) => [row]);
	const size = Math.ceil(table.rows.length / STEP_BARS), bars = [];
	for (const row of table.rows) {
		const last = bars[bars.length - 1];
		if (last && last.length < size && whose(table, last[0]) === whose(table, row))
			last.push(row);
		else
			bars.push([row]);
	}
	return bars;
}

const mean = (rows, i) => rows.reduce((sum, row) => sum + Number(row[i] || 0), 0) / rows.length;

// Where few steps are far longer than the others, the axis ends above the others: a bar that does not fit goes to its edge.
function topOf(sums) {
	const sorted = [...sums].sort((a, b) => a - b), usual = sorted[Math.floor(0.95 * (sorted.length - 1))], most = sorted[sorted.length - 1];
	return sums.length > 20 && most > 4 * usual && usual > 0 ? 1.5 * usual : most;
}

function stepChart(table) {
	const step = place(table, "step"), total = place(table, "total_ns"), bars = stepBars(table), split = splitParts(table);
	const parts = split.length ? split : [{ label: "step", column: total, colour: colour(0) }], size = table.bands ? table.bands.size : Math.max(...bars.map((rows) => rows.length));
	const labels = bars.map((rows) => table.bands ? "about " + Math.round(rows[0][step]) : rows.length > 1 ? `${rows[0][step]}–${rows[rows.length - 1][step]}` : String(rows[0][step]));
	const datasets = parts.map((part) => ({ label: part.label, data: bars.map((rows) => mean(rows, part.column)), backgroundColor: part.colour, stack: "time" }));
	const unknown = bars.map((rows) => split.length ? Math.max(0, mean(rows, total) - split.reduce((sum, part) => sum + mean(rows, part.column), 0)) : 0);
	if (unknown.some((ns, i) => ns > mean(bars[i], total) / 100))
		datasets.push({ label: "not recorded", data: unknown, backgroundColor: REST, stack: "time" });
	const sums = bars.map((rows) => split.length ? mean(rows, total) : parts.reduce((sum, part) => sum + mean(rows, part.column), 0)), isWhole = address.read().query.get("bars") === "whole";
	const most = Math.max(...sums), top = isWhole ? most : topOf(sums), higher = sums.filter((sum) => sum > top).length;
	const title = (split.length ? "Time of steps, by what it went into" : "Time of steps") + (size > 1 ? `, mean of ${size} neighbours` : "");
	const toggle = (word, text) => element("button", { type: "button", onclick: () => {
		address.change("bars", word);
		show();
	} }, text);
	const more = isWhole && topOf(sums) < most ? [toggle("", "Cut the longest bars")] :
		higher ? [element("span", { class: "note" }, `${higher === 1 ? "1 bar is" : higher + " bars are"} longer than the picture, up to ${shown(most, "ns")}. `), toggle("whole", "Show them whole")] : [];
	const owners = new Set(table.rows.map((row) => whose(table, row))).size, below = owners > 1 ? `step (${owners} processes, one after the other)` : "step";
	const of = (bar) => owners > 1 && !table.bands ? " of " + whose(table, bar[0]) : "";
	return picture(title, { type: "bar", data: { labels, datasets }, options: { animation: false, maintainAspectRatio: false, interaction: { mode: "index", intersect: false },
		datasets: { bar: { categoryPercentage: 1, barPercentage: bars.length > 80 ? 1 : 0.9 } },
		scales: { x: { stacked: true, ...axis(null, below), ticks: { color: ink(), autoSkip: true, maxRotation: 0 } }, y: { stacked: true, beginAtZero: true, max: top || undefined, ...axis("ns", "time", top) } },
		plugins: { legend: { display: datasets.length > 1, labels: { color: ink(), boxWidth: 12 } }, tooltip: { callbacks: {
			title: (points) => "step " + points[0].label + of(bars[points[0].dataIndex]), label: (point) => point.dataset.label + ": " + shown(point.raw, "ns"),
			footer: (points) => "total: " + shown(mean(bars[points[0].dataIndex], total), "ns") } } } } }, more);
}

// Colours as in the chart of steps.
function splitChart() {
	const table = byId.get("overview.split"), time = table ? place(table, "steady_ns") : -1;
	if (time < 0 || !table.rows.some((row) => row[time] > 0))
		return null;
	const colours = new Map(table.rows.map((row, i) => [String(row[place(table, "category")]), colour(i)]));
	const spec = { label: "category", value: "steady_ns", title: "Where the time of the steps went" }, config = pieChart(table.rows, table, spec);
	config.data.datasets[0].backgroundColor = config.data.labels.map((label) => colours.get(label) || colour(10));
	return picture(spec.title, config);
}

function sidePies(ids) {
	return ids.filter((id) => byId.has(id)).flatMap((id) => pictures(byId.get(id)));
}
