// SPDX-License-Identifier: Apache-2.0
// The pages: those of sections.js, the time line, one for each table, the licences; which one is shown is the address.
"use strict";

const LICENCES = "licences", TABLES = "tables";
let started = []; // charts, tables and pictures of the page now shown

function link(name, text) {
	const { name: now } = address.read();
	const made = element("a", { href: "#" + encodeURIComponent(name) }, text);
	if ((now || OVERVIEW) === name)
		made.setAttribute("aria-current", "page");
	return made;
}

function navigation() {
	const nav = document.querySelector("nav"), { name: now } = address.read();
	const isOpen = byId.has(now), more = element("details", isOpen ? { open: "" } : {}, element("summary", {}, "All tables"));
	nav.replaceChildren(element("h1", {}, run.title || "tfprof"), ...SECTIONS.filter((section) => section.isThere()).map((section) => link(section.id, section.title)), more);
	for (const table of run.tables)
		more.append(link(table.id, table.id));
	nav.append(link(LICENCES, "Licences"));
}

function notes(table) {
	return table.notes.map((note) => element("p", { class: "note " + note.kind }, note.text));
}

function counted(table) {
	return table.row_count > table.rows.length ?
		[element("p", { class: "note" }, `${table.rows.length} of ${table.row_count} rows are in this file; tfprof-reduce -t ${table.id} -f csv prints all.`)] : [];
}

function columnHelp(table) {
	return element("details", {}, element("summary", {}, "What the columns mean"),
		element("dl", {}, ...table.columns.flatMap((column) => [element("dt", {}, column.header + " (" + column.id + ")"),
			element("dd", {}, column.help + (column.unit && column.unit !== "none" ? "; " + column.unit : ""))])));
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
	main.append(columnHelp(table));
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
	document.title = `tfprof: ${mainCommand()}`;
	if (run.problem)
		main.append(element("p", { class: "problem", role: "alert" }, run.problem, " ", link("losses-page", "What is missing")));
	const section = SECTIONS.find((one) => one.id === (name || OVERVIEW));
	if (byId.has(name))
		tablePage(main, byId.get(name));
	else if (name === LICENCES)
		licences(main);
	else
		(section && section.isThere() ? section : SECTIONS[0]).show(main);
	navigation();
	for (const part of started)
		part.chart = part.start();
	window.scrollTo(0, 0);
}

window.addEventListener("hashchange", show);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
show();
