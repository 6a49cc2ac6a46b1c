/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the Python interpreter of the process. Rule: looks, loads nothing; a program without Python pays one look-up. */
#ifndef TFP_PRELOAD_PYTHON_H
#define TFP_PRELOAD_PYTHON_H

/* From the library's constructor, once the log is there. Takes the loader's lock; allocates nothing. */
void tfp_python_find(void);

/* The host is about to start a thread: Python code is looked at from then on, and jaxlib may be there. Keeps errno. */
void tfp_python_threading(void);

#endif
