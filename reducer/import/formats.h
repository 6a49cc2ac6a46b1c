/* SPDX-License-Identifier: Apache-2.0 */
/* What the importers share: one function a format, and how its log begins. Private to reducer/import. */
#ifndef REDUCER_IMPORT_FORMATS_H
#define REDUCER_IMPORT_FORMATS_H

#include "reducer/import/sink.h"
#include "reducer/import/source.h"

/* Whose file it is; an importer fills it in. Times of its records are CLOCK_REALTIME. */
struct import_about {
	char host[64]; /* "" = not said */
	char command[16];
	uint32_t pid;	 /* 0 = not said */
	uint64_t unread; /* events of kinds that are not read */
};

/* Reads all of `source` into `sink`. Returns 0, -1 where there is nothing in it. */
int import_xplane(struct source *source, struct sink *sink, struct import_about *about);
int import_kineto(struct source *source, struct sink *sink, struct import_about *about);

/* Does the file begin like one of these? */
int import_is_xplane(struct source *source);
int import_is_kineto(struct source *source);

#endif
