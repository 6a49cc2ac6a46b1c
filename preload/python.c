/* SPDX-License-Identifier: Apache-2.0 */
/* What a Python interpreter exports; see preload/python.h. */
#include "preload/python.h"

#include "collectors/modules.h"
#include "collectors/python.h"
#include "collectors/python_graves.h"
#include "collectors/python_time.h"
#include "preload/dynamic.h"
#include "preload/jax.h"
#include "preload/settings.h"

#include <stddef.h>

#include "writer/poison.h"

/* The first version that has a function which its successors kept: before 3.11 no number says which version it is. */
static const struct {
	uint32_t version;
	const char *name;
} marks[] = {
	{0x030a0000, "PyIter_Send"},
	{0x03090000, "PyThreadState_GetFrame"},
	{0x03080000, "PyConfig_Read"},
};

static uint32_t version_of(const struct tfp_dynamic *object)
{
	const unsigned long *number = tfp_dynamic_symbol(object, "Py_Version"); /* 3.11 on */

	if (number)
		return (uint32_t)*number;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (tfp_dynamic_symbol(object, marks[i].name))
			return marks[i].version;
	return 0x03070000; /* older ones are all the same to us */
}

void tfp_python_find(void)
{
	struct tfp_python_symbols symbols = {.runtime = NULL};
	struct tfp_dynamic object;

	if ((tfp_settings.python == TFP_PYTHON_OFF && tfp_settings.ops == TFP_OPS_OFF) || !tfp_dynamic_find(&object, "_PyRuntime"))
		return;
	tfp_jax_begin(&object);
	if (tfp_settings.python == TFP_PYTHON_OFF)
		return;
	symbols.runtime = tfp_dynamic_symbol(&object, "_PyRuntime");
	symbols.version = version_of(&object);
	symbols.this_thread = (void *(*)(void))tfp_dynamic_symbol(&object, "PyGILState_GetThisThreadState");
	symbols.first_interpreter = (void *(*)(void))tfp_dynamic_symbol(&object, "PyInterpreterState_Head");
	symbols.next_interpreter = (void *(*)(void *))tfp_dynamic_symbol(&object, "PyInterpreterState_Next");
	symbols.is_ending = (int (*)(void))tfp_dynamic_symbol(&object, "Py_IsFinalizing");
	if (!symbols.is_ending)
		symbols.is_ending = (int (*)(void))tfp_dynamic_symbol(&object, "_Py_IsFinalizing");
	symbols.code = symbols.code_slots = tfp_dynamic_symbol(&object, "PyCode_Type");
	if (symbols.code && !tfp_modules_may_write(symbols.code, TFP_PYTHON_HEAD_MOST + TFP_PYTHON_TYPE_SLOT + sizeof(void *)))
		symbols.code_slots = NULL;
	symbols.text = tfp_dynamic_symbol(&object, "PyUnicode_Type");
	symbols.bytes = tfp_dynamic_symbol(&object, "PyBytes_Type");
	symbols.frame = tfp_dynamic_symbol(&object, "PyFrame_Type");
	tfp_python_begin(&symbols, (uint32_t)tfp_settings.python, tfp_settings.stacks);
	tfp_python_time_begin(tfp_settings.python_time);
}

void tfp_python_threading(void)
{
	tfp_python_time_threading();
	tfp_jax_look();
}
