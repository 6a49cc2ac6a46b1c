// SPDX-License-Identifier: Apache-2.0
// The pages: an overview, one for each table, the licences; which one is shown is the address.
"use strict";

const OVERVIEW = "overview-page", LICENCES = "licences";
const FIRST_ROWS = 8; // of a table on the overview
const ON_OVERVIEW = ["memory.summary", "step_stats", "op_stats", "kernel_stats", "copy_stats", "memory.sites"];
let started = []; // charts of the page now shown

function link(name, text) {
	const { name: now } = address.read();
	const made = element("a", { href: "#" + encodeURIComponent(name) }, text);
	if ((now || OVERVIEW) === name)
		made.setAttribute("aria-current", "page");
	return made;
}

function navigation() {
	const nav = document.querySelector("nav");
	nav.replaceChildren(element("h1", {}, run.title || "tfprof"), link(OVERVIEW, "Overview"), link(TRACE, "Trace"));
	let group = "";
	for (const table of run.tables) {
		const prefix = table.id.includes(".") ? table.id.split(".")[0] : "tables";
		if (prefix !== group)
			nav.append(element("h2", {}, prefix));
		group = prefix;
		nav.append(link(table.id, table.id.includes(".") ? table.id.slice(prefix.length + 1) : table.id));
	}
	nav.append(element("h2", {}, "about"), link(LICENCES, "Licences"));
}

function notes(table) {
	return table.notes.map((note) => element("p", { class: "note " + note.kind }, note.text));
}

function counted(table) {
	return table.row_count > table.rows.length ?
		[element("p", { class: "note" }, `${table.rows.length} of ${table.row_count} rows are in this file; tfprof-reduce -t ${table.id} -f csv prints all.`)] : [];
}

function small(table) {
	const body = element("tbody", {}, ...table.rows.slice(0, FIRST_ROWS).map((row) =>
		element("tr", {}, ...row.map((value, i) => cell(value, table.columns[i], false)))));
	return element("div", { class: "scroll" }, element("table", {}, head(table), body));
}

function overview(main) {
	const charts = element("div", { class: "charts" });
	main.append(element("h2", {}, "Overview"), charts);
	for (const table of run.tables) {
		if (table.id !== "memory.sites")
			for (const picture of pictures(table)) {
				charts.append(picture.box);
				started.push(picture);
			}
	}
	for (const id of ["run_env", "losses", ...ON_OVERVIEW]) {
		const table = byId.get(id);
		if (!table || table.rows.length === 0)
			continue;
		main.append(element("h3", {}, link(id, table.title)), small(table), ...notes(table));
		if (table.row_count > FIRST_ROWS)
			main.append(element("p", { class: "note" }, link(id, `all ${table.row_count} rows`)));
	}
}

function tablePage(main, table) {
	const made = grid(table);
	main.append(element("h2", {}, table.title), element("p", { class: "help" }, table.help), ...notes(table), ...counted(table));
	for (const picture of pictures(table)) {
		main.append(picture.box);
		started.push(picture);
	}
	main.append(made.tools, made.box);
	started.push(made);
	main.append(element("details", {}, element("summary", {}, "What the columns mean"),
		element("dl", {}, ...table.columns.flatMap((column) => [element("dt", {}, column.header + " (" + column.id + ")"),
			element("dd", {}, column.help + (column.unit && column.unit !== "none" ? "; " + column.unit : ""))]))));
}

function licences(main) {
	main.append(element("h2", {}, "Licences"), element("p", {}, "This file contains Chart.js, jQuery and DataTables."),
		element("pre", {}, document.getElementById("notices").textContent));
}

function show() {
	const { name } = address.read(), main = document.querySelector("main");
	for (const old of started)
		if (old.chart)
			old.chart.destroy();
	started = [];
	main.replaceChildren();
	if (run.problem)
		main.append(element("p", { class: "problem", role: "alert" }, run.problem));
	if (byId.has(name))
		tablePage(main, byId.get(name));
	else if (name === TRACE)
		tracePage(main);
	else if (name === LICENCES)
		licences(main);
	else
		overview(main);
	navigation();
	for (const part of started)
		part.chart = part.start();
	window.scrollTo(0, 0);
}

window.addEventListener("hashchange", show);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
show();
