/* SPDX-License-Identifier: Apache-2.0 */
/* Which stage of the input a process waited for; see reducer/tables/input_stage.h. */
#include "reducer/tables/input_stage.h"

#include "reducer/model/rank.h"
#include "reducer/tables/step_cover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS_MOST 64u /* that are worth naming */
#define BUSY 0.5 /* of the time of the steps: workers that work less wait themselves */

/* Own time in the slow calls of which the node was the bottleneck, and that began in one of the steps. */
static uint64_t waited_in(const struct step_cover *steps, const struct pipeline_node *node)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < node->wait_count; i++)
		sum += step_cover_has(steps, node->waits[i].start_ns) ? node->waits[i].ns : 0;
	return sum;
}

/*
 * The bottleneck of the host pipelines in the steps that are judged: what was slow elsewhere (in an evaluation, before the loop, while
 * the first step filled buffers) is not what they waited for. Where it was in none of them, that of all slow calls.
 */
static const struct pipeline_node *worst(const struct input_view *view, const struct step_rows *rows)
{
	const struct pipelines *all = view->pipelines;
	const struct pipeline_node *found = NULL;
	struct step_cover steps = {0};
	uint64_t most = 0;

	for (size_t i = view->first; i < view->end; i++)
		if (step_rows_judges(rows, i))
			step_cover_add(&steps, rows->items[i]->unit.start_ns, (int64_t)rows->items[i]->total_ns);
	step_cover_unite(&steps);
	for (size_t i = 0; all && i < all->count; i++) {
		const struct pipeline_node *node = &all->nodes[i];
		uint64_t waited = node->is_device ? 0 : waited_in(&steps, node);
		if (node->is_device || !node->slow_ns ||
		    (found && (waited < most || (waited == most && node->slow_ns <= found->slow_ns))))
			continue;
		found = node;
		most = waited;
	}
	free(steps.items);
	return found;
}

static void find_iterator(struct input_view *view, const struct step_rows *rows)
{
	const struct pipeline_node *node = worst(view, rows);

	if (!node)
		return;
	text_string(&view->stage, node->name);
	view->stage_kind = input_bottleneck_kind(node->name);
	view->remedy = input_remedy(node->name, input_is_python(view->process, node->self_ns));
}

static void set(struct input_view *view, const char *stage, const char *kind, const char *remedy)
{
	text_string(&view->stage, stage);
	view->stage_kind = kind;
	view->remedy = remedy;
}

/*
 * How many workers make batches as fast as the rest of the steps takes them, if each works as fast as the batches of this run were
 * made: `made_ns` for all of them, by the time of the steps that was no waiting. 0 = not known.
 */
static uint64_t workers_wanted(const struct input_view *view, uint64_t made_ns)
{
	uint64_t rest = view->steps_ns > view->wait_ns ? view->steps_ns - view->wait_ns : 0;

	return rest ? (made_ns + rest - 1) / rest : 0;
}

/*
 * Says how many workers to try; where it has as many, what else slows them is the remedy. `where` that is stands first: a first screen
 * cuts what is long.
 */
static void advise_workers(struct input_view *view, uint64_t made_ns, const char *otherwise, const struct text *where)
{
	uint64_t wanted = workers_wanted(view, made_ns), cpus = process_cpus(view->process);
	bool has_workers = view->loading->has_workers;

	if (where->length)
		text_format(&view->advice, "%.*s ", (int)where->length - 1, where->bytes + 1);
	text_string(&view->advice,
		    has_workers ? "Give the loader more workers (num_workers" : "Let the loader work in processes of its own (num_workers");
	if (wanted > (has_workers ? view->workers_at_once : 0) && wanted <= WORKERS_MOST)
		text_format(&view->advice, "=%" PRIu64 "%s: so many would keep up with the rest of the steps, each as fast as %s now",
			    wanted, has_workers ? "" : ", persistent_workers=True", has_workers ? "they are" : "the loop's thread is");
	text_format(&view->advice, "), or %s", otherwise);
	if (wanted > WORKERS_MOST)
		text_format(&view->advice, " Even %u workers, each as fast as now, would not keep up with the rest of the steps.",
			    WORKERS_MOST);
	else if (cpus && wanted > cpus)
		text_format(&view->advice, " The machine has %" PRIu64 " processor%s: more workers than that help only where they wait.",
			    cpus, cpus == 1 ? "" : "s");
	if (view->is_iterable && !has_workers && wanted != 1)
		text_string(&view->advice, " Each worker goes through an IterableDataset: one that does not share its samples among them "
					   "(torch.utils.data.get_worker_info) gives each as often as there are workers.");
	view->remedy = view->advice.bytes;
}

