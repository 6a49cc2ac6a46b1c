/* SPDX-License-Identifier: Apache-2.0 */
/* What the made loops of logmaker_train.c and logmaker_loops.c share. Private to the two. */
#ifndef TEST_LOGMAKER_TRAIN_H
#define TEST_LOGMAKER_TRAIN_H

#include "test/logmaker.h"

/* Rows of collectors/tables/range_sources.def; PyTorch's RecordScope. */
enum { RECORD_FUNCTION = 5, XLA = 6, EAGER = 7, ITERATOR = 8 };
enum { FUNCTION = 0, BACKWARD = 1, USER = 7 };

struct train {
	struct maker maker;
	struct maker_records *records;
	uint64_t time, key, sequence;
};

#define PUT(train, name, ...) MAKER_ADD((train)->records, (train)->time += 1000, name, __VA_ARGS__)

/* An op_name fact. */
void train_name(struct train *train, unsigned id, const char *text);
uint64_t train_begin(struct train *train, uint32_t name, uint8_t source, uint8_t scope);
void train_end(struct train *train, uint64_t key, uint8_t source);
/* A log of one thread with what `work` puts into it. */
void train_make(struct maker *maker, void (*work)(struct train *train));

#endif
