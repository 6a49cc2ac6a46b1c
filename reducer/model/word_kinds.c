/* SPDX-License-Identifier: Apache-2.0 */
/* What a name says of a loop; see reducer/model/word_kinds.h. */
#include "reducer/model/word_kinds.h"

#include "reducer/model/learning.h"

#include <string.h>

int word_is_tracing(const char *name)
{
	return strcmp(name, "PythonDispatchMode") == 0;
}

static int is_among(const char *name, const char *const *names, size_t count)
{
	size_t i = 0;

	while (i < count && strcmp(names[i], name) != 0)
		i++;
	return i < count;
}

/* TensorFlow's eager ops, and what else nets end with; other layers of PyTorch are known to learning.c. */
enum period_word_kind word_kind(const char *name)
{
	static const char *const layers[] = {"Conv1D", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "FusedBatchNormV3", "MatMul",
					     "BatchMatMulV2", "Einsum", "ResourceGather", "AvgPool", "MaxPool", "Softmax",
					     "aten::softmax", "aten::log_softmax", "aten::max_pool2d",
					     "aten::avg_pool2d", "aten::adaptive_avg_pool2d"};
	static const char *const loops[] = {"IteratorGetNext", "aten::lift_fresh", "aten::item", "aten::_local_scalar_dense",
					    "aten::argmax", "aten::multinomial", "aten::randn", "aten::rand", "aten::randint",
					    "aten::randperm"};

	static const char *const making[] = {"aten::empty", "aten::zeros", "aten::ones", "aten::uniform_", "aten::normal_",
					     "aten::fill_", "aten::zero_", "aten::detach", "aten::detach_", "aten::copy_",
					     "aten::to", "aten::empty_like", "aten::erfinv_", "aten::clamp_", "aten::set_",
					     "aten::_has_compatible_shallow_copy_type" /* Module.to() asks for each tensor */};

	if (is_among(name, loops, sizeof loops / sizeof *loops))
		return PERIOD_WORD_LOOP;
	if (is_among(name, layers, sizeof layers / sizeof *layers))
		return PERIOD_WORD_LAYER;
	if (is_among(name, making, sizeof making / sizeof *making))
		return PERIOD_WORD_MAKING;
	if (strncmp(name, "enumerate(DataLoader)#", 22) == 0)
		return PERIOD_WORD_LOOP;
	if (word_is_tracing(name))
		return PERIOD_WORD_TRACE;
	return learning_is_layer_name(name) ? PERIOD_WORD_LAYER : PERIOD_WORD_PLAIN;
}
