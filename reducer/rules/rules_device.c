/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about one device: launches, gaps, copies, placement, kernels that could be spared.
 *
 * Rule: see rules.h. The parts of a step do not overlap, so each of these speaks about time that no other one claims.
 */
#include "reducer/rules/rule.h"
#include "reducer/tables/rare_rows.h"
#include "reducer/tables/step_values.h"

#include <string.h>

#define DEVICELESS_FROM 5.0 /* percent of the time that is judged: the verdict has the same */

#define RARELY_ALL 0.9 /* of what few steps do, from which on the rest is no matter */
#define READS_PART 0.75 /* of the copies, from which on what they are is reads of a few bytes */
#define PINNED_PART 0.9 /* of the bytes, from which on the rest is no matter */

/* What goes to devices and back is of pinned memory, but for what does not count: results of a few bytes. */
static bool are_pinned(const struct rule_facts *facts)
{
	double all = facts_value(facts, FACT_in_bytes) + facts_value(facts, FACT_out_bytes);
	double pinned = facts_value(facts, FACT_in_pinned_bytes) + facts_value(facts, FACT_out_pinned_bytes);

	return all > 0 && pinned >= PINNED_PART * all;
}

/* Launches that are few and long because each is of a graph: its kernels are no launches of their own. */
static void say_graphs(const struct rule_facts *facts, struct finding *finding)
{
	text_format(&finding->title, " %.0f of %.0f kernels run in %.0f launches of CUDA graphs.",
		    facts_value(facts, FACT_graph_kernels), facts_value(facts, FACT_kernel_count),
		    facts_value(facts, FACT_graph_launches));
	text_string(&finding->remedy,
		    "Give each launch more work: a larger batch, a graph of the whole step instead of several small ones, and no "
		    "kernel beside it.");
	finding_prove(finding, facts, FACT_graph_kernels);
}

/* Most copies read a few bytes back: no memory of the host's makes these cheaper. */
static bool are_small_reads(const struct rule_facts *facts)
{
	double all = facts_value(facts, FACT_copies_in) + facts_value(facts, FACT_copies_out);

	return all > 0 && facts_value(facts, FACT_small_reads) >= READS_PART * all;
}

/* All calls that launch take less than half of that time: in the rest the host was in others that give a device work. */
static void blame_copies(const struct rule_facts *facts, struct finding *finding, double share)
{
	text_format(&finding->title,
		    "In %.1f %% of the %s time the device waits while the host is in calls that start work, most of it in copies and "
		    "sets: launches take at most %.1f %%.",
		    share, rule_unit_word(facts), rule_percent(facts_value(facts, FACT_launch_ns), facts_value(facts, FACT_whole_ns)));
	if (are_small_reads(facts)) {
		text_format(&finding->remedy,
			    "%.0f of %.0f copies read at most 64 bytes back, for which the host stops: read such values (.item(), loss, "
			    "metrics) every n steps, or decide on the device.",
			    facts_value(facts, FACT_small_reads), facts_value(facts, FACT_copies_in) + facts_value(facts, FACT_copies_out));
		finding_prove(finding, facts, FACT_small_reads);
	} else if (are_pinned(facts)) {
		text_string(&finding->remedy, "These copies are of pinned memory: launch them ahead of the step, and join small ones.");
	} else {
		text_string(&finding->remedy,
			    "Of pageable memory the host moves the bytes itself: copy from pinned memory (cudaMallocHost, "
			    "pin_memory=True) with cudaMemcpyAsync, ahead of the step, and join small copies.");
	}
	text_string(&finding->remedy, " -t api_stats tells which calls take the time.");
	finding_prove(finding, facts, FACT_launch_ns);
}

