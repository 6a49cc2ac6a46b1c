# SPDX-License-Identifier: Apache-2.0
"""Frames a second of the Trace page with a million spans, in a headless Chromium without a graphics card: page_frames.py REPORT

The run of the report is put behind itself until there are a million spans, then the view zooms from the whole of them to a
hundredth and back for five seconds. Prints "name value" lines. Runs under the distribution's Python, which has selenium.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
os.environ.setdefault("TMPDIR", tempfile.mkdtemp())
import browser  # noqa: E402

MILLION = 1_000_000
SCRIPT = """
const [wanted, done] = arguments;
(async () => {
	const line = await timeline(), view = trace.view, length = view.whole.to - view.whole.from;
	const lanes = line.tracks.flatMap((track) => track.lanes), times = Math.ceil(wanted / lanes.reduce((sum, lane) => sum + lane.ids.length, 0));
	let spans = 0;
	for (const lane of lanes) {
		const n = lane.ids.length, ids = new Uint32Array(n * times), starts = new Float64Array(n * times), ends = new Float64Array(n * times);
		const cumulated = new Float64Array(n * times + 1);
		for (let at = 0; at < n * times; at++) {
			const k = at % n, shift = Math.floor(at / n) * length;
			ids[at] = lane.ids[k];
			starts[at] = lane.starts[k] + shift;
			ends[at] = lane.ends[k] + shift;
			cumulated[at + 1] = cumulated[at] + lane.cumulated[k + 1] - lane.cumulated[k];
		}
		Object.assign(lane, { ids, starts, ends, cumulated });
		spans += n * times;
	}
	view.whole.to = view.whole.from + length * times;
	look(view, view.whole.from, view.whole.to);
	const begin = performance.now(), costs = [];
	await new Promise((over) => {
		const next = () => {
			zoom(view, costs.length % 120 < 60 ? 0.926 : 1 / 0.926);
			const before = performance.now();
			paint(view);
			costs.push(performance.now() - before);
			if (performance.now() - begin < 5000)
				requestAnimationFrame(next);
			else
				over();
		};
		next();
	});
	const seconds = (performance.now() - begin) / 1000;
	costs.sort((a, b) => a - b);
	done({ spans, frames_per_s: costs.length / seconds, frame_ms_median: costs[costs.length >> 1], frame_ms_p99: costs[Math.floor(costs.length * 0.99)] });
})().catch((error) => done({ error: String(error.stack) }));
"""


def main():
    driver = browser.start(1400, 1000, False)
    try:
        driver.set_script_timeout(120)
        driver.get("file://" + os.path.abspath(sys.argv[1]) + "#trace")
        while not driver.execute_script("return Boolean(trace.view && trace.view.scale)"):
            pass
        found = driver.execute_async_script(SCRIPT, MILLION)
    finally:
        driver.quit()
    if "error" in found:
        sys.exit(found["error"])
    for name, value in found.items():
        print(name, value)


main()
