/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that NVTX calls in its place; see collectors/nvtx.h. */
#include "collectors/nvtx.h"

#include "collectors/nvtx_handles.h"
#include "collectors/ranges.h"
#include "writer/sys.h"

#include "writer/poison.h"

/* nvtxEventAttributes_t, versions 1 to 3: 48 bytes. */
struct attributes {
	uint16_t version, bytes;
	uint32_t category;
	int32_t colour_type;
	uint32_t colour;
	int32_t payload_type;
	int32_t payload_count; /* of extended payloads */
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

/* nvtxResourceAttributes_t: 32 bytes. */
struct resource {
	uint16_t version, bytes;
	int32_t identifier_type;
	uint64_t identifier;
	int32_t message_type;
	const void *message;
};

/* nvtxPayloadData_t, of an extended payload. */
struct payload_data {
	uint64_t schema, bytes;
	const void *data;
};

_Static_assert(sizeof(struct attributes) == 48 && sizeof(struct resource) == 32 && sizeof(struct payload_data) == 24,
	       "the layouts of NVTX");

enum { MESSAGE_ASCII = 1, MESSAGE_UNICODE = 2, MESSAGE_REGISTERED = 3 };
enum { PAYLOAD_EXTENDED = (int32_t)0xDFBD0009, PAYLOAD_WORDS = 255 };
enum { TEXT_OF_LOCALE = 75, TEXT_UTF8 = 76 }; /* schemas of texts that end with a 0 byte */
#define UNSAID UINT64_MAX /* instead of a payload's length: the reader may find it out, or leaves the payload alone */
enum { THREAD_NATIVE = 0x10003 };

#define NO_TRACKING (-2) /* what push and pop answer where no tool counts levels (old extensions: -1); nor do we: nothing changes */
#define WIDE_BYTES 256   /* of a wide text in UTF-8; the rest is counted as name_cut */

static const char *(*find_object)(void *address); /* written by the first attach, always the same */

/* Wide characters (4 bytes each here) as UTF-8, cut at WIDE_BYTES. */
static const char *narrow(const uint32_t *wide, char *to)
{
	char *at = to;

	for (; wide && *wide && at < to + WIDE_BYTES - 5; wide++) {
		uint32_t code = *wide;
		unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
		static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
		*at++ = (char)(first[more] | code >> (6 * more));
		while (more--)
			*at++ = (char)(0x80 | (code >> (6 * more) & 0x3f));
	}
	*at = 0;
	if (wide && *wide)
		tfp_loss_note(TFP_LOSS_name_cut);
	return to;
}

/* The name in a message; `wide` is WIDE_BYTES of room. */
static struct tfp_range_name name_in(int32_t type, const void *message, char *wide)
{
	struct tfp_range_name name = {.text = ""};
	const struct tfp_nvtx_handle *handle;