void rule_launch_bound(const struct rule_facts *facts, struct finding *finding)
{
	double share, small = facts_value(facts, FACT_small_kernels), count = facts_value(facts, FACT_kernel_count);

	if (!finding_needs(finding, facts_value(facts, FACT_launches) > 0, "no kernel launches were recorded") ||
	    !finding_needs(finding, rule_knows_waiting(facts), RULE_UNSEEN))
		return;
	share = rule_part(facts, finding, FACT_split_launch, "the host always launches ahead of the device");
	if (share < 0)
		return;
	finding_excuse(finding, rule_devices(facts) > 1 && facts_value(facts, FACT_shared_launch_threads) > 0,
		       "one thread launches for several devices: see shared_launch_thread");
	finding_grade(finding, LIMIT_launch_bound_high);
	if (2 * facts_value(facts, FACT_launch_ns) < facts_value(facts, FACT_split_launch)) {
		blame_copies(facts, finding, share);
		return;
	}
	text_format(&finding->title, "In %.1f %% of the %s time the device waits for launches; a launch takes the host %.1f us.",
		    share, rule_unit_word(facts), facts_value(facts, FACT_launch_ns) / facts_value(facts, FACT_launches) / 1e3);
	if (2 * facts_value(facts, FACT_graph_kernels) > count) {
		say_graphs(facts, finding);
		finding_prove(finding, facts, FACT_launch_ns);
		return;
	}
	if (small > 0 && count > 0)
		text_format(&finding->title, " %.0f of %.0f kernels are shorter than that (%.1f us).", small, count,
			    facts_value(facts, FACT_small_kernel_ns) / small / 1e3);
	text_string(&finding->remedy,
		    "Give each launch more work: a larger batch, fused ops (jit_compile, torch.compile), or a CUDA "
		    "graph that launches the whole step at once.");
	if (facts_known(facts, FACT_private_threads) && facts_value(facts, FACT_private_threads) == 0)
		text_string(&finding->remedy, RULE_PRIVATE_THREADS);
	finding_prove(finding, facts, FACT_launch_ns);
	finding_prove(finding, facts, FACT_launches);
	finding_prove(finding, facts, FACT_small_kernels);
}

/* What processes without devices do is no reason for which those of others wait: actors beside a learner. */
static void excuse_deviceless(const struct rule_facts *facts, struct finding *finding)
{
	finding_excuse(finding, facts_value(facts, FACT_deviceless_percent) > DEVICELESS_FROM,
		       "some of these steps are of processes that use no device, -t ranks has each process");
}

void rule_host_bound(const struct rule_facts *facts, struct finding *finding)
{
	double share;

	if (!finding_needs(finding, facts_value(facts, FACT_kernel_count) > 0, RULE_NO_GPU) ||
	    !finding_needs(finding, rule_knows_waiting(facts), RULE_UNSEEN))
		return;
	share = rule_part(facts, finding, FACT_split_host, "the host's work is moved off the path of the step");
	if (share < 0)
		return;
	excuse_deviceless(facts, finding);
	text_format(&finding->title,
		    "In %.1f %% of the %s time the device waits while the host works on something else than launching.", share,
		    rule_unit_word(facts));
	text_string(&finding->remedy,
		    "Give the device more work for each op of the host: a larger batch, compiled steps (torch.compile, jit), CUDA "
		    "graphs, fused optimizers. Move metrics, callbacks, logging and checkpoints out of the step, or do them every n "
		    "steps.");
}

void rule_output_bound(const struct rule_facts *facts, struct finding *finding)
{
	double share;

	if (!finding_needs(finding, facts_value(facts, FACT_kernel_count) > 0, RULE_NO_GPU))
		return;
	share = rule_part(facts, finding, FACT_split_output, "results are copied while the device computes, or stay there");
	if (share < 0)
		return;
	finding_grade(finding, LIMIT_output_bound_high);
	text_format(&finding->title, "%.1f %% of the %s time goes to copying results back to the host.", share,
		    rule_unit_word(facts));
	if (facts->facts[FACT_copies_out_top].label[0])
		text_format(&finding->title, " Most of it is for %s.", facts->facts[FACT_copies_out_top].label);
	text_string(&finding->remedy,
		    "Keep results on the device, reduce them there, or copy them asynchronously to pinned memory while "
		    "the next step runs.");
	finding_prove(finding, facts, FACT_copies_out_ns);
	finding_prove(finding, facts, FACT_copies_out);
}

