/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile bytes made harmless: what may stand in a log's texts is anything.
 *
 * Rule: the result is valid UTF-8 and holds no control character, nothing that moves a cursor, rings, or turns the
 * direction of writing.
 */
#ifndef REDUCER_REPORT_ESCAPE_H
#define REDUCER_REPORT_ESCAPE_H

#include "reducer/base/base.h"

/* For people and line-based files: control characters and bytes that are no UTF-8 appear as \n, \t, \x1b, \u202e. */
void escape_visible(struct text *out, const char *bytes, size_t length);

/* A json string with its quotes. A byte that is no UTF-8 becomes U+FFFD. */
void escape_json(struct text *out, const char *bytes, size_t length);

/*
 * For people, as a json string that cannot end a script element: escape_visible, then escape_json, every '<' as \u003c. Of a
 * text above `most` bytes the first ones, and how many there are.
 */
void escape_script(struct text *out, const char *bytes, size_t length, size_t most);

/* Terminal columns that valid UTF-8 without control characters takes. */
size_t escape_width(const char *text, size_t length);

/* Cuts *text to `width` columns; ".." marks that something is missing. */
void escape_cut(struct text *text, size_t width);

/* The same, but of a path from the root its end stays: "..data/loader.py" says more than "/usr/lib/pyth..". */
void escape_cut_path(struct text *text, size_t width);

#endif
