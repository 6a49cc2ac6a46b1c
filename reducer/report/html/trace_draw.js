// SPDX-License-Identifier: Apache-2.0
// Draws the time line: one line of pixels a lane, made from what is visible, copied to the lane's height.
// Rule: the work of a frame follows the pixels and lanes on the screen, never the number of items.
"use strict";

const LANE_PX = 16, COUNTER_PX = 38, HEAD_PX = 20, GAP_PX = 4, RULER_PX = 24;
const WIDE_PX = 2;        // narrower items share columns of pixels, as dense as they fill them
const LABEL_PX = 26;      // narrower items are drawn without their name
const LETTER_PX = 6.1;    // usual width of a letter of 11 px
const LABELS_MOST = 1500; // a frame
const FONT = "11px system-ui, sans-serif";
const HUES = { step: [210, 45], window: [0, 0], range: [265, 45], op: [205, 62], call: [38, 75], kernel: [140, 48], copy: [15, 72], set: [330, 45],
	graph: [175, 50], wait: [0, 55], python: [48, 70], io: [95, 45], collection: [350, 70], overhead: [0, 10], trace: [230, 45] };

function rgbOf(hue, saturation, lightness) {
	const a = saturation / 100 * Math.min(lightness / 100, 1 - lightness / 100);
	const part = (n) => {
		const k = (n + hue / 30) % 12;
		return Math.round(255 * (lightness / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
	};
	return [part(0), part(8), part(4)];
}

// A colour as a canvas keeps it in memory (little endian).
const packedColour = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
const splitColour = (c) => [c & 255, c >> 8 & 255, c >> 16 & 255];

function cssColour(name) {
	const probe = element("span", {});
	probe.style.color = `var(${name})`;
	document.body.append(probe);
	const found = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
	probe.remove();
	return found;
}

function nameHash(text) {
	let hash = 7;
	for (let i = 0; i < text.length; i++)
		hash = (hash * 31 + text.charCodeAt(i)) >>> 0;
	return hash;
}

// Colours of the names of one theme: a hue for each category, near ones for its names.
function makePalette(source) {
	const paper = cssColour("--paper"), dim = cssColour("--line");
	const byName = Uint32Array.from(source.names, ([category, name]) => {
		const [hue, saturation] = HUES[category] || [nameHash(category || "") % 360, 50], hash = nameHash(name || "");
		return packedColour(rgbOf((hue + hash % 25 - 12 + 360) % 360, saturation, 66 + (hash >> 5) % 14));
	});
	return { paper, byName, dim: packedColour(dim.map((part, i) => Math.round((part * 2 + paper[i]) / 3))), background: packedColour(paper),
		panel: packedColour(cssColour("--panel")), ink: cssColour("--ink"), faint: cssColour("--faint"), mark: cssColour("--mark"), line: dim };
}

const css = (rgb, alpha = 1) => `rgba(${rgb.join(",")},${alpha})`;

// The colour over the paper, as opaque as `share`.
function blended(colour, paper, share) {
	const [r, g, b] = splitColour(colour);
	const mix = (part, under) => Math.round(under + (part - under) * share);
	return packedColour([mix(r, paper[0]), mix(g, paper[1]), mix(b, paper[2])]);
}

// Where each track and lane stands, from the top; folded tracks keep their head.
function layOut(line, folded) {
	const rows = [];
	let top = 0;
	const put = (row, height) => {
		rows.push({ ...row, top, height });
		top += height;
	};
	for (const group of line.groups) {
		put({ kind: "group", group }, HEAD_PX);
		if (folded.has(group.key))
			continue;
		for (const track of group.tracks) {
			const lanes = folded.has(track.key) ? track.lanes.slice(0, 1) : track.lanes;
			lanes.forEach((lane, k) => put({ kind: "lane", track, lane, isFirst: k === 0 }, track.isCounter ? COUNTER_PX : LANE_PX));
			top += GAP_PX;
		}
	}
	return { rows, height: top };
}

// One line of pixels of a lane of spans; returns nothing, adds labels [x, width, item].
function drawSpans(view, lane, line, labels) {
	const { width, from, scale, palette, matches, items } = view, { starts, ends, ids, cumulated } = lane, n = ids.length;
	const colourOf = (i) => matches && !matches[items.name[i]] ? palette.dim : palette.byName[items.name[i]];
	const to = from + width / scale;
	let k = after(ends, from);
	if (k > 0 && ends[k - 1] === starts[k - 1] && starts[k - 1] >= from)
		k--; // an instant at the left edge
	while (k < n && starts[k] < to) {
		const left = (starts[k] - from) * scale, right = (ends[k] - from) * scale;
		if (right - left >= WIDE_PX) {
			const x0 = Math.max(0, Math.round(left)), x1 = Math.min(width, Math.max(Math.round(right), x0 + 1));
			const colour = items.count[ids[k]] > 1 ? blended(colourOf(ids[k]), palette.paper, 0.3 + 0.7 * Math.min(1, items.busy[ids[k]] / (ends[k] - starts[k]))) : colourOf(ids[k]);
			line.fill(colour, x0, x1);
			if (x1 - x0 > 3 && left >= 0)
				line[x0] = blended(colour, palette.paper, 0.55);
			if (x1 - x0 > LABEL_PX && labels.length < LABELS_MOST)
				labels.push([x0, x1 - x0, ids[k]]);
			k++;
			continue;
		}
		const x = Math.floor(left), next = from + (x + 1) / scale;
		let stop = after(starts, next, k + 1);
		if (stop > k + 1 && (ends[stop - 1] - starts[stop - 1]) * scale >= WIDE_PX)
			stop--;
		if (x >= 0 && x < width) {
			let shown = k;
			if (matches)
				for (let m = k; m < stop && m < k + 64; m++)
					if (matches[items.name[ids[m]]])
						shown = m;
			const share = Math.min(1, 0.35 + (cumulated[stop] - cumulated[k]) * scale);
			line[x] = blended(colourOf(ids[shown]), palette.paper, share);
		}
		k = stop;
	}
}

// Heights of a counter's columns: its highest value inside each pixel; between values the last one holds, to the end of
// its process.
function counterHeights(view, lane) {
	const { width, from, scale, items } = view, heights = new Float64Array(width);
	let k = Math.max(0, after(lane.starts, from) - 1), held = 0;
	for (let x = 0; x < width; x++) {
		const until = from + (x + 1) / scale;
		let most = lane.starts[k] <= from + x / scale ? items.value[lane.ids[k]] : held;
		while (k + 1 < lane.ids.length && lane.starts[k + 1] < until)
			most = Math.max(most, items.value[lane.ids[++k]]);
		if (lane.end < from + x / scale && lane.starts[lane.starts.length - 1] < from + x / scale)
			break;
		if (lane.ids.length && lane.starts[k] < until) {
			held = items.value[lane.ids[k]];
			heights[x] = lane.most > 0 ? most / lane.most : 0;
		}
	}
	return heights;
}

function drawCounter(view, lane, pixels, top, height) {
	const heights = counterHeights(view, lane), colour = view.palette.byName[view.items.name[lane.ids[0]]] || view.palette.dim;
	for (let x = 0; x < view.width; x++) {
		const tall = Math.round(heights[x] * (height - 4));
		for (let y = height - tall; y < height; y++) {
			const at = top + y;
			if (at >= 0 && at < view.height)
				pixels[at * view.width + x] = colour;
		}
	}
}

function niceStep(ns) {
	const power = 10 ** Math.floor(Math.log10(ns));
	return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= ns) || 10 * power;
}

// A time with as many digits as tell neighbours `step` apart from each other.
function clock(ns, step) {
	const [unit, size] = step >= 1e8 ? ["s", 1e9] : step >= 1e5 ? ["ms", 1e6] : step >= 100 ? ["us", 1e3] : ["ns", 1];
	return (ns / size).toFixed(Math.min(6, Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9)))) + " " + unit;
}

