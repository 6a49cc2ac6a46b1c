/* SPDX-License-Identifier: Apache-2.0 */
/* Which stage of the input a process waited for. Rule: the stage that took most of the time of the source waited for. */
#ifndef REDUCER_TABLES_INPUT_STAGE_H
#define REDUCER_TABLES_INPUT_STAGE_H

#include "reducer/tables/input_rows.h"

/* Fills stage, stage_kind and remedy of a view whose source and parts are known. */
void input_find_stage(struct input_view *view, const struct step_rows *rows);

#endif
