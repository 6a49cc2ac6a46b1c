/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures in the texts of /proc and of control groups.
 *
 * Rule: what is not a plain number ("max", "-1") or stands for no limit is no figure; a text that was cut gives no sum.
 */
#ifndef TFP_COLLECTORS_SYSTEM_TEXT_H
#define TFP_COLLECTORS_SYSTEM_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Whether a line counts. `text` is where the whole text begins. */
typedef int tfp_system_filter(const char *text, const char *line, const char *end);

/* How one figure is found. */
struct tfp_system_rule {
	uint16_t reading; /* row of readings.def */
	const char *line; /* first word of its line; NULL: the sum over all lines that the filter takes */
	const char *key;  /* the number stands right behind this text; NULL: `words` says where */
	uint32_t words;	  /* bit n set: the line's word n, from 0, is added */
	uint32_t scale;	  /* by which it is multiplied */
};

/* 0 and *value; -1 where the text has no such figure. is_cut: the text goes on, but could not be read. */
int tfp_system_figure(const char *text, size_t bytes, int is_cut, const struct tfp_system_rule *rule, tfp_system_filter *filter,
		      uint64_t *value);

/* The number at the start of a text, which ends at its first other character. -1: there is none, or it means no limit. */
int tfp_system_number(const char *text, const char *end, uint64_t *value);

/* Lines of /proc/net/dev: interfaces but the loopback. Lines of /proc/diskstats: whole disks, not what is made of them. */
int tfp_system_is_interface(const char *text, const char *line, const char *end);
int tfp_system_is_disk(const char *text, const char *line, const char *end);

#endif