void rule_small_reads(const struct rule_facts *facts, struct finding *finding)
{
	double waiting = facts_value(facts, FACT_split_host) + facts_value(facts, FACT_split_launch) +
			 facts_value(facts, FACT_split_output);
	double share = rule_percent(waiting, facts_value(facts, FACT_whole_ns));

	if (!finding_needs(finding, facts_known(facts, FACT_small_reads), RULE_NO_COPIES) ||
	    !finding_needs(finding, rule_knows_waiting(facts), RULE_UNSEEN) ||
	    !finding_needs(finding, facts_known(facts, FACT_steps) && facts_known(facts, FACT_split_host), RULE_NO_STEPS))
		return;
	finding_measure(finding, facts_value(facts, FACT_small_reads) / rule_steps(facts));
	finding_excuse(finding, share < finding_limit(finding, LIMIT_small_reads_waiting),
		       "the device hardly waits for the host");
	text_format(&finding->title, "Each step reads %.1f small values back from the device, and the host waits for each.",
		    finding->measured);
	text_string(&finding->remedy,
		    "Decide on the device, or read such values (loss, metrics, overflow flags of dynamic loss scaling) "
		    "every n steps; a fixed loss scale needs no flag.");
	finding_prove(finding, facts, FACT_small_reads);
	finding_gain(finding, facts, waiting / 2,
		     "half of the time in which the device waits for the host follows from these reads");
}

void rule_many_copies(const struct rule_facts *facts, struct finding *finding)
{
	double count = facts_value(facts, FACT_copies_in) + facts_value(facts, FACT_copies_out);
	double ns = facts_value(facts, FACT_copies_in_ns) + facts_value(facts, FACT_copies_out_ns);
	double share = rule_percent(ns, rule_device_time(facts));

	if (!finding_needs(finding, facts_known(facts, FACT_copies_in), RULE_NO_COPIES) ||
	    !finding_needs(finding, facts_known(facts, FACT_steps), RULE_NO_STEPS))
		return;
	finding_measure(finding, count / rule_steps(facts) / rule_devices_each(facts));
	finding_excuse(finding, share < finding_limit(finding, LIMIT_many_copies_share), "together they take little time");
	text_format(&finding->title, "Each step copies %.0f times between host and device, %.1f %% of its time.",
		    finding->measured, share);
	text_string(&finding->remedy,
		    "More than input and results crosses the bus: place the ops between these copies on the device, and "
		    "join small copies to one.");
	finding_prove(finding, facts, FACT_copies_in);
	finding_prove(finding, facts, FACT_copies_out);
	finding_prove(finding, facts, FACT_copies_in_ns);
	finding_gain(finding, facts, ns / rule_devices_each(facts) / 2,
		     "half of these copies are spared, and nothing hides them");
}

/* Is the time between what was recorded that of a loop which launches as fast as it can? */
static bool is_launching(const struct rule_facts *facts, const struct finding *finding)
{
	double share = rule_percent(facts_value(facts, FACT_split_launch), facts_value(facts, FACT_whole_ns));

	return share >= finding_limit(finding, LIMIT_launch_bound) && facts_value(facts, FACT_launches) > 0 &&
	       facts_value(facts, FACT_split_other) < facts_value(facts, FACT_launch_ns);
}

/*
 * Does the host wait so often in each step that the device runs dry behind each wait, until the next launch? Where these calls take less
 * than half of the time in question something else does.
 */
static bool waits_often(const struct rule_facts *facts, const struct finding *finding)
{
	return facts_value(facts, FACT_device_waits) >= finding_limit(finding, LIMIT_unexplained_idle_waits) * rule_steps(facts) &&
	       2 * facts_value(facts, FACT_device_wait_ns) >= facts_value(facts, FACT_split_other);
}

static void say_waits(const struct rule_facts *facts, struct finding *finding)
{
	text_format(&finding->title, " Each %s the host waits for it %.0f times, ", rule_unit_word(facts),
		    facts_value(facts, FACT_device_waits) / rule_steps(facts));
	step_time_put(&finding->title, facts_value(facts, FACT_device_wait_ns) / rule_steps(facts));
	text_string(&finding->title, " in all.");
	text_string(&finding->remedy,
		    "Behind such a wait the device may have nothing to do until the next launch: wait once, where a result is needed "
		    "(-t sync_stats), join what is launched between these waits to one kernel or a CUDA graph. ");
	finding_prove(finding, facts, FACT_device_waits);
	finding_prove(finding, facts, FACT_device_wait_ns);
}

