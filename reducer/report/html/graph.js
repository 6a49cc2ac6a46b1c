// SPDX-License-Identifier: Apache-2.0
// The graph of an input pipeline: a box a node of tf_data.nodes, the critical path bold, the bottleneck red.
// Rule: drawn from the table's rows alone; a node whose parent is not in the table stands at the top.
"use strict";

const BOX = { width: 230, height: 62, gapX: 24, gapY: 34 };
const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes, ...children) {
	const made = document.createElementNS(SVG, name);
	for (const [key, text] of Object.entries(attributes))
		made.setAttribute(key, text);
	made.append(...children);
	return made;
}

const isYes = (cellValue) => cellValue === 1 || cellValue === "1" || cellValue === "yes" || cellValue === true;

// Nodes with their children, by pipeline (process and host or device).
function nodesOf(table) {
	const at = (row, ...ids) => ids.map((id) => value(table, row, id)).find((one) => one !== null && one !== undefined);
	const nodes = table.rows.map((row) => ({ row, pipeline: `${at(row, "pid", "process") || ""}/${at(row, "pipeline") || ""}`, id: String(at(row, "node", "id") ?? ""),
		parent: String(at(row, "parent", "parent_node") ?? ""), name: String(at(row, "name", "iterator", "long_name") ?? ""), total: at(row, "total_ns"), self: at(row, "self_ns"),
		calls: at(row, "calls", "count"), isCritical: isYes(at(row, "is_critical", "critical_path", "critical", "on_critical_path")), isBottleneck: isYes(at(row, "is_bottleneck", "bottleneck")), children: [] }));
	const known = new Map(nodes.map((node) => [node.pipeline + "|" + node.id, node]));
	const tops = [];
	for (const node of nodes) {
		const parent = known.get(node.pipeline + "|" + node.parent);
		if (parent && parent !== node && node.parent !== "")
			parent.children.push(node);
		else
			tops.push(node);
	}
	return tops;
}

// Places boxes: each above its inputs, which stand side by side. Returns the width taken.
function placeBoxes(node, left, depth, all, seen) {
	if (seen.has(node))
		return 0;
	seen.add(node);
	let width = 0;
	for (const child of node.children)
		width += placeBoxes(child, left + width, depth + 1, all, seen);
	width = Math.max(width, BOX.width + BOX.gapX);
	node.x = left + (width - BOX.gapX - BOX.width) / 2;
	node.y = depth * (BOX.height + BOX.gapY);
	all.push(node);
	return width;
}

function box(node) {
	const lines = [node.name.length > 32 ? node.name.slice(0, 31) + "…" : node.name, `self ${shown(node.self ?? null, "ns")}, total ${shown(node.total ?? null, "ns")}`, node.calls === undefined ? "" : `${node.calls} calls`];
	return svg("g", { class: "node" + (node.isCritical ? " critical" : "") + (node.isBottleneck ? " bottleneck" : ""), transform: `translate(${node.x},${node.y})` },
		svg("title", {}, node.name), svg("rect", { width: BOX.width, height: BOX.height, rx: 6 }),
		...lines.map((line, i) => svg("text", { x: 10, y: 19 + i * 17 }, line)));
}

function arrow(node, child) {
	const x0 = child.x + BOX.width / 2, y0 = child.y, x1 = node.x + BOX.width / 2, y1 = node.y + BOX.height, middle = (y0 + y1) / 2;
	return svg("path", { class: "edge" + (node.isCritical && child.isCritical ? " critical" : ""), d: `M${x0},${y0}C${x0},${middle} ${x1},${middle} ${x1},${y1}` });
}

function graphOf(table) {
	const all = [], seen = new Set();
	let width = 0;
	for (const top of nodesOf(table))
		width += placeBoxes(top, width, 0, all, seen);
	const height = Math.max(...all.map((node) => node.y)) + BOX.height + 4;
	const picture = svg("svg", { id: "pipeline", role: "img", "aria-label": "graph of the input pipelines", width, height, viewBox: `-2 -2 ${width + 4} ${height + 4}` });
	for (const node of all)
		for (const child of node.children)
			if (child.x !== undefined)
				picture.append(arrow(node, child));
	picture.append(...all.map(box));
	return element("section", {}, element("h3", {}, "Input pipelines"),
		element("p", { class: "help" }, "Each box gives to the one above it. Bold: the critical path. Red: the bottleneck."), element("div", { class: "scroll" }, picture));
}