/* What makes samples: reading, putting together, or the dataset's own code. Looks may know of more collating than names of ops. */
static void find_in_dataset(struct input_view *view, uint64_t all, uint64_t reads, uint64_t collate)
{
	uint64_t code = all > reads + collate ? all - reads - collate : 0;

	if (view->collate > 0.5) {
		set(view, "collate", "preprocessing", NULL);
		advise_workers(view, all,
			       "make what puts samples together (collate_fn) cheaper: have it work on whole batches, of one shape.",
			       &view->line);
	} else if (reads >= collate && reads >= code) {
		set(view, "reading files in the dataset", "reading", NULL);
		advise_workers(view, all, "read less, larger files, keep them in memory, or from faster storage.", &(struct text){0});
	} else if (collate >= code) {
		set(view, "collate", "preprocessing",
		    "Putting samples together takes the time: make samples of one shape, return whole batches from the dataset, or "
		    "give the loader a collate_fn of your own.");
	} else if (view->collate < 0 && !collate) {
		set(view, "dataset or collate_fn", "preprocessing", NULL);
		advise_workers(view, all, "make their code cheaper: do its work once, offline, or on batches.", &view->line);
	} else {
		set(view, "dataset (__getitem__ and transforms)", "preprocessing", NULL);
		advise_workers(view, all, "make the dataset's code cheaper: do its work once, offline, or on batches.", &view->line);
	}
}

/*
 * Whether most of the loader's time went to calls before which workers started, less the making of a batch in each, and to those in
 * which they ended. Of more than a few calls the first is left out, as its step is.
 */
static bool starts_most(const struct input_view *view)
{
	const struct loading_row *loading = view->loading;
	bool has_few = loading->counts[LOADING_LOADER] <= STEPS_FEW;
	uint64_t first = loading->ns[LOADING_FIRST], batch = view->batches ? view->busy_ns / view->batches : 0;
	uint64_t all = loading->ns[LOADING_LOADER] - (has_few ? 0 : first);
	uint64_t starts = loading->ns[LOADING_STARTS] + (has_few ? first : 0);
	uint64_t made = batch * (loading->counts[LOADING_STARTS] + has_few);

	return starts > made && (starts - made + loading->ns[LOADING_ENDS]) * 2 > all;
}

static void find_in_loader(struct input_view *view)
{
	const struct loading_row *loading = view->loading;

	if (view->sampler > 0.5) {
		set(view, "sampler", "preprocessing", NULL);
		text_string(&view->advice,
			    "Samples are chosen on the loop's own thread, however many workers there are: draw all indexes of an epoch at "
			    "once (torch.randperm, torch.multinomial), not one by one in Python.");
		text_put(&view->advice, view->sampler_line.bytes, view->sampler_line.length);
		view->remedy = view->advice.bytes;
	} else if (!loading->has_workers) {
		find_in_dataset(view, loading->ns[LOADING_LOADER], loading->ns[LOADING_LOADER_READS],
				loading->ns[LOADING_LOADER_COLLATE]);
	} else if (!view->workers && view->closed) {
		set(view, "worker processes (outside of their capture windows)", "unknown",
		    "Record the workers too: a window of steps opens where steps are taken, and workers take none. Without a window they "
		    "are recorded, and with time:FROM-TO, which each process counts from its own beginning.");
	} else if (!view->workers && process_is_foreign(view->process)) {
		set(view, "worker processes (not recorded)", "unknown",
		    "A file of another profiler holds the process that trains alone. Record the job with tfprof, which follows workers, or "
		    "time the dataset without the loop.");
	} else if (!view->workers && view->are_left_out) {
		set(view, "worker processes (left out here)", "unknown",
		    "--process, --rank or --host leave their logs out: without them it is told what they did.");
	} else if (!view->workers) {
		set(view, "worker processes (not recorded)", "unknown",
		    "Record the workers too: TFPROF_SKIP and TFPROF_ONLY must not leave them out, and all logs must be given.");
	} else if (starts_most(view)) {
		set(view, "start of worker processes", "start",
		    "Each start of workers costs their making, the first batch and waiting for their end: keep them from epoch to epoch "
		    "(persistent_workers=True), "
		    "start fewer, and let them inherit what they need (fork) instead of importing it anew (spawn, forkserver).");
	} else if (view->guessed && (double)view->busy_ns < BUSY * (double)view->alive_ns) {
		set(view, "worker processes (what they waited for was not seen)", "unknown",
		    "They used little of a processor: either their dataset waits (for a network, a lock, files read through mapped "
		    "memory), or they do, for the queue. Mark a part of the dataset (tfprof.range) to know.");
	} else if ((double)view->busy_ns < BUSY * (double)view->alive_ns) {
		set(view, "queue between workers and loop", "transfer",
		    "The workers wait as well: for processors (more workers than processors make it worse), or batches are slow "
		    "on "
		    "their way: try a higher prefetch_factor, fewer and larger tensors.");
	} else {
		find_in_dataset(view, view->busy_ns, view->worker_reads_ns, view->worker_collate_ns);
		text_format(&view->stage, " in %zu worker process%s", view->workers_at_once,
			    view->workers_at_once == 1 ? "" : "es");
	}
}

