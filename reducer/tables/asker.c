/* SPDX-License-Identifier: Apache-2.0 */
/* Who asked, in a word; see reducer/tables/asker.h. */
#include "reducer/tables/asker.h"

#include <string.h>

struct asker {
	struct text text;
	struct text typed; /* the same of python -c or a prompt, whose file has the name of code that libraries generate */
};

static bool read_asker(void *context, const struct symbol_frame *frame)
{
	const char *base;
	struct asker *asker = context;
	bool is_typed = frame->module == FRAMES_PYTHON && frames_is_typed(frame->file);
	struct text *text = is_typed ? &asker->typed : &asker->text;

	if (frame->module != FRAMES_PYTHON || (!is_typed && frames_is_library(frame->file)) || text->length)
		return true;
	base = strrchr(frame->file, '/');
	text_format(text, "%s (%s:%u)", frame->function, base ? base + 1 : frame->file, frame->line);
	return is_typed;
}

bool asker_put_python(struct text *out, struct frames *frames, size_t process, uint32_t stack)
{
	struct asker asker = {0};
	bool is_any;

	frames_want(frames, process, stack);
	frames_resolve(frames);
	frames_search(frames, process, stack, read_asker, &asker);
	if (!asker.text.length)
		text_put(&asker.text, asker.typed.bytes, asker.typed.length);
	is_any = asker.text.length > 0;
	text_put(out, asker.text.bytes, asker.text.length);
	text_free(&asker.text);
	text_free(&asker.typed);
	return is_any;
}

void asker_put(struct text *out, struct frames *frames, size_t process, uint32_t stack)
{
	struct frame_cause cause = {0};

	if (asker_put_python(out, frames, process, stack))
		return;
	frames_cause(frames, process, stack, &cause);
	text_put(out, cause.function.bytes, cause.function.length);
	frame_cause_free(&cause);
}
