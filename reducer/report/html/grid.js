// SPDX-License-Identifier: Apache-2.0
// A table that sorts, filters, pages and exports itself, by DataTables. Several may stand on one page: each keeps its state
// in the address under its own words.
"use strict";

const FACETS = new Set(["side", "scope", "allocator", "process", "pid", "device", "category", "kind", "stage", "area", "severity", "region", "by", "type"]);
const FACET_MOST = 16; // different values
const LONG_TEXT = 40; // characters
const WORDS = new Set(["losses", "recommendations", "rules", "rule_evidence", "overview.verdict", "input.verdict", "input.host", "tf_data.pipelines", "windows"]);
const DETAIL_FIRST = 3; // columns of this detail and above stand on the table's own page, elsewhere when asked for

// Tables whose cells are sentences: these are read whole, over several lines.
function wording(id) {
	return WORDS.has(id) ? "words" : "";
}

function cell(value, column, isExact) {
	const made = element("td", { "data-value": exact(value, column) });
	if (column.type === "integer" || column.type === "real")
		made.className = "number";
	if (value === null)
		made.className += " unknown";
	if (column.type === "text" && value !== null && String(value).length > LONG_TEXT)
		made.className += " long";
	made.textContent = isExact || column.type === "stack" || column.type === "text" ? exact(value, column) : shown(value, column.unit);
	if (value !== null)
		made.title = exact(value, column) + (column.unit && column.unit !== "none" ? " " + column.unit : "");
	return made;
}

function sortable(value) {
	return value === null ? -Infinity : typeof value === "number" ? value : Array.isArray(value) ? folded(value) : value;
}

function save(name, text) {
	const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
	document.body.append(link); // Firefox follows only links that stand in the page
	link.click();
	link.remove();
	setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Values as DataTables wants them: what to show, what to sort by, what to search in.
function definitions(table, isExact, hidden) {
	return table.columns.map((column, i) => ({
		targets: i,
		visible: !hidden.has(i),
		data: i,
		render(value, kind) {
			if (kind === "sort" || kind === "type")
				return sortable(value);
			if (kind === "filter")
				return exact(value, column) + " " + (column.unit ? shown(value, column.unit) : "");
			return "";
		},
		createdCell(td, value) {
			const made = cell(value, column, isExact);
			td.className = made.className;
			td.textContent = made.textContent;
			td.title = made.title;
			td.setAttribute("data-value", made.getAttribute("data-value"));
		},
	}));
}

function head(table) {
	return element("thead", {}, element("tr", {}, ...table.columns.map((column) => element("th", {
		scope: "col",
		title: column.help + (column.unit && column.unit !== "none" ? " (" + column.unit + ")" : ""),
		class: column.type === "integer" || column.type === "real" ? "number" : "",
	}, column.header))));
}

function firstOrder(table, text) {
	const found = /^(\d+)([ad])$/.exec(text || "");
	return found && Number(found[1]) < table.columns.length ? [[Number(found[1]), found[2] === "a" ? "asc" : "desc"]] : [];
}

// Choices of one value of a column with few of them. `kept`: a Map of column -> value, which they change.
function facets(table, kept, change) {
	return table.columns.flatMap((column, i) => {
		const values = FACETS.has(column.id) ? [...new Set(table.rows.map((row) => row[i]))].filter((value) => value !== null) : [];
		if (values.length < 2 || values.length > FACET_MOST)
			return [];
		const choice = element("select", { "aria-label": `only this ${column.header}` }, element("option", { value: "" }, "all"),
			...values.map((value) => element("option", { value: String(value) }, String(value))));
		choice.value = kept.get(i) || "";
		choice.addEventListener("change", () => change(i, choice.value));
		return [element("label", {}, column.header + " ", choice)];
	});
}

// `part`: "" for the one table of a page, else the words under which its state stands in the address. `more.keep`: a further
// test of rows. Returns { box, tools, start }; start once the box stands in the page.
function grid(table, part = "", more = {}) {
	const { query } = address.read(), word = (key) => part ? part + "." + key : key;
	const isExact = query.get(word("exact")) === "1", pageLength = more.pageLength || 50, isAll = !part || query.get(word("columns")) === "all";
	const places = (wanted) => table.columns.map((column, i) => wanted(column, i) ? i : -1).filter((i) => i >= 0);
	const details = new Set(places((column) => column.detail >= DETAIL_FIRST)), unused = places((column, i) => column.seldom && table.rows.every((row) => row[i] === null));
	const made = element("table", { id: part ? "grid-" + part : "grid", class: wording(table.id) }, head(table));
	const box = element("div", { class: "scroll" }, made), tools = element("div", { class: "tools" }), state = { box, tools };
	const kept = new Map(table.columns.map((column, i) => [i, query.get(word(column.id))]).filter(([, value]) => value));
	const rows = () => table.rows.filter((row) => [...kept].every(([i, value]) => String(row[i]) === value) && (!more.keep || more.keep(row)));
	box.before(tools);
	state.refresh = () => state.api.clear().rows.add(rows()).draw();
	state.start = () => {
		const api = jQuery(made).DataTable({
			data: rows(), columnDefs: definitions(table, isExact, new Set([...isAll ? [] : details, ...unused])), order: firstOrder(table, query.get(word("order"))), deferRender: true,
			autoWidth: false, pageLength, lengthMenu: [...new Set([10, pageLength, 200, 1000])].sort((a, b) => a - b), search: { search: query.get(word("search")) || "" },
			paging: table.rows.length > 10, language: { search: "Filter", lengthMenu: "_MENU_ rows", emptyTable: "no rows" },
		});
		api.on("search.dt", () => address.change(word("search"), api.search()));
		api.on("order.dt", () => {
			const order = api.order()[0];
			address.change(word("order"), order ? order[0] + order[1][0] : "");
		});
		made.querySelectorAll("thead th").forEach((th) => th.tabIndex = 0);
		state.api = api;
	};
	const repaint = (key, text) => {
		address.change(word(key), text);
		show();
	};
	tools.append(
		...facets(table, kept, (i, value) => {
			if (value)
				kept.set(i, value);
			else
				kept.delete(i);
			address.change(word(table.columns[i].id), value);
			state.refresh();
		}),
		element("button", { type: "button", class: "csv", onclick: () => save(table.id + ".csv", csv(table, state.api.rows({ search: "applied" }).data().toArray())) },
			"Save as CSV"),
		element("button", { type: "button", "aria-pressed": String(isExact), onclick: () => repaint("exact", isExact ? "" : "1") }, isExact ? "Round numbers" : "Exact numbers"),
		...part && details.size ? [element("button", { type: "button", "aria-pressed": String(isAll), onclick: () => repaint("columns", isAll ? "" : "all") }, isAll ? "Fewer columns" : `${details.size} more columns`)] : []);
	return state;
}
