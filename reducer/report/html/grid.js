// SPDX-License-Identifier: Apache-2.0
// A table that sorts, filters, pages and exports itself, by DataTables.
"use strict";

function cell(value, column, isExact) {
	const made = element("td", { "data-value": exact(value, column) });
	if (column.type === "integer" || column.type === "real")
		made.className = "number";
	if (value === null)
		made.className += " unknown";
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
function definitions(table, isExact) {
	return table.columns.map((column, i) => ({
		targets: i,
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

function firstOrder(table, query) {
	const found = /^(\d+)([ad])$/.exec(query.get("order") || "");
	return found && Number(found[1]) < table.columns.length ? [[Number(found[1]), found[2] === "a" ? "asc" : "desc"]] : [];
}

function grid(table) {
	const { query } = address.read();
	const isExact = query.get("exact") === "1";
	const made = element("table", { id: "grid" }, head(table));
	const box = element("div", { class: "scroll" }, made);
	const tools = element("div", { class: "tools" });
	box.before(tools);
	const state = { box, tools };
	state.start = () => {
		const api = jQuery(made).DataTable({
			data: table.rows, columnDefs: definitions(table, isExact), order: firstOrder(table, query), deferRender: true,
			autoWidth: false, pageLength: 50, lengthMenu: [10, 50, 200, 1000], search: { search: query.get("search") || "" },
			paging: table.rows.length > 10, language: { search: "Filter", lengthMenu: "_MENU_ rows" },
		});
		api.on("search.dt", () => address.change("search", api.search()));
		api.on("order.dt", () => {
			const order = api.order()[0];
			address.change("order", order ? order[0] + order[1][0] : "");
		});
		state.api = api;
	};
	tools.append(
		element("button", { type: "button", onclick: () => save(table.id + ".csv", csv(table, state.api.rows({ search: "applied" }).data().toArray())) },
			"Save as CSV"),
		element("button", { type: "button", "aria-pressed": String(isExact), onclick: () => {
			address.change("exact", isExact ? "" : "1");
			show();
		} }, isExact ? "Round numbers" : "Exact numbers"));
	return state;
}