void rule_unexplained_idle(const struct rule_facts *facts, struct finding *finding)
{
	double share;

	if (!finding_needs(finding, facts_value(facts, FACT_kernel_count) > 0, RULE_NO_GPU) ||
	    !finding_needs(finding, rule_knows_waiting(facts), RULE_UNSEEN))
		return;
	share = rule_part(facts, finding, FACT_split_other, "the device finds work in that time");
	if (share < 0)
		return;
	finding_excuse(finding, is_launching(facts, finding),
		       "these gaps lie between launches and are shorter than one: see launch_bound");
	excuse_deviceless(facts, finding);
	text_format(&finding->title, "In %.1f %% of the %s time nothing that was recorded keeps the device from working.", share,
		    rule_unit_word(facts));
	if (waits_often(facts, finding))
		say_waits(facts, finding);
	text_string(&finding->remedy,
		    "device_gaps has the longest of these gaps one by one, with what the host did, -f perfetto the time line: Python "
		    "between ops, locks and reads that tfprof did not see are the usual causes, and waits for a device that rests "
		    "(host functions in a stream, waiting after each small step). Keep several steps in flight.");
}

void rule_device_not_worth(const struct rule_facts *facts, struct finding *finding)
{
	double kernels = facts_value(facts, FACT_steady_kernel_ns), copies, launches;
	double busy = rule_percent(kernels, rule_device_time(facts));

	if (!finding_needs(finding, kernels > 0 && rule_has_kernels(facts), RULE_NO_KERNELS) ||
	    !finding_needs(finding, rule_knows_waiting(facts), RULE_UNSEEN) ||
	    !finding_needs(finding, facts_known(facts, FACT_steps), RULE_NO_STEPS))
		return;
	copies = facts_value(facts, FACT_copies_in_ns) + facts_value(facts, FACT_copies_out_ns);
	launches = facts_value(facts, FACT_launch_ns);
	/* Each alone is told by another rule and can be mended; both together say that there is too little to do. */
	finding_measure(finding, (copies < launches ? copies : launches) / kernels);
	finding_excuse(finding, busy > finding_limit(finding, LIMIT_device_not_worth_busy),
		       "the kernels take a good part of the step");
	text_format(&finding->title,
		    "Kernels take %.1f %% of the %s time; copies take %.1f times and launches %.1f times as long.", busy,
		    rule_unit_word(facts), copies / kernels, launches / kernels);
	text_string(&finding->remedy,
		    "The model is too small to be worth a device as it is: try it on the host, or make each step larger.");
	finding_prove(finding, facts, FACT_steady_kernel_ns);
	finding_prove(finding, facts, FACT_copies_in_ns);
	finding_prove(finding, facts, FACT_launch_ns);
}

void rule_small_batch(const struct rule_facts *facts, struct finding *finding)
{
	double partial = facts_value(facts, FACT_partial_grid_ns), memory = facts_value(facts, FACT_device_memory_percent);

	if (!finding_needs(finding, rule_has_kernels(facts), RULE_NO_KERNELS) ||
	    !finding_needs(finding, !facts_value(facts, FACT_device_memory_least), "records of device memory were lost") ||
	    !finding_needs(finding, facts_known(facts, FACT_partial_grid_ns) && facts_known(facts, FACT_device_memory_percent),
			   "the sizes of the device were not recorded"))
		return;
	finding_measure(finding, rule_percent(partial, facts_value(facts, FACT_kernel_ns)));
	finding_excuse(finding, memory >= finding_limit(finding, LIMIT_small_batch_memory), "the device's memory is well used");
	finding_excuse(finding, facts_value(facts, FACT_refused) > 0, "memory ran out");
	text_format(&finding->title,
		    "%.1f %% of the kernels' time is in grids that do not fill the device, and no more than %.1f %% of its "
		    "memory was in use.",
		    finding->measured, memory);
	text_string(&finding->remedy,
		    "Use a larger batch: each kernel then fills more of the device, and every fixed cost of a step is "
		    "shared by more samples.");
	finding_prove(finding, facts, FACT_partial_grid_ns);
	finding_prove(finding, facts, FACT_partial_grid_top);
	finding_prove(finding, facts, FACT_device_memory_percent);
	finding_gain(finding, facts, rule_compute_part(facts, finding->measured) / 2,
		     "a batch twice as large takes these kernels no longer");
}