/* The stage, and what to do with the line of the script that it is in, where looks tell it. */
static void set_reads(struct input_view *view, const char *stage, const char *kind, const char *remedy)
{
	set(view, stage, kind, remedy);
	if (!view->line.length)
		return;
	text_string(&view->advice, remedy);
	text_put(&view->advice, view->line.bytes, view->line.length);
	view->remedy = view->advice.bytes;
}

/*
 * Most of it is read from pipes and local sockets: environments of an agent, workers of the program's own, do not keep up. Or over the
 * network, from which no larger pieces of a file come.
 */
static void find_in_reads(struct input_view *view)
{
	const uint64_t *ns = view->loading->ns;

	if (ns[LOADING_DEMAND_ANSWERS] * 2 > ns[LOADING_DEMAND_READS])
		set_reads(view, "other processes, by pipes or local sockets", "transfer",
			  view->has_looks
				  ? "The loop's thread waits for what they write (environments, workers of its own): make them faster "
				    "(python_time --process, processes), ask them early and compute meanwhile, or send more at once."
				  : "The loop's thread waits for what they write (environments, workers of its own): make them faster "
				    "(processes), ask them early and compute meanwhile, or send more at once.");
	else if (ns[LOADING_DEMAND_NETWORK] * 2 > ns[LOADING_DEMAND_READS])
		set_reads(view, "answers over the network (internet sockets)", "transfer",
			  "The loop's thread waits for a server: ask for the next batch on a thread of its own while this one computes, "
			  "for more at once, or keep what was fetched; io_stats has the time of an answer.");
	else
		set_reads(view, "reads of the thread that runs the steps", "reading",
			  "Read ahead on a thread or process of its own, read larger pieces, or keep the data in memory; io_stats "
			  "names the files.");
}

void input_find_stage(struct input_view *view, const struct step_rows *rows)
{
	if (view->is_untold) {
		set(view, "time that nothing was recorded of", "unknown",
		    "Mark where the loop takes its batch: a range called input around it (tfprof.range(\"input\")), or "
		    "tfprof.steps(loader), makes it certain.");
		return;
	}
	if (view->verdict == VERDICT_POSSIBLE) {
		set(view, "threads that read", "reading",
		    "Mark the wait: a range called input around where the loop takes its batch (tfprof.range(\"input\")) makes "
		    "it certain.");
		return;
	}
	if (view->verdict != VERDICT_HIGH && view->verdict != VERDICT_MODERATE)
		return;
	switch (view->source) {
	case SOURCE_TF_DATA:
		find_iterator(view, rows);
		break;
	case SOURCE_LOADER:
		find_in_loader(view);
		break;
	case SOURCE_RANGES:
		set(view, "what the program marks as input", "unknown",
		    view->has_looks ? "Look inside: ranges of its parts, io_stats, python_time."
				    : "Look inside: ranges of its parts, io_stats.");
		break;
	case SOURCE_READS:
		find_in_reads(view);
		break;
	default:
		set(view, "copies to the device", "transfer",
		    "Pin host memory, copy larger pieces, overlap copies with work: copy_stats.");
	}
}

/* Where no wait was recorded: because there was none, or because nothing tells of any. */
static void untold_sentence(const struct input_view *view, struct text *text)
{
	text_format(text,
		    "%s: nothing in this process tells of waits for input (no DataLoader, no tf.data, no range called input), and of "
		    "%.1f %% of the step time nothing was recorded",
		    view->is_untold ? "Possibly input bound" : "Not known to be input bound", 100 * input_other_share(view));
	if (view->is_untold)
		text_format(text, ", while the thread that runs the steps used %.0f %% of a processor",
			    100 * view->step_thread_cores);
	text_char(text, '.');
}

void input_sentence(const struct input_view *view, struct text *text)
{
	double share = 100 * input_share(view);

	switch (view->verdict) {
	case VERDICT_UNKNOWN:
		text_string(text, "Unknown: of the steps that are looked at none was recorded from start to end.");
		return;
	case VERDICT_NONE:
		if (view->source == SOURCE_NONE && input_other_share(view) >= INPUT_MODERATE)
			untold_sentence(view, text);
		else
			text_format(text, "Not input bound: steps waited %.1f %% of their time for input (below 5 %%).", share);
		return;
	case VERDICT_POSSIBLE:
		if (view->is_untold) {
			untold_sentence(view, text);
			return;
		}
		text_string(text,
			    "Possibly input bound: no wait was recorded, but other threads read much while the thread that runs "
			    "the steps rested.");
		return;
	case VERDICT_MODERATE:
		text_format(text, "Moderately input bound: steps waited %.1f %% of their time for input (5 to 20 %%)", share);
		break;
	case VERDICT_HIGH:
		text_format(text, "Highly input bound: steps waited %.1f %% of their time for input (20 %% and more)", share);
	}
	if (view->stage.length)
		text_format(text, ", above all for: %s.", view->stage.bytes);
	else
		text_char(text, '.');
}
