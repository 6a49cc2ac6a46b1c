/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the ways to lose data, from losses.def. Rule: what is not recorded is counted under one of these. */
#ifndef TFP_WRITER_LOSS_H
#define TFP_WRITER_LOSS_H

enum tfp_loss {
	TFP_LOSS_NONE = 0,
#define TFP_LOSS(number, name, help, remedy) TFP_LOSS_##name = number,
#include "writer/losses.def"
#undef TFP_LOSS
};

#endif
