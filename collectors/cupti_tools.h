/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's own tools (collectors/tables/cupti_tools.def) in a process, and programs that are one. Rule: we are who steps aside. */
#ifndef TFP_COLLECTORS_CUPTI_TOOLS_H
#define TFP_COLLECTORS_CUPTI_TOOLS_H

/* That such a tool's library is mapped here: words for the log, a result follows; NULL = none. Takes the loader's lock. Any thread. */
const char *tfp_cupti_tool_here(void);

/* Whether a list of libraries to preload, as LD_PRELOAD has it, names one of such a tool; NULL: it does not. Calls nobody. */
int tfp_cupti_names_tool(const char *list);

/* Whether an executable of that path is one of those tools. */
int tfp_cupti_is_tool(const char *path);

#endif
