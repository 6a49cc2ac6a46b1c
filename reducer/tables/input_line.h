/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What looks at Python code (python_looks.h) say of a PyTorch DataLoader: which line of the script takes the time in which samples are
 * made, how much of that puts them together, and how much of the loop's waiting chooses them.
 *
 * Rule: the innermost line of the script, with the libraries that it calls, inside the loader's code that asks for it; nothing where too
 * few looks say it. The loader's fetching calls the dataset, and on its last line the collate function: where looks met one line alone
 * the name of what it called tells.
 */
#ifndef REDUCER_TABLES_INPUT_LINE_H
#define REDUCER_TABLES_INPUT_LINE_H

#include "reducer/tables/request.h"

#define INPUT_LINE_UNKNOWN (-1.0)

/*
 * A sentence, begun with a blank, of these processes (indexes in run->processes), and whether an IterableDataset made the samples. Returns
 * the share of it that collates.
 */
double input_line_say(struct text *text, bool *is_iterable, const struct request *request, const size_t *processes, size_t count);

/* The same of the process that runs the steps, of its waiting for batches; the share of it in which the sampler ran. */
double input_line_say_sampler(struct text *text, const struct request *request, size_t process);

#endif
