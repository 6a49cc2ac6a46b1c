// SPDX-License-Identifier: Apache-2.0
// What stands on the pages that answer a question: which tables, which pictures, in which order.
// Rule: a page shows tables of the run and adds no figure of its own but sums of their cells; without its tables it is absent.
"use strict";

const OVERVIEW = "overview-page";
const FIRST_ROWS = 8; // of a table on the overview
const FEW_ROWS = 6; // of advice there, and of processes above the curve of their memory

const has = (id) => byId.has(id) && byId.get(id).rows.length > 0;
const value = (table, row, id) => place(table, id) < 0 ? null : row[place(table, id)];

function put(main, picture) {
	main.append(picture.box);
	started.push(picture);
}

// A table of a page with several: heading, notes, tools.
function panel(main, id, more = {}) {
	const table = byId.get(id);
	if (!table)
		return null;
	main.append(element("h3", {}, link(id, more.title || table.title)), element("p", { class: "help" }, table.help));
	if (table.rows.length === 0) {
		main.append(...notes(table), element("p", { class: "note" }, "No rows."));
		return null;
	}
	const made = grid(table, id, { pageLength: 10, ...more });
	main.append(...counted(table), made.tools, made.box, ...notes(table), columnHelp(table));
	started.push(made);
	return made;
}

// What none of the rows has is left out.
function small(table, rows = table.rows.slice(0, FIRST_ROWS), ids = null) {
	const wanted = ids ? ids.map((id) => place(table, id)).filter((i) => i >= 0) : table.columns.map((_, i) => i);
	const columns = wanted.filter((i) => rows.some((row) => row[i] !== null && row[i] !== ""));
	const part = { columns: columns.map((i) => table.columns[i]) };
	return element("div", { class: "scroll digest" }, element("table", { class: wording(table.id) }, head(part), element("tbody", {}, ...rows.map((row) =>
		element("tr", {}, ...columns.map((i) => cell(row[i], table.columns[i], false)))))));
}

// The first rows of a table, and the way to all.
function digest(main, id, ids, title) {
	if (!has(id))
		return;
	const table = byId.get(id);
	main.append(element("h3", {}, link(id, title || table.title)), small(table, undefined, ids));
	if (table.row_count > FIRST_ROWS)
		main.append(element("p", { class: "note" }, link(id, `all ${table.row_count} rows`)));
}

function sentence(text, level) {
	return element("p", { class: "verdict " + (/^[a-z]+$/.test(level || "") ? level : "") }, text);
}

const runFact = (name) => has("run_env") ? ((env) => env.rows.filter((row) => value(env, row, "kind") === "run" && value(env, row, "name") === name)
	.map((row) => value(env, row, "value"))[0])(byId.get("run_env")) : null;

// The row of the process that the run is about; null = the page was not given it.
function mainProcess() {
	const table = byId.get("processes"), log = runFact("main process");
	return table ? table.rows.find((row) => value(table, row, "log") === log) || table.rows[0] : null;
}

const mainCommand = () => has("processes") ? ((table, row) => value(table, row, "arguments") || value(table, row, "command") || "")(
	byId.get("processes"), mainProcess()) : "";

// Which run this is: the command of its main process, when it began, how long it took, how that ended.
function whichRun(main) {
	if (!has("processes"))
		return;
	const table = byId.get("processes"), seconds = runFact("seconds"), started = runFact("started");
	const end = value(table, mainProcess(), "end") || "", ended = end === "still running" ? end : `ended: ${end}`;
	const words = [started ? started.replace("T", " ") : null, seconds ? `lasted ${seconds} s` : null,
		table.row_count > 1 ? `${table.row_count} processes, this one ${ended}` : ended];
	main.append(element("p", { class: "run" }, element("code", {}, mainCommand()), element("br"), words.filter(Boolean).join(", ")));
}

