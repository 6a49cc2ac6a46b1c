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

// Nodes with their children, by pipeline; tf_data.pipelines names each one's bottleneck.
function nodesOf(table) {
	const pipelines = byId.get("tf_data.pipelines"), of = (from, row) => `${value(from, row, "process")}/${value(from, row, "pipeline")}`;
	const worst = new Map((pipelines ? pipelines.rows : []).map((row) => [of(pipelines, row), value(pipelines, row, "long_name")]));
	const nodes = table.rows.map((row) => ({ pipeline: of(table, row), id: value(table, row, "long_name"), parent: value(table, row, "parent"), name: value(table, row, "name") || "",
		total: value(table, row, "total_ns"), self: value(table, row, "self_ns"), calls: value(table, row, "calls"), parameters: value(table, row, "parameters"),
		isAsynchronous: value(table, row, "asynchronous") === "yes", isCritical: value(table, row, "critical") === "yes", children: [] }));
	const known = new Map(nodes.map((node) => [node.pipeline + "|" + node.id, node])), tops = [];
	for (const node of nodes) {
		const parent = known.get(node.pipeline + "|" + node.parent);
		node.isBottleneck = worst.get(node.pipeline) === node.id;
		if (parent && parent !== node)
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
	const lines = [shortened(node.name, 30), `self ${shown(node.self, "ns")}, total ${shown(node.total, "ns")}`, `${node.calls} calls${node.isAsynchronous ? ", on threads of its own" : ""}`];
	return svg("g", { class: "node" + (node.isCritical ? " critical" : "") + (node.isBottleneck ? " bottleneck" : ""), transform: `translate(${node.x},${node.y})` },
		svg("title", {}, `${node.id} (pipeline ${node.pipeline.split("/")[1]})` + (node.parameters ? "\n" + node.parameters.replaceAll(",", "\n") : "")), svg("rect", { width: BOX.width, height: BOX.height, rx: 6 }),
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
