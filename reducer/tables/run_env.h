/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of facts in run_env that others tell from the rest. */
#ifndef REDUCER_TABLES_RUN_ENV_H
#define REDUCER_TABLES_RUN_ENV_H

#define RUN_ENV_MEASURED "gpu, measured" /* counts, sizes and times of the run: no two are alike in them */

#endif