// The verdict first, then what takes time; what is in order folded behind one line.
function verdicts(main) {
	const table = byId.get("overview.verdict");
	if (!table || table.rows.length === 0)
		return;
	const box = element("section", { class: "verdicts" }), quiet = element("details", {});
	table.rows.forEach((row, i) => {
		const made = sentence(value(table, row, "sentence") || "", value(table, row, "level")), next = value(table, row, "next");
		if (byId.has(next))
			made.append(" ", link(next, "Look closer"));
		if (i === 0)
			made.classList.add("first");
		(i > 0 && value(table, row, "level") === "none" ? quiet : box).append(made);
	});
	if (quiet.children.length) {
		quiet.prepend(element("summary", {}, `In order: ${table.rows.filter((row, i) => i > 0 && value(table, row, "level") === "none")
			.map((row) => value(table, row, "area")).join(", ")}`));
		box.append(quiet);
	}
	const said = new Set(table.rows.map((row) => value(table, row, "sentence")));
	main.append(box, ...notes({ notes: table.notes.filter((note) => !said.has(note.text)) }));
}

// Memory that ran out, as the note of the processes and the calls that failed tell it.
function ranOut(main) {
	const told = (byId.get("processes") || { notes: [] }).notes.filter((note) => /^Out of memory|was killed by SIGKILL/.test(note.text));
	main.append(...told.map((note) => sentence(note.text)));
	digest(main, "memory.refused", ["time_ns", "process", "allocator", "requested_bytes", "call", "op_name", "function", "file", "line"]);
}

function recommendations(main) {
	const table = byId.get("recommendations");
	if (!table)
		return;
	main.append(element("h3", {}, link("recommendations", "What to do")));
	const list = element("ol", { class: "advice" });
	for (const row of table.rows.slice(0, FEW_ROWS)) {
		const gain = value(table, row, "gain_share");
		list.append(element("li", {}, element("b", {}, value(table, row, "finding") || value(table, row, "title") || ""), " ", value(table, row, "remedy") || "",
			...(gain === null ? [] : [element("span", { class: "gain" }, ` at most ${(100 * gain).toFixed(0)} % of the time of all steps`)])));
	}
	main.append(list);
	if (table.row_count > FEW_ROWS)
		main.append(element("p", { class: "note" }, link("recommendations", `all ${table.row_count} rows`)));
	main.append(...notes(table));
}

function facts(main, id, wanted) {
	const table = byId.get(id);
	if (!table)
		return;
	main.append(element("h3", {}, link(id, table.title)), small(table, table.rows.slice(0, wanted)));
	if (table.row_count > wanted)
		main.append(element("p", { class: "note" }, link(id, `all ${table.row_count} rows`)));
}

// Each --limit, as comparison.limits judges it.
function limits(main) {
	const table = byId.get("comparison.limits"), levels = { exceeded: "high", "cannot tell": "moderate", kept: "none" };
	for (const row of table ? table.rows : [])
		main.append(sentence(value(table, row, "reason") || "", levels[value(table, row, "outcome")]));
}

const isCompared = () => run.tables.some((table) => table.id.startsWith("comparison."));

// What differs first, then what was measured; what has no row is one line.
function comparisonPage(main) {
	main.append(element("h2", {}, "Comparison"));
	limits(main);
	for (const { id } of run.tables)
		if (id.startsWith("comparison.") && id !== "comparison.limits")
			panel(main, id);
}

function overview(main) {
	const charts = element("div", { class: "charts" });
	main.append(element("h2", {}, "Overview"));
	whichRun(main);
	limits(main);
	if (isCompared())
		main.append(element("p", { class: "note" }, "This run is the newer one of a ", link("comparison-page", "comparison"), "; the other pages are of it alone."));
	verdicts(main);
	ranOut(main);
	recommendations(main);
	if (has("step_stats"))
		put(main, stepChart(byId.get("step_stats")));
	for (const picture of [splitChart(), ...sidePies(["op_stats", "kernel_stats", "copy_stats"])].filter(Boolean))
		put(charts, picture);
	main.append(charts);
	digest(main, "overview.top_ops", ["rank", "side", "type", "name", "self_ns", "self_share", "cumulative_share", "occurrences"], "Ops that take most time");
	if (!has("overview.top_ops"))
		digest(main, "op_stats", ["rank", "side", "type", "name", "occurrences", "total_ns", "self_ns", "device_self_percent", "host_self_percent"]);
	digest(main, "kernel_stats", ["rank", "kernel_name", "op_name", "occurrences", "total_ns", "avg_ns", "share", "occupancy_percent"]);
	digest(main, "what_if", ["what", "name", "takes_ns", "step_ns", "half_step_ns", "half_saves", "none_step_ns", "none_saves"], "What if it took less time");
	digest(main, "processes", ["process", "command", "duration_ns", "peak_bytes", "live_bytes", "end"]);
	digest(main, "memory.summary", ["scope", "id", "allocator", "allocations", "live_bytes", "peak_bytes", "peak_time_ns"]);
	if (!has("op_stats"))
		digest(main, "native_time", ["function", "module", "cpu_percent", "cpu_own_ns", "cpu_total_ns", "wait_own_ns", "waits_in"]);
	if (!has("overview.verdict") && !has("op_stats") && !has("kernel_stats"))
		digest(main, "memory.sites");
	facts(main, "run_env", 12);
	main.append(element("h3", {}, link("losses-page", "What was lost")),
		...(has("losses") ? [small(byId.get("losses"))] : [element("p", { class: "note" }, byId.has("losses") ? "Nothing: every record is here." : "The table of losses was not asked for.")]));
}