function drawRuler(context, view) {
	const step = Math.max(1, niceStep(110 / view.scale));
	context.fillStyle = css(view.palette.ink);
	context.strokeStyle = css(view.palette.line, 0.7);
	context.textBaseline = "middle";
	context.beginPath();
	for (let t = Math.ceil(view.from / step) * step; t < view.from + view.width / view.scale; t += step) {
		const x = Math.round((t - view.from) * view.scale) + 0.5;
		context.moveTo(x, RULER_PX - 6);
		context.lineTo(x, view.height);
		if (x + 60 < view.width)
			context.fillText(clock(t, step), x + 3, RULER_PX / 2 - 1);
	}
	context.stroke();
}

function drawLabels(context, view, labels) {
	context.fillStyle = "#17202c"; // all fills of spans are light
	context.textBaseline = "middle";
	for (const [x, width, i, y] of labels) {
		const { items, source } = view, name = source.names[items.name[i]][1] || "", count = items.count[i];
		const text = count > 1 ? `${count} × ${name}` : source.names[items.name[i]][0] === "step" ? stepName(view, i) : name;
		const letters = Math.floor((width - 6) / LETTER_PX);
		context.fillText(text.length <= letters ? text : text.slice(0, Math.max(1, letters - 1)) + "…", x + 4, y, width - 5);
	}
}

// A step keeps its number where others keep their correlation id.
function stepName(view, i) {
	return "step " + (view.items.flow[i] - 1);
}