	switch (type) {
	case MESSAGE_ASCII:
		name.text = message ? message : "";
		break;
	case MESSAGE_UNICODE:
		name.text = narrow(message, wide);
		break;
	case MESSAGE_REGISTERED:
		handle = tfp_nvtx_known(message);
		if (handle)
			name = (struct tfp_range_name){.id = handle->hash, .is_step = handle->is_step};
		break;
	}
	return name;
}

/* How long the payload is; 0: it is none, or nobody says where it ends. */
static uint64_t length_of(const struct payload_data *data)
{
	if (!data || !data->data)
		return 0;
	if (data->bytes != UNSAID)
		return data->bytes;
	return data->schema == TEXT_OF_LOCALE || data->schema == TEXT_UTF8 ? tfp_length(data->data) : 0;
}

static void read_words(const struct payload_data *data, struct tfp_range_detail *detail)
{
	uint64_t bytes = length_of(data);

	if (!bytes)
		return;
	detail->payload_type = PAYLOAD_WORDS;
	detail->schema = data->schema;
	detail->bytes = bytes;
	tfp_copy(detail->words, data->data, bytes < sizeof detail->words ? bytes : sizeof detail->words);
}

/* What else is said; NULL where nothing is. */
static const struct tfp_range_detail *detail_in(const struct attributes *from, struct tfp_range_detail *detail)
{
	if (!from->category && !from->colour_type && !from->payload_type)
		return NULL;
	*detail = (struct tfp_range_detail){.category = from->category, .colour = from->colour_type ? from->colour : 0};
	if (from->payload_type == PAYLOAD_EXTENDED) {
		if (from->payload_count >= 1)
			read_words((const struct payload_data *)(uintptr_t)from->payload, detail);
	} else if (from->payload_type >= 1 && from->payload_type <= 6) {
		detail->payload_type = (uint8_t)from->payload_type;
		detail->payload = from->payload_type >= 4 ? (uint32_t)from->payload : from->payload;
	}
	return detail;
}

/* The parts of an event, as ranges.h wants them. */
struct event {
	struct tfp_range_name name;
	struct tfp_range_detail detail;
	const struct tfp_range_detail *has_detail;
	uint32_t domain;
	char wide[WIDE_BYTES];
};

static void read_event(struct event *event, const void *domain, const struct attributes *from)
{
	const struct tfp_nvtx_handle *handle = domain ? tfp_nvtx_known(domain) : NULL;

	event->domain = handle ? handle->id : 0;
	event->has_detail = NULL;
	event->name = (struct tfp_range_name){.text = ""};
	if (!from || from->bytes < sizeof *from)
		return;
	event->name = name_in(from->message_type, from->message, event->wide);
	event->has_detail = detail_in(from, &event->detail);
}

static int domain_push(void *domain, const struct attributes *from)
{
	struct event event;

	read_event(&event, domain, from);
	tfp_range_push(TFP_FROM_nvtx, event.domain, &event.name, event.has_detail);
	return NO_TRACKING;
}

static int push_ex(const struct attributes *from)
{
	return domain_push(NULL, from);
}

static int push(const char *text)
{
	if (!tfp_range_is_wanted())
		return NO_TRACKING;
	tfp_range_push_text(TFP_FROM_nvtx, 0, text ? text : "");
	return NO_TRACKING;
}

static int push_wide(const uint32_t *text)
{
	char room[WIDE_BYTES];

	return push(narrow(text, room));
}

static int domain_pop(void *domain)
{
	const struct tfp_nvtx_handle *handle = domain ? tfp_nvtx_known(domain) : NULL;

	tfp_range_pop(TFP_FROM_nvtx, handle ? handle->id : 0);
	return NO_TRACKING;
}

static int pop(void)
{
	if (!tfp_is_open)
		return NO_TRACKING;
	tfp_range_pop(TFP_FROM_nvtx, 0);
	return NO_TRACKING;
}

static void domain_mark(void *domain, const struct attributes *from)
{
	struct event event;

	read_event(&event, domain, from);
	tfp_range_mark(TFP_FROM_nvtx, event.domain, &event.name, event.has_detail);
}

static void mark_ex(const struct attributes *from)
{
	domain_mark(NULL, from);
}

static void mark(const char *text)
{
	struct tfp_range_name name = {.text = text ? text : ""};

	tfp_range_mark(TFP_FROM_nvtx, 0, &name, NULL);
}

static void mark_wide(const uint32_t *text)
{
	char room[WIDE_BYTES];

	mark(narrow(text, room));
}

static uint64_t domain_start(void *domain, const struct attributes *from)
{
	struct event event;

	read_event(&event, domain, from);
	return tfp_range_start(TFP_FROM_nvtx, event.domain, &event.name, event.has_detail);
}

static uint64_t start_ex(const struct attributes *from)
{
	return domain_start(NULL, from);
}

static uint64_t start(const char *text)
{
	struct tfp_range_name name = {.text = text ? text : ""};

	return tfp_range_start(TFP_FROM_nvtx, 0, &name, NULL);
}

static uint64_t start_wide(const uint32_t *text)
{
	char room[WIDE_BYTES];

	return start(narrow(text, room));
}

static void end(uint64_t id)
{
	tfp_range_end(id);
}

static void domain_end(void *domain, uint64_t id)
{
	(void)domain;
	tfp_range_end(id);
}

/* Events of which all is said by payloads: a name would stand in there, by a schema that is not read. */
static void read_payload(struct event *event, const void *domain, const struct payload_data *data, size_t count)
{
	read_event(event, domain, NULL);
	event->detail = (struct tfp_range_detail){0};
	read_words(count ? data : NULL, &event->detail);
	event->has_detail = event->detail.payload_type ? &event->detail : NULL;
}

static int push_payload(void *domain, const struct payload_data *data, size_t count)
{
	struct event event;

	read_payload(&event, domain, data, count);
	tfp_range_push(TFP_FROM_nvtx, event.domain, &event.name, event.has_detail);
	return NO_TRACKING;
}

/* What it says beyond the push is not kept. */
static int pop_payload(void *domain, const struct payload_data *data, size_t count)
{
	(void)data, (void)count;
	domain_pop(domain);
	return NO_TRACKING;
}

static void mark_payload(void *domain, const struct payload_data *data, size_t count)
{
	struct event event;

	read_payload(&event, domain, data, count);
	tfp_range_mark(TFP_FROM_nvtx, event.domain, &event.name, event.has_detail);
}

static uint64_t start_payload(void *domain, const struct payload_data *data, size_t count)
{
	struct event event;

	read_payload(&event, domain, data, count);
	return tfp_range_start(TFP_FROM_nvtx, event.domain, &event.name, event.has_detail);
}

static void end_payload(void *domain, uint64_t id, const struct payload_data *data, size_t count)
{
	(void)data, (void)count;
	domain_end(domain, id);
}

/* Facts need a log: started here where nothing else has. */
static int is_ready(void)
{
	return tfp_thread_have() != NULL;
}

static void name_category(uint32_t category, const char *text)
{
	if (text && is_ready())
		tfp_range_category(0, category, text);
}

static void name_category_wide(uint32_t category, const uint32_t *text)
{
	char room[WIDE_BYTES];

	name_category(category, narrow(text, room));
}

static void domain_name_category(void *domain, uint32_t category, const char *text)
{
	const struct tfp_nvtx_handle *handle = is_ready() ? tfp_nvtx_known(domain) : NULL;

	if (handle && text)
		tfp_range_category(handle->id, category, text);
}

static void domain_name_category_wide(void *domain, uint32_t category, const uint32_t *text)
{
	char room[WIDE_BYTES];

	domain_name_category(domain, category, narrow(text, room));
}

static void *register_string(void *domain, const char *text)
{
	(void)domain;
	return text && is_ready() ? tfp_nvtx_string_handle(text, tfp_length(text)) : NULL;
}

static void *register_string_wide(void *domain, const uint32_t *text)
{
	char room[WIDE_BYTES];

	return register_string(domain, narrow(text, room));
}

static int is_in(const char *text, const char *wanted)
{
	for (size_t length = tfp_length(wanted); text && *text; text++)
		if (tfp_length(text) >= length && tfp_same(text, wanted, length))
			return 1;
	return 0;
}

/* TensorFlow asks for "TSL" once and, with a handle, tells its annotations to NVTX instead of its own profiler. */
static int is_left_alone(const char *text, void *caller)
{
	return tfp_same_text(text, "TSL") && is_in(find_object(caller), "tensorflow");
}

static void *create_domain(const char *text)
{
	if (!text || !is_ready() || is_left_alone(text, __builtin_return_address(0)))
		return NULL;
	return tfp_nvtx_domain_handle(text, tfp_length(text));
}

static void *create_domain_wide(const uint32_t *text)
{
	char room[WIDE_BYTES];

	return text && is_ready() ? tfp_nvtx_domain_handle(narrow(text, room), tfp_length(room)) : NULL;
}

static void name_object(unsigned kind, uint64_t object, const char *text)
{
	if (text && is_ready())
		tfp_range_object(kind, object, text);
}

static void *create_resource(void *domain, const struct resource *from)
{
	char room[WIDE_BYTES];

	(void)domain;
	if (!from || from->bytes < sizeof *from)
		return NULL;
	struct tfp_range_name name = name_in(from->message_type, from->message, room);
	const struct tfp_nvtx_handle *handle = name.text ? NULL : tfp_nvtx_known(from->message);
	if (name.text)
		name_object(from->identifier_type == THREAD_NATIVE ? 1 : 6, from->identifier, name.text);
	else if (handle && handle->length < sizeof room) {
		tfp_copy(room, handle->text, handle->length);
		room[handle->length] = 0;
		name_object(from->identifier_type == THREAD_NATIVE ? 1 : 6, from->identifier, room);
	}
	return (void *)(uintptr_t)from->identifier; /* nothing is kept of it */
}

/* Names of threads, devices, contexts, streams and events: a narrow and a wide function each. */
#define NAMES(function, kind, type) \
	static void function(type object, const char *text) \
	{ \
		name_object(kind, (uint64_t)(object), text); \
	} \
	static void function##_wide(type object, const uint32_t *text) \
	{ \
		char room[WIDE_BYTES]; \
\
		name_object(kind, (uint64_t)(object), narrow(text, room)); \
	}
NAMES(name_thread, 1, uint32_t)
NAMES(name_device, 2, int32_t)
NAMES(name_context, 3, uintptr_t)
NAMES(name_stream, 4, uintptr_t)
NAMES(name_event, 5, uintptr_t)

enum { CORE = 1, CUDA = 2, CUDART = 4, CORE2 = 5 };

#define ROW(module, number, function) {module, number, (tfp_nvtx_function *)(void *)(function)}
static const struct row {
	uint16_t module, number;
	tfp_nvtx_function *function;
} rows[] = {
	ROW(CORE, 1, mark_ex), ROW(CORE, 2, mark), ROW(CORE, 3, mark_wide), ROW(CORE, 4, start_ex), ROW(CORE, 5, start),
	ROW(CORE, 6, start_wide), ROW(CORE, 7, end), ROW(CORE, 8, push_ex), ROW(CORE, 9, push), ROW(CORE, 10, push_wide),
	ROW(CORE, 11, pop), ROW(CORE, 12, name_category), ROW(CORE, 13, name_category_wide), ROW(CORE, 14, name_thread),
	ROW(CORE, 15, name_thread_wide), ROW(CORE2, 1, domain_mark), ROW(CORE2, 2, domain_start), ROW(CORE2, 3, domain_end),
	ROW(CORE2, 4, domain_push), ROW(CORE2, 5, domain_pop), ROW(CORE2, 6, create_resource),
	ROW(CORE2, 8, domain_name_category), ROW(CORE2, 9, domain_name_category_wide), ROW(CORE2, 10, register_string),
	ROW(CORE2, 11, register_string_wide), ROW(CORE2, 12, create_domain), ROW(CORE2, 13, create_domain_wide),
	ROW(CUDA, 1, name_device), ROW(CUDA, 2, name_device_wide), ROW(CUDA, 3, name_context), ROW(CUDA, 4, name_context_wide),
	ROW(CUDA, 5, name_stream), ROW(CUDA, 6, name_stream_wide), ROW(CUDA, 7, name_event), ROW(CUDA, 8, name_event_wide),
	ROW(CUDART, 1, name_device), ROW(CUDART, 2, name_device_wide), ROW(CUDART, 3, name_stream),
	ROW(CUDART, 4, name_stream_wide), ROW(CUDART, 5, name_event), ROW(CUDART, 6, name_event_wide),
};

int tfp_nvtx_attach(tfp_nvtx_export *get_export, const char *(*object_of)(void *address))
{
	const struct tfp_nvtx_callbacks *callbacks = get_export ? get_export(1) : NULL;
	int placed = 0;

	if (!callbacks || callbacks->bytes < sizeof *callbacks || !callbacks->get_module)
		return 0;
	find_object = object_of;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tfp_nvtx_slot *table = NULL;
		unsigned size = 0;
		if (!callbacks->get_module(rows[i].module, &table, &size) || !table ||
		    rows[i].number >= size || !table[rows[i].number])
			continue;
		*table[rows[i].number] = rows[i].function;
		placed++;
	}
	return placed > 0;
}

enum { PAYLOADS = 2, SLOTS_FREE = 0 };

int tfp_nvtx_attach_extension(struct tfp_nvtx_extension *extension)
{
	static tfp_nvtx_function *const payload_functions[] = {
		[2] = (tfp_nvtx_function *)(void *)mark_payload,  [3] = (tfp_nvtx_function *)(void *)push_payload,
		[4] = (tfp_nvtx_function *)(void *)pop_payload,	  [5] = (tfp_nvtx_function *)(void *)start_payload,
		[6] = (tfp_nvtx_function *)(void *)end_payload,
	};
	const size_t count = sizeof payload_functions / sizeof *payload_functions;

	if (!extension || extension->bytes < sizeof *extension || extension->module != PAYLOADS || extension->segment_count < 1 ||
	    extension->segments[0].slot_count < count)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (payload_functions[i] && extension->segments[0].slots[i] == SLOTS_FREE)
			extension->segments[0].slots[i] = (intptr_t)payload_functions[i];
	return 1;
}