// Where the time of code goes, of the steps or of the run: lines or functions, and stacks.
function codeTime(main, lines, stacks) {
	if (!has(lines))
		return;
	for (const picture of pictures(byId.get(stacks)))
		put(main, picture);
	for (const id of [lines, stacks])
		panel(main, id);
}

function pythonTime(main) {
	codeTime(main, "python_time", "python_stacks");
}

function nativePage(main) {
	main.append(element("h2", {}, "Host code"));
	codeTime(main, "native_time", "native_stacks");
}

function stepsPage(main) {
	main.append(element("h2", {}, "Steps"));
	if (has("step_stats"))
		put(main, stepChart(byId.get("step_stats")));
	const split = splitChart();
	if (split)
		put(main, split);
	for (const id of ["overview.steps", "overview.split"])
		panel(main, id);
	pythonTime(main);
	for (const id of [...(has("what_if") ? ["what_if", "critical_path"] : []), "overview.precision", "overview.flops", ...(has("slow_steps") ? ["slow_steps"] : []), "step_changes", "rare_work", ...(has("ranks") ? ["ranks"] : []), "threads_at_end", "step_stats"])
		panel(main, id, id === "step_stats" ? { pageLength: 50 } : {});
}

function inputPage(main) {
	main.append(element("h2", {}, "Input"));
	const verdict = byId.get("input.verdict");
	for (const row of verdict ? verdict.rows : [])
		main.append(sentence(value(verdict, row, "sentence") || "", value(verdict, row, "verdict")), element("p", {}, value(verdict, row, "remedy") || ""));
	if (has("tf_data.nodes"))
		main.append(graphOf(byId.get("tf_data.nodes")));
	const charts = element("div", { class: "charts" });
	for (const [id, spec] of [["input.steps", { kind: "bar", x: "step", y: "wait_ns", title: "Wait for input, by step" }],
		["input.host", { kind: "pie", label: "stage", value: "total_ns", title: "Input work of the host" }]])
		if (has(id))
			for (const picture of pictures(byId.get(id), spec))
				put(charts, picture);
	main.append(charts);
	for (const id of ["input.verdict", "input.host", "input.steps", "tf_data.pipelines", "tf_data.nodes", "input.ops", "io_stats"])
		panel(main, id);
}

// Four pies: op and type, host and device. Of overview.pie, which has all rows of op_stats whatever the file holds of that one.
function opPies(main, keep) {
	const table = byId.get("overview.pie"), charts = element("div", { class: "charts" });
	for (const side of ["host", "device"]) {
		const rows = table.rows.filter((row) => value(table, row, "side") === side && keep(value(table, row, "name")));
		if (rows.length === 0)
			charts.append(element("section", {}, element("h3", {}, "Self time on the " + side), element("p", { class: "note" }, `No ops of the ${side} are in the log.`)));
		for (const by of rows.length ? ["op", "type"] : [])
			put(charts, pie(rows.filter((row) => value(table, row, "by") === by), table, { label: "name", value: "self_ns", title: `Self time on the ${side}, by ${by}` }));
	}
	main.append(charts);
}

