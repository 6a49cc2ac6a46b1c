// SPDX-License-Identifier: Apache-2.0
// A flame graph of a table of call stacks: outermost function at the top, width = share of the chosen number; click to enter.
"use strict";

const ROW_PX = 17, LEAST_SHARE = 0.002; // narrower ones cannot be clicked

function treeOf(table, stack, weight) {
	const root = { name: "all", value: 0, children: new Map() };
	for (const row of table.rows) {
		const value = Number(row[weight] || 0);
		if (value <= 0 || row[stack] === null)
			continue;
		root.value += value;
		let at = root;
		for (let i = row[stack].length - 1; i >= 0; i--) {
			const name = run.frames[row[stack][i]].name;
			if (!at.children.has(name))
				at.children.set(name, { name, value: 0, children: new Map(), frame: run.frames[row[stack][i]] });
			at = at.children.get(name);
			at.value += value;
		}
	}
	return root;
}

function hue(name) {
	let hash = 0;
	for (const letter of name)
		hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
	return `hsl(${20 + hash % 40}, ${60 + hash % 25}%, ${68 + hash % 12}%)`;
}

function draw(box, top, unit, enter) {
	let depthMost = 0;
	const put = (node, left, width, depth) => {
		depthMost = Math.max(depthMost, depth);
		const button = element("button", { type: "button", onclick: () => enter(node),
			title: node.name + "\n" + shown(node.value, unit) + ", " + (100 * node.value / top.value).toFixed(1) + " %" +
				(node.frame && node.frame.file ? "\n" + node.frame.file + (node.frame.line ? ":" + node.frame.line : "") : "") }, node.name);
		button.style.left = 100 * left + "%";
		button.style.width = 100 * width + "%";
		button.style.top = depth * ROW_PX + "px";
		button.style.background = hue(node.name);
		box.append(button);
		let at = left;
		for (const child of [...node.children.values()].sort((a, b) => b.value - a.value)) {
			const share = width * child.value / node.value;
			if (share >= LEAST_SHARE)
				put(child, at, share, depth + 1);
			at += share;
		}
	};
	box.replaceChildren();
	if (top.value > 0)
		put(top, 0, 1, 0);
	box.style.height = (depthMost + 1) * ROW_PX + "px";
}

// `spec`: the unit of the numbers that may be the width, and which is first; without one bytes and counts, at the peak.
function flame(table, spec = {}) {
	const stack = table.columns.findIndex((column) => column.type === "stack");
	const weights = table.columns.map((column, i) => [column, i]).filter(([column, i]) => column.type === "integer" && (spec.unit ? column.unit === spec.unit : column.unit !== "ns") &&
		table.rows.some((row) => row[i] !== null));
	const choice = element("select", { "aria-label": "width of a frame" },
		...weights.map(([column, i]) => element("option", { value: String(i) }, column.header)));
	const graph = element("div", { class: "flame" });
	const paint = () => {
		const weight = Number(choice.value), root = treeOf(table, stack, weight);
		const enter = (node) => draw(graph, node, table.columns[weight].unit, (next) => enter(next === node ? root : next));
		enter(root);
	};
	const first = weights.find(([column]) => column.id.startsWith(spec.first || "peak")) || weights[0];
	if (first)
		choice.value = String(first[1]);
	choice.addEventListener("change", paint);
	return { box: element("section", {}, element("h3", {}, spec.title || "Call stacks"), element("div", { class: "tools" }, element("label", {}, "Width: ", choice)), element("div", { class: "flame-frame" }, graph)), start: paint };
}