void rule_garbage_collection(const struct rule_facts *facts, struct finding *finding)
{
	double whole = facts_value(facts, FACT_step_time_ns);
	const char *place = facts->facts[FACT_collecting_ns].label;

	if (!finding_needs(finding, whole > 0, "no steps were recorded") ||
	    !finding_needs(finding, facts_known(facts, FACT_collecting_percent), "no looks at Python code were taken in the steps"))
		return;
	finding_measure(finding, facts_value(facts, FACT_collecting_percent));
	text_format(&finding->title, "In %.1f %% of the step time Python's garbage collector ran.", finding->measured);
	if (place[0])
		text_format(&finding->title, " Most of that was in %s.", place);
	text_string(&finding->remedy,
		    "It looks through all objects that live, so it is dear where many stay: gc.freeze() once these are made, then rarer, "
		    "by gc.set_threshold() or gc.disable() and gc.collect() each so many steps; and no gc.collect() in each step. "
		    "tfprof.watch_gc() records each pause.");
	finding_prove(finding, facts, FACT_collecting_ns);
	finding_gain(finding, facts, finding->measured / 100 * whole, "it does not run within steps");
}

void rule_python_lock(const struct rule_facts *facts, struct finding *finding)
{
	double whole = facts_value(facts, FACT_step_time_ns);
	const char *place = facts->facts[FACT_python_lock_ns].label;

	if (!finding_needs(finding, whole > 0, "no steps were recorded") ||
	    !finding_needs(finding, facts_known(facts, FACT_python_lock_percent), "no looks at native code were taken in the steps"))
		return;
	finding_measure(finding, facts_value(facts, FACT_python_lock_percent));
	text_format(&finding->title, "In %.1f %% of the step time the thread of the steps waited for Python's lock (GIL).",
		    finding->measured);
	if (place[0])
		text_format(&finding->title, " Other threads were mostly in %s.", place);
	text_string(&finding->remedy,
		    "One thread runs Python code at a time: give the other threads' work to processes (num_workers, multiprocessing), or "
		    "to libraries that let go of the lock, do it between steps or less often; sys.setswitchinterval() says how long one "
		    "keeps it.");
	finding_prove(finding, facts, FACT_python_lock_ns);
	finding_gain(finding, facts, finding->measured / 100 * whole, "no other thread runs Python code meanwhile");
}

/* Nearly all of it is compiling, of which a rule of its own tells. */
static bool is_rarely_compiled(const struct rule_facts *facts, const struct finding *finding)
{
	const struct rule_fact *top = &facts->facts[FACT_rare_top];
	double compiling = rule_percent(facts_value(facts, FACT_split_compilation), facts_value(facts, FACT_whole_ns));

	return rare_is_compiling(top->label) && top->value >= RARELY_ALL * facts_value(facts, FACT_rare_ns) &&
	       compiling >= finding_limit(finding, LIMIT_compile_bound);
}

void rule_rare_work(const struct rule_facts *facts, struct finding *finding)
{
	double rare = facts_value(facts, FACT_rare_ns), whole = facts_value(facts, FACT_step_time_ns);
	const char *top = facts->facts[FACT_rare_top].label;
	bool may_wait = rare_may_wait(top);

	if (!finding_needs(finding, whole > 0, "no steps were recorded") ||
	    !finding_needs(finding, facts_known(facts, FACT_rare_ns), "nothing that has a name happens in few steps only"))
		return;
	finding_measure(finding, rule_percent(rare, whole));
	finding_excuse(finding, is_rarely_compiled(facts, finding), "it is compiling: compile_bound tells of it");
	text_format(&finding->title,
		    "%.1f %% of the step time goes to what only few steps do: %.0f that last%s at least twice as long as usual.",
		    finding->measured, facts_value(facts, FACT_rare_steps), facts_value(facts, FACT_rare_steps) == 1 ? "s" : "");
	if (top[0])
		text_format(&finding->title, " Above all: %.*s.", (int)base_without_address(top, strlen(top)), top);
	if (may_wait)
		text_string(&finding->remedy,
			    "Where this waits for work that the steps before it only dispatched the time is theirs, nothing is to gain. ");
	text_string(&finding->remedy,
		    "Evaluation, a checkpoint, logging, a new shape that is compiled or a wait (for a lock, a disk, a server) stands "
		    "inside of these steps (-t rare_work): do it less often, or beside them; the median step says more of training "
		    "than the mean.");
	finding_prove(finding, facts, FACT_rare_ns);
	finding_prove(finding, facts, FACT_rare_steps);
	finding_prove(finding, facts, FACT_rare_top);
	finding_gain(finding, facts, rare,
		     may_wait ? "it is not done in steps, or not at all, and is no wait for what other steps dispatched"
			      : "it is not done in steps, or not at all");
}

