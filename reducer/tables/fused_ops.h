/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel that torch.compile wrote was fused of, by its name: triton_poi_fused_add_relu_3 is add and relu.
 *
 * Rule: the compiler joins the ops' names by the sign that stands in them too: where they are parted is inferred. Words that no op
 * of PyTorch's own is called stay together. The compiler leaves out what is beyond its longest name.
 */
#ifndef REDUCER_TABLES_FUSED_OPS_H
#define REDUCER_TABLES_FUSED_OPS_H

#include "reducer/base/base.h"

/* Appends them, joined by ", "; nothing where the name tells none. */
void fused_ops_put(struct text *text, const char *kernel);

#endif