// The column of titles left of the picture.
function drawHeads(context, view) {
	context.fillStyle = css(view.palette.paper);
	context.fillRect(0, 0, view.gutter, view.height);
	context.textBaseline = "middle";
	for (const row of view.rows) {
		const y = row.top - view.scrollY + RULER_PX, isBold = row.kind === "group";
		if (y + row.height < RULER_PX || y > view.height || (!isBold && !row.isFirst))
			continue;
		const isFolded = view.folded.has(isBold ? row.group.key : row.track.key);
		const mark = isBold || row.track.lanes.length > 1 ? (isFolded ? "▸ " : "▾ ") : "";
		const title = isBold ? row.group.title : row.track.title;
		const room = isBold ? view.gutter + view.width : view.gutter - 6, letters = Math.floor(room / (isBold ? 7 : 5.9)) - mark.length;
		context.font = isBold ? "600 12px system-ui, sans-serif" : FONT;
		if (isBold) {
			context.fillStyle = css(splitColour(view.palette.panel));
			context.fillRect(0, Math.max(RULER_PX, y), view.gutter, row.height);
		}
		context.fillStyle = css(isBold ? view.palette.ink : view.palette.faint);
		const plain = title.length > letters ? title.replace(/ \(.*\)$/, "") : title; // what tells lanes apart stands before it
		context.fillText(mark + shortened(plain, letters), 4, y + Math.min(row.height, HEAD_PX) / 2 + (isBold ? 0 : -1));
		if (!isBold && row.track.isCounter)
			context.fillText("most " + shown(row.lane.most, counterUnit(title)), 12, y + 24);
	}
	context.fillStyle = css(view.palette.paper);
	context.fillRect(0, 0, view.gutter, RULER_PX);
}

function counterUnit(title) {
	return /memory|bytes/i.test(title) ? "bytes" : null;
}

// Marks over the picture: the chosen item, the chosen stretch, arrows.
function drawMarks(context, view) {
	const yOf = (i) => {
		const row = view.rowOf(i);
		return row ? row.top - view.scrollY + RULER_PX : null;
	};
	const xOf = (ns) => (ns - view.from) * view.scale;
	const clipped = (x) => Math.max(-8, Math.min(view.width + 8, x));
	context.strokeStyle = css(view.palette.mark);
	context.lineWidth = 2;
	for (const [from, to] of view.arrows) {
		const y0 = yOf(from), y1 = yOf(to);
		if (y0 === null || y1 === null)
			continue;
		const x0 = clipped(xOf(view.items.start[from])), x1 = clipped(xOf(view.items.start[to])), bend = Math.max(12, Math.abs(x1 - x0) / 3);
		context.lineWidth = 1.2;
		context.beginPath();
		context.moveTo(x0, y0 + LANE_PX / 2);
		context.bezierCurveTo(x0 + bend, y0 + LANE_PX / 2, x1 - bend, y1 + LANE_PX / 2, x1, y1 + LANE_PX / 2);
		context.moveTo(x1 - 6, y1 + LANE_PX / 2 - 4);
		context.lineTo(x1, y1 + LANE_PX / 2);
		context.lineTo(x1 - 6, y1 + LANE_PX / 2 + 4);
		context.stroke();
	}
	if (view.chosen >= 0 && yOf(view.chosen) !== null) {
		const x0 = clipped(xOf(view.items.start[view.chosen])), x1 = clipped(xOf(view.items.end[view.chosen]));
		context.lineWidth = 2;
		context.strokeRect(x0 - 1, yOf(view.chosen), Math.max(3, x1 - x0 + 2), LANE_PX - 2);
	}
	if (view.stretch) {
		const x0 = clipped(xOf(view.stretch.from)), x1 = clipped(xOf(view.stretch.to));
		context.fillStyle = css(view.palette.mark, 0.15);
		context.fillRect(x0, RULER_PX, x1 - x0, view.height);
	}
}

// Draws the view: { items, source, rows, rowOf, from, scale (pixels a ns), width, height, gutter, scrollY, palette, ... }.
function drawTimeline(context, view) {
	const { width, height, palette } = view, image = view.image;
	const pixels = new Uint32Array(image.data.buffer), line = new Uint32Array(width), labels = [];
	pixels.fill(palette.background);
	for (const row of view.rows) {
		const top = Math.round(row.top - view.scrollY + RULER_PX);
		if (top + row.height <= RULER_PX || top >= height)
			continue;
		if (row.kind === "group") {
			pixels.fill(palette.panel, Math.max(0, top) * width, Math.min(height, top + row.height) * width);
			continue;
		}
		if (row.track.isCounter) {
			drawCounter(view, row.lane, pixels, top, row.height);
			continue;
		}
		const before = labels.length;
		line.fill(palette.background);
		drawSpans(view, row.lane, line, labels);
		for (let y = Math.max(0, top); y < Math.min(height, top + row.height - 2); y++)
			pixels.set(line, y * width);
		for (let k = before; k < labels.length; k++)
			labels[k].push(top + LANE_PX / 2 - 1);
	}
	pixels.fill(palette.background, 0, RULER_PX * width);
	context.putImageData(image, view.gutter, 0);
	drawHeads(context, view);
	context.save();
	context.beginPath();
	context.rect(view.gutter, 0, width, height);
	context.clip();
	context.translate(view.gutter, 0);
	context.font = FONT;
	drawRuler(context, view);
	drawLabels(context, view, labels.filter((label) => label[3] > RULER_PX));
	drawMarks(context, view);
	context.restore();
}