void rule_ops_on_host(const struct rule_facts *facts, struct finding *finding)
{
	double host = facts_value(facts, FACT_ops_host), device = facts_value(facts, FACT_ops_device);

	if (!finding_needs(finding, facts_value(facts, FACT_kernel_count) > 0, RULE_NO_GPU) ||
	    !finding_needs(finding, facts_known(facts, FACT_ops_host) && device > 0,
			   "no op of a framework that places ops ran on a device"))
		return;
	finding_measure(finding, rule_percent(host, host + device));
	text_format(&finding->title, "%.1f %% of the ops' executions run on the host.", finding->measured);
	text_string(&finding->remedy, "Place them on the device (tf.debugging.set_log_device_placement says where each op is; "
				      "tensor.to(device) before the loop), so that data need not cross the bus.");
	finding_prove(finding, facts, FACT_ops_host);
	finding_prove(finding, facts, FACT_ops_device);
}

/* Kernels of one class take too much of the kernels' time. */
static bool class_share(const struct rule_facts *facts, struct finding *finding, enum fact_id class_ns, enum fact_id top,
			double part, const char *assumption)
{
	double ns = facts_value(facts, class_ns);

	if (!finding_needs(finding, rule_has_kernels(facts), RULE_NO_KERNELS))
		return false;
	finding_measure(finding, rule_percent(ns, facts_value(facts, FACT_kernel_ns)));
	finding_prove(finding, facts, class_ns);
	finding_prove(finding, facts, top);
	finding_gain(finding, facts, rule_compute_part(facts, finding->measured) * part, assumption);
	return true;
}

void rule_layout_changes(const struct rule_facts *facts, struct finding *finding)
{
	if (!class_share(facts, finding, FACT_layout_ns, FACT_layout_top, 1, "no layout change is needed, and nothing hid them"))
		return;
	text_format(&finding->title, "%.1f %% of the kernels' time only changes the order of dimensions.", finding->measured);
	text_string(&finding->remedy,
		    "Keep tensors in the order that the kernels want: channels last (NHWC) for 16-bit convolutions on "
		    "tensor cores, channels first (NCHW) for 32-bit ones.");
}

void rule_split_batch_norm(const struct rule_facts *facts, struct finding *finding)
{
	if (!class_share(facts, finding, FACT_norm_part_ns, FACT_norm_part_top, 0.5, "the fused form takes half as long"))
		return;
	text_format(&finding->title, "%.1f %% of the kernels' time is in batch normalisation made of separate ops.",
		    finding->measured);
	text_string(&finding->remedy, "Use the fused form (fused=True, the framework's own BatchNorm layer).");
}

void rule_preprocessing_on_device(const struct rule_facts *facts, struct finding *finding)
{
	if (!class_share(facts, finding, FACT_image_ns, FACT_image_top, 1,
			 "the host does it beside the step, and nothing hid it"))
		return;
	text_format(&finding->title, "%.1f %% of the kernels' time decodes, resizes or augments images.", finding->measured);
	text_string(&finding->remedy,
		    "Keep the device for training where it is the bottleneck: place preprocessing in the input pipeline "
		    "on the host.");
}

void rule_old_libraries(const struct rule_facts *facts, struct finding *finding)
{
	if (!finding_needs(finding, facts_known(facts, FACT_old_libraries),
			   "the versions of driver and runtime were not recorded"))
		return;
	finding_measure(finding, facts_value(facts, FACT_old_libraries));
	text_string(&finding->title, "CUDA is newer than what the driver was made for, or cuDNN is older than release 8.");
	text_string(&finding->remedy,
		    "Use the releases that the framework was tested with: an old driver compiles code at start, and an old "
		    "cuDNN does not pad convolutions for tensor cores.");
	finding_prove(finding, facts, FACT_old_libraries);
}
