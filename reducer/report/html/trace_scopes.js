// SPDX-License-Identifier: Apache-2.0
// Above the work of each stream: the ops, name scopes and ranges it was launched for, as spans from the first to the last
// of neighbours of one name. Rule: they follow from what the launches were made in, and say so; merged stretches part them.
"use strict";

const SCOPES_MOST = 12; // levels of a name like a/b/c

const FOLLOWS = {
	op: { title: "ops", levels: (op) => [op] },
	scope: { title: "name scopes", levels: (op) => op.split("/").slice(0, -1).slice(0, SCOPES_MOST) },
	range: { title: "ranges", levels: (range) => [range] },
};

function wordOf(words, name) {
	for (let k = 0; k + 1 < words.length; k += 2)
		if (words[k] === name)
			return words[k + 1];
	return null;
}

// For each item of a stream, how many steps of its process had begun when it was launched: neighbours of two steps are apart.
function stepOf(source, items, groups, track) {
	const process = track.row.process, own = groups.find((group) => group.tracks[0] && group.tracks[0].on !== "queue" && group.tracks[0].row.process === process);
	const steps = own && own.tracks.find((one) => one.on === "process" && !one.isCounter && source.names[one.row.name][0] === "step");
	const starts = steps ? Float64Array.from(steps.lanes.flatMap((lane) => [...lane.starts])).sort() : new Float64Array(), calls = new Map();
	for (const one of own && starts.length ? own.tracks.filter((other) => other.on === "thread") : [])
		for (const lane of one.lanes)
			for (const i of lane.ids)
				if (items.flow[i] && items.count[i] === 1)
					calls.set(items.flow[i], items.start[i]);
	return (i) => after(starts, calls.has(items.flow[i]) ? calls.get(items.flow[i]) : items.start[i]);
}

// Spans that follow from the items of a stream, one list a level: { name, start, end, busy, count }.
function following(source, items, track, kind, stepAt) {
	const ids = track.lanes.flatMap((lane) => [...lane.ids]).sort((a, b) => items.start[a] - items.start[b] || a - b);
	const known = source.details.map((words) => wordOf(words, kind === "range" ? "range" : "op"));
	const levels = [], open = [];
	let step = -1;
	for (const i of ids) {
		if (stepAt(i) !== step)
			open.length = 0;
		step = stepAt(i);
		const word = items.count[i] === 1 ? known[items.detail[i]] : null, names = word === null ? [] : FOLLOWS[kind].levels(word);
		for (let k = 0; k < Math.max(names.length, open.length); k++) {
			if (open[k] && open[k].name === names[k] && open.slice(0, k).every((one, m) => one && one.name === names[m])) {
				open[k].end = Math.max(open[k].end, items.end[i]);
				open[k].busy += items.busy[i];
				open[k].count++;
				continue;
			}
			open[k] = names[k] === undefined ? undefined : { name: names[k], start: items.start[i], end: items.end[i], busy: items.busy[i], count: 1 };
			if (open[k])
				(levels[k] ||= []).push(open[k]);
		}
	}
	return levels;
}

// Makes room for more items behind those of the file.
function extended(items, more) {
	const larger = {};
	for (const [field, array] of Object.entries(items)) {
		larger[field] = new array.constructor(array.length + more);
		larger[field].set(array);
	}
	return larger;
}

// Adds the tracks that follow from streams to their groups. Returns the items, theirs behind the others.
function addFollowing(source, items, groups) {
	const found = [], names = new Map(), details = new Map();
	for (const group of groups)
		for (const track of group.tracks.filter((one) => one.on === "queue")) {
			const stepAt = stepOf(source, items, groups, track);
			for (const kind of Object.keys(FOLLOWS)) {
				const levels = following(source, items, track, kind, stepAt);
				if (levels.length)
					found.push({ group, track, kind, levels });
			}
		}
	let at = items.start.length;
	const larger = extended(items, found.reduce((sum, one) => sum + one.levels.reduce((most, level) => most + level.length, 0), 0));
	const number = (map, list, key, value) => {
		if (!map.has(key))
			map.set(key, list.push(value) - 1);
		return map.get(key);
	};
	for (const { group, track, kind, levels } of found) {
		const made = { key: track.key + "/" + kind, title: `${FOLLOWS[kind].title} of ${track.title}`, on: "follows", row: track.row, group, lanes: [], isCounter: false };
		for (const level of levels) {
			const first = at;
			for (const one of level) {
				larger.start[at] = one.start;
				larger.end[at] = one.end;
				larger.busy[at] = larger.longest[at] = one.end - one.start;
				larger.count[at] = 1;
				larger.name[at] = number(names, source.names, kind + "/" + one.name, [kind === "range" ? "range" : "op", one.name]);
				larger.detail[at] = number(details, source.details, one.count + "/" + one.busy, ["follows from", `${one.count} pieces of device work, busy ${one.busy} ns`]);
				at++;
			}
			made.lanes.push(makeLane(larger, Array.from({ length: at - first }, (_, k) => first + k), false));
		}
		group.tracks.splice(group.tracks.indexOf(track), 0, made);
	}
	return larger;
}
