/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fewer samples of what was used of the machine, where a run is so long that not all of them are kept. Private to the model.
 *
 * Rule: memory is bounded whatever the log's length, and the last hours are known as well as the first. Of samples of one subject with the
 * same kinds of readings one of `each` stays, as it was, and always the first and the last: what is a total loses nothing but moments,
 * and what is rare (an error) stays. Of readings missed, which are added up, the one that stays has the sum.
 */
#ifndef REDUCER_MODEL_USE_THIN_H
#define REDUCER_MODEL_USE_THIN_H

#include "reducer/model/use_rows.h"

#define USE_ROWS_MOST ((1u << 20) - 256u) /* of samples, readings and users each, and half as many samples: 16 and 64 MiB */

/* Makes room, if it is time for that: before another one is added. Without memory all stay. */
void use_thin(struct use_rows *use);

#endif
