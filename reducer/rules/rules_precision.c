/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about number formats and compilers, and what tells that these are wrong: a peak that is hardly used.
 *
 * Rule: see rules.h.
 */
#include "reducer/rules/rule.h"

#include <string.h>

/* https://www.tensorflow.org/guide/gpu_performance_analysis: up to 3 times as fast on Volta and newer */
#define TENSOR_CORE_SPEED 3.0

/* Whose versions are most: a function that TensorFlow traced, or a region that torch.compile compiled. */
static enum fact_id most_versions(const struct rule_facts *facts)
{
	return facts_value(facts, FACT_compiled_versions) > facts_value(facts, FACT_traced_versions) ? FACT_compiled_versions
												   : FACT_traced_versions;
}

static const char *versions_remedy(const struct rule_facts *facts)
{
	return most_versions(facts) == FACT_compiled_versions
		       ? "Give tensors fixed shapes (pad) or say that they change (dynamic=True, mark_dynamic), and pass changing numbers "
			 "as tensors; TORCH_LOGS=recompiles says what was not the same. Beyond recompile_limit versions (8 by default) it "
			 "runs eagerly."
		       : "Each trace costs as much as many steps: give it tensors rather than Python numbers, fix its shapes "
			 "(input_signature, reduce_retracing=True), and make the function outside of loops.";
}

/* One finding is enough where many versions of one function are what is compiled. */
static bool has_versions(const struct rule_facts *facts, const struct finding *finding)
{
	return facts_value(facts, most_versions(facts)) >= finding_limit(finding, LIMIT_retraced_function);
}

void rule_compile_bound(const struct rule_facts *facts, struct finding *finding)
{
	double share = rule_part(facts, finding, FACT_split_compilation, "everything is compiled before the first step");

	if (share < 0)
		return;
	text_format(&finding->title, "%.1f %% of the %s time goes to compiling", share, rule_unit_word(facts));
	if (has_versions(facts, finding)) {
		enum fact_id most = most_versions(facts);
		text_format(&finding->title, "; of %s there are %.0f versions in all.", facts->facts[most].label, facts_value(facts, most));
		text_string(&finding->remedy, versions_remedy(facts));
		finding_prove(finding, facts, most);
	} else {
		text_char(&finding->title, '.');
		text_string(&finding->remedy,
			    "Compile once: give tensors fixed shapes (pad, drop the last batch), pass changing numbers as tensors, "
			    "and keep the compilation cache.");
	}
	finding_prove(finding, facts, FACT_compile_events);
}

void rule_retraced_function(const struct rule_facts *facts, struct finding *finding)
{
	enum fact_id id = most_versions(facts);
	const struct rule_fact *most = &facts->facts[id], *longest = &facts->facts[FACT_traced_ns];
	bool is_timed = id == FACT_traced_versions && longest->is_known && longest->value > 0 &&
			strcmp(longest->label, most->label) == 0;
	double compiling = rule_percent(facts_value(facts, FACT_split_compilation), facts_value(facts, FACT_whole_ns));

	if (!finding_needs(finding, most->is_known, "no traced or compiled functions were recorded"))
		return;
	finding_measure(finding, most->value);
	finding_excuse(finding, compiling >= finding_limit(finding, LIMIT_compile_bound), "compile_bound tells of it");
	text_format(&finding->title,
		    id == FACT_compiled_versions ? "torch.compile compiled %.0f versions of %s"
						 : "%.0f versions of the function %s were traced",
		    most->value, most->label);
	if (is_timed)
		text_format(&finding->title, ", which took %.3f s", longest->value / 1e9);
	text_char(&finding->title, '.');
	text_string(&finding->remedy, versions_remedy(facts));
	finding_prove(finding, facts, id);
	if (is_timed)
		finding_prove(finding, facts, FACT_traced_ns);
}

void rule_single_precision(const struct rule_facts *facts, struct finding *finding)
{
	double ns = facts_value(facts, FACT_wide_product_ns);
	double compute = facts_known(facts, FACT_split_compute)
				 ? rule_percent(facts_value(facts, FACT_split_compute), facts_value(facts, FACT_whole_ns))
				 : 100;

	if (!finding_needs(finding, rule_has_kernels(facts), RULE_NO_KERNELS) ||
	    !finding_needs(finding, facts_known(facts, FACT_wide_product_ns), "no device with tensor cores was used"))
		return;
	finding_measure(finding, rule_percent(ns, facts_value(facts, FACT_kernel_ns)));
	finding_excuse(finding, compute < finding_limit(finding, LIMIT_single_precision_compute),
		       "little of the step is compute");
	text_format(&finding->title, "%.1f %% of the kernels' time is in 32-bit products that tensor cores could do.",
		    finding->measured);
	text_string(&finding->remedy,
		    "Use 16-bit types for them (mixed_float16, autocast), or at least let 32-bit products use TF32.");
	finding_prove(finding, facts, FACT_wide_product_ns);
	finding_prove(finding, facts, FACT_kernel_ns);
	finding_gain(finding, facts, rule_compute_part(facts, finding->measured) * (1 - 1 / TENSOR_CORE_SPEED),
		     "these kernels become three times as fast, the most that the guide promises");
}

