/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases of a training step by name; see reducer/analysis/phases.h.
 *
 * Rule: one row a name. Sources: PyTorch 1.13 to 2.15 name the backward pass by its RecordScope and "autograd::engine::...",
 * optimisers "Optimizer.step#..." (torch/optim/optimizer.py); Keras 3 and TensorFlow 2 name gradient ops "gradient_tape/...",
 * "gradients/..." and their optimisers' ops by type (ResourceApply...); NCCL kernels "nccl...".
 */
#include "reducer/analysis/phases.h"

#include "reducer/base/pattern.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define SCOPE_BACKWARD 1 /* RecordScope::BACKWARD_FUNCTION; 16 is added where it may end elsewhere */
#define SCOPE_OTHER_THREAD 16u

enum where { WHOLE, BEGINS, HOLDS };
static const struct rule {
	const char *text;
	enum where where;
	enum phase phase;
} rules[] = {
	/* What a user would call a range. */
	{"forward", WHOLE, PHASE_FORWARD},
	{"fwd", WHOLE, PHASE_FORWARD},
	{"backward", WHOLE, PHASE_BACKWARD},
	{"bwd", WHOLE, PHASE_BACKWARD},
	{"optimizer", WHOLE, PHASE_OPTIMISER},
	{"optimiser", WHOLE, PHASE_OPTIMISER},
	{"optimizer step", WHOLE, PHASE_OPTIMISER},
	{"optimizer.step", WHOLE, PHASE_OPTIMISER},
	{"optimizer_step", WHOLE, PHASE_OPTIMISER},
	{"update", WHOLE, PHASE_OPTIMISER},
	{"communication", WHOLE, PHASE_COMMUNICATION},
	{"allreduce", WHOLE, PHASE_COMMUNICATION},
	{"all_reduce", WHOLE, PHASE_COMMUNICATION},
	/* PyTorch. */
	{"autograd::engine::", BEGINS, PHASE_BACKWARD},
	{"## backward", BEGINS, PHASE_BACKWARD},
	{"## forward", BEGINS, PHASE_FORWARD},
	{"Optimizer.step#", BEGINS, PHASE_OPTIMISER},
	{"Optimizer.zero_grad#", BEGINS, PHASE_OPTIMISER},
	{"nccl:", BEGINS, PHASE_COMMUNICATION},
	{"gloo:", BEGINS, PHASE_COMMUNICATION},
	{"mpi:", BEGINS, PHASE_COMMUNICATION},
	{"c10d::", BEGINS, PHASE_COMMUNICATION},
	{"record_param_comms", WHOLE, PHASE_COMMUNICATION},
	/* TensorFlow, by node and by type. */
	{"gradient_tape/", HOLDS, PHASE_BACKWARD},
	{"gradients/", HOLDS, PHASE_BACKWARD},
	{"ResourceApply", HOLDS, PHASE_OPTIMISER},
	{"ResourceSparseApply", HOLDS, PHASE_OPTIMISER},
	{":ApplyGradientDescent", HOLDS, PHASE_OPTIMISER},
	{":ApplyAdam", HOLDS, PHASE_OPTIMISER},
	{":ApplyMomentum", HOLDS, PHASE_OPTIMISER},
	{":CollectiveReduce", HOLDS, PHASE_COMMUNICATION},
	{":CollectiveGather", HOLDS, PHASE_COMMUNICATION},
	{":NcclAllReduce", HOLDS, PHASE_COMMUNICATION},
	{":Horovod", HOLDS, PHASE_COMMUNICATION},
	/* Eager TensorFlow calls its ops by type alone. */
	{"CollectiveReduce", BEGINS, PHASE_COMMUNICATION},
	{"NcclAllReduce", BEGINS, PHASE_COMMUNICATION},
	/* JAX: jit(f)/transpose(jvp(f))/... is the backward pass. */
	{"transpose(jvp(", HOLDS, PHASE_BACKWARD},
	{"jvp(", HOLDS, PHASE_FORWARD},
};

/* Ops of Keras optimisers lie below their name: adam/..., training/Adam/..., sgd/... */
static const char *const optimisers[] = {"adam",   "sgd",   "rmsprop", "adagrad", "adamw", "adadelta",
					 "adamax", "nadam", "ftrl",    "lion",	  "lamb",  "adafactor"};

const char *phase_name(enum phase phase)
{
	static const char *const names[PHASES] = {"", "forward", "backward", "optimiser", "communication"};

	return names[phase];
}

int phases_set(struct phases *phases, enum phase phase, const char *pattern)
{
	int error;

	if (phases->has_pattern[phase])
		regfree(&phases->patterns[phase]);
	error = pattern_compile(&phases->patterns[phase], pattern, REG_NOSUB);
	phases->has_pattern[phase] = error == 0;
	return error;
}

void phases_free(struct phases *phases)
{
	for (size_t p = 0; p < PHASES; p++)
		if (phases->has_pattern[p])
			regfree(&phases->patterns[p]);
	*phases = (struct phases){.has_pattern = {0}};
}

static int is_below_optimiser(const char *name)
{
	size_t length = strcspn(name, "/:");

	for (const char *part = name; part[length] == '/'; part += length + 1, length = strcspn(part, "/:"))
		for (size_t i = 0; i < sizeof optimisers / sizeof *optimisers; i++)
			if (strlen(optimisers[i]) == length && strncasecmp(part, optimisers[i], length) == 0)
				return 1;
	return 0;
}

static int fits(const struct rule *rule, const char *name)
{
	if (rule->where == WHOLE)
		return strcasecmp(name, rule->text) == 0;
	if (rule->where == BEGINS)
		return strncmp(name, rule->text, strlen(rule->text)) == 0;
	return strstr(name, rule->text) != NULL;
}

enum phase phases_of(const struct phases *phases, const char *name, unsigned source, unsigned scope)
{
	(void)source;
	for (size_t p = 1; phases != NULL && p < PHASES; p++)
		if (phases->has_pattern[p] && regexec(&phases->patterns[p], name, 0, NULL, 0) == 0)
			return (enum phase)p;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if ((phases == NULL || !phases->has_pattern[rules[i].phase]) && fits(&rules[i], name))
			return rules[i].phase;
	if (phases != NULL && phases->has_pattern[PHASE_BACKWARD] && phases->has_pattern[PHASE_OPTIMISER])
		return PHASE_NONE;
	if ((scope & ~SCOPE_OTHER_THREAD) == SCOPE_BACKWARD)
		return PHASE_BACKWARD;
	return is_below_optimiser(name) ? PHASE_OPTIMISER : PHASE_NONE;
}

int phases_is_collective(const char *kernel)
{
	static const char *const parts[] = {"nccl",	 "rccl",	  "AllReduce",	"allreduce",	 "all_reduce",
					    "AllGather", "ReduceScatter", "all_gather", "reduce_scatter"};

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strstr(kernel, parts[i]) != NULL)
			return 1;
	return 0;
}
