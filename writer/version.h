/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of the whole project (library, launcher, reducer), for `--version` and reports. Rule: written here only;
 * the log format has a version of its own in format.h.
 */
#ifndef TFP_WRITER_VERSION_H
#define TFP_WRITER_VERSION_H

#define TFP_VERSION "0.1.0"

#endif
