// SPDX-License-Identifier: Apache-2.0
// The run as the page holds it, and how values are shown. Cells are number, string, [frame, ...] or null (unknown).
"use strict";

const run = JSON.parse(document.getElementById("run").textContent);
const byId = new Map(run.tables.map((table) => [table.id, table]));

function place(table, id) {
	return table.columns.findIndex((column) => column.id === id);
}

// Steps of 1000 (time, counts) or 1024 (bytes); three or four digits.
function scaled(value, steps, base) {
	let at = 0, size = Math.abs(value);
	while (size >= base && at + 1 < steps.length) {
		size /= base;
		at++;
	}
	const digits = at === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2;
	return (value < 0 ? "-" : "") + size.toFixed(Number.isInteger(size) ? 0 : digits) + steps[at];
}

function shown(value, unit) {
	if (value === null)
		return "";
	const number = Number(value);
	switch (unit) {
	case "ns":
		return scaled(number, [" ns", " us", " ms", " s"], 1000);
	case "bytes":
		return scaled(number, [" B", " KiB", " MiB", " GiB", " TiB"], 1024);
	case "bytes/s":
		return scaled(number, [" B/s", " KiB/s", " MiB/s", " GiB/s", " TiB/s"], 1024);
	case "ratio":
		return (number > 0 && number < 1e-5 ? "<0.001" : String(Number((100 * number).toPrecision(3)))) + " %";
	case "mW":
		return scaled(number, [" mW", " W", " kW"], 1000);
	case "mJ":
		return scaled(number, [" mJ", " J", " kJ", " MJ"], 1000);
	case "MHz":
	case "C":
		return `${number} ${unit}`;
	default:
		return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);
	}
}

// A call stack in one line, outermost first, as -f folded prints it.
function folded(stack) {
	return stack.map((frame) => run.frames[frame].name).reverse().join(";");
}

// A number as "%.9g" of C has it: what -f csv prints.
function realText(value) {
	const [mantissa, power] = value.toExponential(8).split("e"), exponent = Number(power);
	const plain = (text) => text.includes(".") ? text.replace(/\.?0+$/, "") : text;
	if (value === 0 || (exponent >= -4 && exponent < 9))
		return plain(value.toFixed(Math.max(0, 8 - exponent)));
	return plain(mantissa) + "e" + (exponent < 0 ? "-" : "+") + String(Math.abs(exponent)).padStart(2, "0");
}

// What a csv file holds for the cell.
function exact(value, column) {
	if (value === null)
		return "";
	if (column.type === "real")
		return realText(Number(value));
	return column.type === "stack" ? folded(value) : String(value);
}

function csv(table, rows) {
	const field = (text) => /[",\n\r]|^ /.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
	const lines = [table.columns.map((column) => column.id).join(",")];
	for (const row of rows)
		lines.push(row.map((value, i) => field(exact(value, table.columns[i]))).join(","));
	return lines.join("\r\n") + "\r\n";
}

function element(name, attributes, ...children) {
	const made = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {})) {
		if (key === "class")
			made.className = value;
		else if (key.startsWith("on"))
			made.addEventListener(key.slice(2), value);
		else
			made.setAttribute(key, value);
	}
	made.append(...children);
	return made;
}

// The page's state is its address: #table?search=...&order=3d&exact=1
const address = {
	read() {
		const [name, query] = location.hash.slice(1).split("?");
		return { name: decodeURIComponent(name || ""), query: new URLSearchParams(query || "") };
	},
	change(key, value) {
		const { name, query } = address.read();
		if (value === "")
			query.delete(key);
		else
			query.set(key, value);
		const text = query.toString();
		history.replaceState(null, "", "#" + encodeURIComponent(name) + (text ? "?" + text : ""));
	},
};