void rule_missed_tensor_cores(const struct rule_facts *facts, struct finding *finding)
{
	double ns = facts_value(facts, FACT_narrow_missed_ns);

	if (!finding_needs(finding, rule_has_kernels(facts), RULE_NO_KERNELS) ||
	    !finding_needs(finding, facts_known(facts, FACT_narrow_missed_ns), "no device with tensor cores was used"))
		return;
	finding_measure(finding, rule_percent(ns, facts_value(facts, FACT_kernel_ns)));
	text_format(&finding->title, "%.1f %% of the kernels' time is in 16- or 8-bit products that do without tensor cores.",
		    finding->measured);
	text_string(&finding->remedy,
		    "The library fell back to a slower kernel: see -t library_calls for the sizes, make them multiples of "
		    "8 (8-bit: of 16), align the data to 16 bytes, and give it room for a workspace.");
	finding_prove(finding, facts, FACT_narrow_missed_ns);
	finding_gain(finding, facts, rule_compute_part(facts, finding->measured) * (1 - 1 / TENSOR_CORE_SPEED),
		     "these kernels become three times as fast, the most that the guide promises");
}

void rule_odd_shapes(const struct rule_facts *facts, struct finding *finding)
{
	double ns = facts_value(facts, FACT_odd_shape_ns);

	if (!finding_needs(finding, rule_has_kernels(facts), RULE_NO_KERNELS) ||
	    !finding_needs(finding, facts_known(facts, FACT_odd_shape_ns), "no calls of cuBLAS with their sizes were recorded"))
		return;
	finding_measure(finding, rule_percent(ns, facts_value(facts, FACT_kernel_ns)));
	text_format(&finding->title,
		    "%.1f %% of the kernels' time is in 16- or 8-bit products with sizes that tensor cores do not like: %s.",
		    finding->measured, facts->facts[FACT_odd_shape_ns].label);
	text_string(&finding->remedy,
		    "Pad these dimensions (batch, features, vocabulary) to multiples of 8, of 16 for 8-bit types.");
	finding_prove(finding, facts, FACT_odd_shape_ns);
	finding_gain(finding, facts, rule_compute_part(facts, finding->measured) / 2, "padded products take half as long");
}

void rule_low_flops(const struct rule_facts *facts, struct finding *finding)
{
	double compute = rule_percent(facts_value(facts, FACT_split_compute), facts_value(facts, FACT_whole_ns));
	double known = facts_value(facts, FACT_peak_known_percent);
	double plain = rule_percent(facts_value(facts, FACT_no_product_ns), facts_value(facts, FACT_kernel_ns));

	if (!finding_needs(finding, rule_has_kernels(facts), RULE_NO_KERNELS) ||
	    !finding_needs(finding, facts_known(facts, FACT_peak_unused_percent),
			   "the arithmetic of the steps or the peak of the devices is not known (overview.flops says why)") ||
	    !finding_needs(finding, known >= finding_limit(finding, LIMIT_low_flops_known),
			   "of too much of the kernels' time the arithmetic is not known (--ops=shapes records the inputs of ops)"))
		return;
	finding_measure(finding, facts_value(facts, FACT_peak_unused_percent));
	finding_excuse(finding, compute < finding_limit(finding, LIMIT_low_flops_compute), "little of the step is compute");
	text_format(&finding->title,
		    "Devices compute for %.0f %% of the %s time, but at %.1f %% of their peak. Most is lost on %s.", compute,
		    rule_unit_word(facts), 100 - finding->measured, facts->facts[FACT_peak_lost_ns].label);
	if (plain >= 50)
		text_string(&finding->remedy,
			    "Most kernels only move memory: let a compiler fuse them (torch.compile, jit_compile=True), take fused "
			    "optimizers, norms and attention, and 16-bit types, which halve the bytes.");
	else
		text_string(&finding->remedy,
			    "Products are too small or of awkward sizes to fill the device: enlarge the batch, join small products "
			    "to one, make sizes multiples of 64 (see -t op_stats, flops_per_s, and -t library_calls).");
	finding_prove(finding, facts, FACT_peak_unused_percent);
	finding_prove(finding, facts, FACT_peak_lost_ns);
	finding_prove(finding, facts, FACT_no_product_ns);
	finding_prove(finding, facts, FACT_split_compute);
}

void rule_eager_ops(const struct rule_facts *facts, struct finding *finding)
{
	double eager = facts_value(facts, FACT_eager_ns), whole = facts_value(facts, FACT_whole_ns);

	if (!finding_needs(finding, facts_value(facts, FACT_op_ns) > 0,
			   "no framework that compiles functions said which ops ran eagerly"))
		return;
	finding_measure(finding, rule_percent(eager, facts_value(facts, FACT_op_ns)));
	finding_excuse(finding, whole <= 0 || rule_percent(eager, whole) < finding_limit(finding, LIMIT_eager_ops_share),
		       "it is little against the time of the steps");
	text_format(&finding->title, "%.1f %% of the ops' time runs eagerly.", finding->measured);
	text_string(&finding->remedy, "Put the training step into a compiled function (tf.function), also what surrounds it.");
	finding_prove(finding, facts, FACT_eager_ns);
	finding_prove(finding, facts, FACT_op_ns);
}

void rule_greedy_compiler(const struct rule_facts *facts, struct finding *finding)
{
	if (!finding_needs(finding, facts_value(facts, FACT_aggressive_xla) > 0, "XLA's level 2 was not asked for") ||
	    !finding_needs(finding, facts_known(facts, FACT_device_memory_percent), "no device memory was recorded"))
		return;
	finding_measure(finding, facts_value(facts, FACT_device_memory_percent));
	text_format(&finding->title, "XLA may compile aggressively (level 2), and %.1f %% of a device's memory was in use.",
		    finding->measured);
	text_string(&finding->remedy, "Level 2 can cost memory and parallelism: use --tf_xla_auto_jit=1.");
	finding_prove(finding, facts, FACT_device_memory_percent);
}