function opsPage(main) {
	const table = byId.get("op_stats"), withIdle = address.read().query.get("idle") !== "out";
	const isIdle = (name) => /^\(?idle\)?$/i.test(String(name)), keep = (name) => withIdle || !isIdle(name);
	main.append(element("h2", {}, "Ops"));
	if (table.rows.some((row) => isIdle(value(table, row, "name"))))
		main.append(element("div", { class: "tools" }, element("button", { type: "button", "aria-pressed": String(withIdle), onclick: () => {
			address.change("idle", withIdle ? "out" : "");
			show();
		} }, withIdle ? "Leave idle time out" : "Count idle time in")));
	else
		main.append(element("p", { class: "note" }, "Without the time in which the devices were idle; tfprof-reduce --idle=in --html counts it."));
	if (has("overview.pie"))
		opPies(main, keep);
	panel(main, "op_stats", { keep: (row) => keep(value(table, row, "name")), pageLength: 50 });
	if (!has("step_stats"))
		pythonTime(main);
	for (const id of ["overview.placement", "op_shapes", "range_stats", "python_stats", "compile_stats", "xla_ops"])
		if (has(id))
			panel(main, id);
}

// Kernels by the op they ran for: sums of kernel_stats.
function pairsTable() {
	const table = byId.get("kernel_stats"), sums = new Map(), at = (id) => place(table, id);
	for (const row of table.rows) {
		const key = JSON.stringify([row[at("op_name")], row[at("kernel_name")]]), sum = sums.get(key) || [row[at("op_name")], row[at("kernel_name")], 0, 0];
		sum[2] += Number(row[at("occurrences")] || 0);
		sum[3] += Number(row[at("total_ns")] || 0);
		sums.set(key, sum);
	}
	const pick = (id) => table.columns[at(id)];
	return { id: "op_kernels", title: "Kernels by op", help: "Rows of kernel_stats added up by op and kernel.", notes: [], row_count: sums.size,
		columns: ["op_name", "kernel_name", "occurrences", "total_ns"].map(pick), rows: [...sums.values()].sort((a, b) => b[3] - a[3]) };
}

function kernelsPage(main) {
	main.append(element("h2", {}, "Kernels"));
	const charts = element("div", { class: "charts" });
	for (const id of ["kernel_stats", "copy_stats", "library_calls"])
		if (has(id))
			for (const picture of pictures(byId.get(id)))
				put(charts, picture);
	main.append(charts);
	panel(main, "kernel_stats", { pageLength: 50 });
	if (has("kernel_stats")) {
		const table = pairsTable(), made = grid(table, table.id, { pageLength: 10 });
		main.append(element("h3", {}, table.title), element("p", { class: "help" }, table.help), made.tools, made.box);
		ofRows(byId.get("kernel_stats"), { box: main });
		started.push(made);
	}
	for (const id of ["copy_stats", "library_calls", "graph_stats", "sync_stats", "device_gaps", "stream_roles"])
		if (has(id))
			panel(main, id);
}

function lossesPage(main) {
	main.append(element("h2", {}, "Losses"));
	if (!has("losses"))
		main.append(element("p", { class: "note" }, "Nothing was lost or damaged: every record is in the tables."));
	panel(main, "losses");
	const missing = run.tables.flatMap((table) => table.notes.filter((note) => note.kind === "missing" || note.kind === "loss").map((note) => [table.id, note]));
	if (missing.length) {
		const list = element("dl", { class: "facts" });
		for (const [id, note] of missing)
			list.append(element("dt", {}, link(id, id)), element("dd", { class: "note " + note.kind }, note.text));
		main.append(element("h3", {}, "What the tables say of what they lack"), list);
	}
	for (const id of ["windows", "window_cost", "settings", "processes"])
		panel(main, id);
}

const SECTIONS = [
	{ id: OVERVIEW, title: "Overview", isThere: () => true, show: overview },
	{ id: "comparison-page", title: "Comparison", isThere: isCompared, show: comparisonPage },
	{ id: "steps-page", title: "Steps", isThere: () => has("step_stats"), show: stepsPage },
	{ id: "input-page", title: "Input", isThere: () => has("input.verdict") || has("io_stats") || has("tf_data.nodes"), show: inputPage },
	{ id: "ops-page", title: "Ops", isThere: () => has("op_stats"), show: opsPage },
	{ id: "native-page", title: "Host code", isThere: () => has("native_time"), show: nativePage },
	{ id: "kernels-page", title: "Kernels", isThere: () => has("kernel_stats") || has("copy_stats"), show: kernelsPage },
	{ id: "memory-page", title: "Memory", isThere: () => has("memory.summary"), show: memoryPage },
	{ id: TRACE, title: "Trace", isThere: () => Boolean(run.timeline), show: tracePage },
	{ id: "losses-page", title: "Losses", isThere: () => byId.has("losses"), show: lossesPage },
];
