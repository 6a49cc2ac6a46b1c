/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What TF_CONFIG says: by it TensorFlow's processes find each other, and cluster managers start them.
 *
 *	{"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": 1}}
 *
 * Rule: ranks are those that train in step with each other, numbered as TensorFlow does: the chief ("master" of old) first, then the
 * workers. Who evaluates is none of them, and a cluster with parameter servers has none: its workers do not wait for each other.
 */
#ifndef REDUCER_MODEL_TF_CONFIG_H
#define REDUCER_MODEL_TF_CONFIG_H

#include "reducer/base/base.h"

struct tf_config {
	uint64_t rank, ranks;
	struct text addresses; /* of all ranks: "a:1,b:1,c:1," */
};

/* Returns -1, with nothing to free, where the text tells no rank; also of a text that is cut or no such object. */
int tf_config_read(struct tf_config *config, const char *text);
void tf_config_free(struct tf_config *config);

#endif
