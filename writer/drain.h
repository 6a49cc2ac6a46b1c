/* SPDX-License-Identifier: Apache-2.0 */
/* Who drains full chunks; see docs/architecture.md. */
#ifndef TFP_WRITER_DRAIN_H
#define TFP_WRITER_DRAIN_H
static inline void tfp_drain_pause(void)
{
}
static inline void tfp_drain_resume(void)
{
}
#endif
