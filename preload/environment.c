/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and handing on the environment; see preload/environment.h. */
#include "preload/environment.h"

#include "collectors/stacks_memory.h"
#include "preload/settings_parse.h"
#include "writer/state.h"
#include "writer/sys.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include "writer/poison.h"

#pragma weak pthread_getcpuclockid /* preload/guard.h says why */

extern char **environ;
extern void *__libc_stack_end __attribute__((weak));

/* The value handed on: 32 + 16 + 8 + 8 + 8 + 16 digits, five colons, the name, '=', the end. */
#define VALUE_BYTES 128

static int is_allowed = 1; /* setting ENV; written at start-up */
static int is_preloaded; /* the environment named us; written at start-up */

/* Before libc's own constructor has run, environ is NULL: the kernel put argc, argv, 0, envp, 0 at the stack's end. */
char *const *tfp_environment(void)
{
	static char *const nothing[1];

	if (environ)
		return environ;
	if (!&__libc_stack_end || !__libc_stack_end)
		return nothing;
	uintptr_t *words = __libc_stack_end;
	return (char *const *)(words + 1 + words[0] + 1);
}

/*
 * Texts lie above the words that point to them. A loader before glibc 2.36 that was run by hand puts the number of words that are
 * left where the last of its own was: `ld.so program` makes the first of them a small number.
 */
const char *tfp_environment_words(size_t *bytes)
{
	char *const *words = &__libc_stack_end && __libc_stack_end ? (char *const *)__libc_stack_end + 1 : NULL;
	const char *end = words ? words[0] : NULL;

	if ((uintptr_t)end < (uintptr_t)words)
		return NULL;
	for (size_t i = 0; end && words[i]; i++) {
		if (words[i] != end)
			return NULL; /* the host has moved them */
		end += tfp_length(end) + 1;
	}
	*bytes = end ? (size_t)(end - words[0]) : 0;
	return end ? words[0] : NULL;
}

static const char *value_of(const char *entry, const char *name)
{
	while (*name && *entry == *name) {
		entry++;
		name++;
	}
	return !*name && *entry == '=' ? entry + 1 : NULL;
}

const char *tfp_environment_get(const char *name)
{
	for (char *const *entry = tfp_environment(); *entry; entry++) {
		const char *value = value_of(*entry, name);
		if (value)
			return value;
	}
	return NULL;
}

void tfp_environment_allow(int allowed)
{
	is_allowed = allowed;
	is_preloaded = tfp_environment_get("LD_PRELOAD") != NULL;
}

static char *put_hex(char *at, uint64_t value, unsigned digits)
{
	while (digits--)
		*at++ = "0123456789abcdef"[value >> (4 * digits) & 15];
	return at;
}

/* Of a program that is passed over; written once at its start, kept by its fork children. */
static struct tfp_descent passed_on;
static int is_passing_on;

void tfp_environment_pass_on(const struct tfp_descent *descent)
{
	passed_on = *descent;
	is_passing_on = 1;
}

/* What our children are told: our log, or what we were told ourselves. */
static struct tfp_descent told(void)
{
	struct tfp_descent ours = {.parent_log_id = tfp_origin.log_id, .exec_count = tfp_origin.exec_count + 1};

	tfp_copy(ours.job_id, tfp_origin.job_id, sizeof ours.job_id);
	return is_passing_on ? passed_on : ours;
}

#define FOR_CHILD UINT32_C(0x80000000)

static void write_value(char *at, int is_spawn)
{
	struct tfp_descent descent = told();

	for (const char *name = TFP_PARENT_VARIABLE "="; *name; name++)
		*at++ = *name;
	for (int i = 0; i < 16; i++)
		at = put_hex(at, descent.job_id[i], 2);
	*at++ = ':';
	at = put_hex(at, descent.parent_log_id, 16);
	*at++ = ':';
	at = put_hex(at, descent.exec_count, 8);
	*at++ = ':';
	at = put_hex(at, (uint64_t)tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0) | (is_spawn ? FOR_CHILD : 0), 8);
	*at++ = ':';
	at = put_hex(at, descent.parent_pid, 8);
	*at++ = ':';
	at = put_hex(at, descent.parent_start, 16);
	*at = 0;
}

int tfp_thread_is_lent(void)
{
	clockid_t clock; /* ~thread << 3 and some bits */

	return pthread_getcpuclockid && !pthread_getcpuclockid(pthread_self(), &clock) &&
	       ~(clock >> 3) != (int)tfp_sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* A vfork child runs in the memory of a process that it is not. */
static int is_borrowed(const struct tfp_thread *self)
{
	return self ? tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0) != (long)tfp_state->pid : tfp_thread_is_lent();
}

#define LENDERS 64 /* threads without a state, at a time */

struct lent {
	uintptr_t owner; /* thread, 0 = free */
	void *pages;
	uint64_t bytes;
};

/* Of a thread without a state, as all are of a program that is passed over. It is never given back: a later thread has the same number. */
static struct lent *lent_without_state(void)
{
	static struct lent all[LENDERS];
	uintptr_t me = (uintptr_t)pthread_self();

	for (int i = 0; i < LENDERS; i++) {
		uintptr_t none = 0;
		if (__atomic_load_n(&all[i].owner, __ATOMIC_RELAXED) == me ||
		    __atomic_compare_exchange_n(&all[i].owner, &none, me, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || none == me)
			return &all[i];
	}
	return NULL;
}

/* The pages that the thread's last vfork child used, if they are large enough; it has exec'ed or ended since. */
static void *lent_pages(struct tfp_thread *self, size_t bytes)
{
	struct lent *other = self ? NULL : lent_without_state();
	void **pages = self ? &self->lent : other ? &other->pages : NULL;
	uint64_t *had = self ? &self->lent_bytes : other ? &other->bytes : NULL;

	if (!pages)
		return NULL;
	if (*had < bytes) {
		if (*pages)
			tfp_pages_put(*pages, *had);
		*pages = tfp_pages_get(2 * bytes, 1);
		*had = *pages ? 2 * bytes : 0;
	}
	return *pages;
}

/* `known`: the page that was asked for last, and can be read. */
static int can_read(uintptr_t *known, uintptr_t address)
{
	if (address >> 12 == *known)
		return 1;
	if (!tfp_stack_memory_can_read(address & ~(uintptr_t)7))
		return 0;
	*known = address >> 12;
	return 1;
}

/* Whether the entry is that variable's. -1: there is a page that cannot be read. */
static int is_named(uintptr_t *known, const char *entry, const char *name)
{
	for (;; entry++, name++) {
		if (!can_read(known, (uintptr_t)entry))
			return -1;
		if (!*name || *entry != *name)
			return !*name && *entry == '=';
	}
}

#define NO_ENVIRONMENT (-1L)
#define NO_PRELOAD (-2L)

/* How many entries, or one of these: what the host has given is no environment, which the kernel says better than a crash. */
static long count_entries(char *const *environment, uintptr_t *known)
{
	uintptr_t table = UINTPTR_MAX;
	int has_preload = 0;

	for (long count = 0;; count++) {
		uintptr_t at = (uintptr_t)(environment + count);
		if (!can_read(&table, at) || !can_read(&table, at + sizeof(char *) - 1))
			return NO_ENVIRONMENT;
		if (!environment[count])
			return has_preload ? count : NO_PRELOAD;
		int is_preload = is_named(known, environment[count], "LD_PRELOAD");
		if (is_preload < 0 || is_named(known, environment[count], TFP_PARENT_VARIABLE) < 0)
			return NO_ENVIRONMENT;
		has_preload |= is_preload;
	}
}

char *const *tfp_environment_make(struct tfp_environment *changed, char *const *environment, int is_spawn)
{
	uintptr_t known = UINTPTR_MAX;
	size_t used = 0;

	changed->pages = NULL;
	long found = environment ? count_entries(environment, &known) : NO_PRELOAD; /* no table at all is an empty one */
	changed->is_without = found == NO_PRELOAD && is_preloaded;
	if (found < 0 || !is_allowed || !(tfp_origin.log_id || is_passing_on))
		return environment;
	size_t count = (size_t)found;
	changed->bytes = (count + 2) * sizeof(char *) + VALUE_BYTES;
	struct tfp_thread *self = tfp_thread_ready();
	char **copy = is_borrowed(self) ? lent_pages(self, changed->bytes) : (changed->pages = tfp_pages_get(changed->bytes, 0));
	if (!copy)
		return environment;
	char *value = (char *)(copy + count + 2);
	for (size_t i = 0; i < count; i++)
		if (!value_of(environment[i], TFP_PARENT_VARIABLE))
			copy[used++] = environment[i];
	write_value(value, is_spawn);
	copy[used++] = value;
	copy[used] = NULL;
	return copy;
}

void tfp_environment_drop(struct tfp_environment *changed)
{
	if (changed->pages)
		tfp_pages_put(changed->pages, changed->bytes);
}

#define OFFERED 4 /* variables offered at once */

/* "name=value" at `at`; what lies behind it. */
static char *put_variable(char *at, const char *name, const char *value)
{
	while (*name)
		*at++ = *name++;
	*at++ = '=';
	while (*value)
		*at++ = *value++;
	*at++ = 0;
	return at;
}

/* libc takes a table that is not its own for the host's, and copies it before it adds to it: ours may stay where it is. */
void tfp_environment_offer(const char *const *names, const char *value)
{
	const char *missing[OFFERED];
	size_t count = 0, used = 0, bytes = sizeof(char *);

	if (!is_allowed || !environ || !value[0])
		return;
	for (; *names && count < OFFERED; names++)
		if (!tfp_environment_get(*names)) {
			missing[count++] = *names;
			bytes += tfp_length(*names) + tfp_length(value) + 2 + sizeof(char *);
		}
	while (environ[used])
		used++;
	char **table = count ? tfp_pages_get(bytes + used * sizeof(char *), 0) : NULL;
	if (!table)
		return;
	char *text = (char *)(table + used + count + 1);
	for (size_t i = 0; i < used; i++)
		table[i] = environ[i];
	for (size_t i = 0; i < count; i++) {
		table[used + i] = text;
		text = put_variable(text, missing[i], value);
	}
	environ = table;
}

void tfp_environment_settle(const char *name, const char *was, const char *value)
{
	const char *const names[] = {name, NULL};
	size_t used = 0;

	if (!tfp_environment_get(name)) {
		tfp_environment_offer(names, value);
		return;
	}
	if (!is_allowed || !environ)
		return;
	while (environ[used])
		used++;
	char **table = tfp_pages_get((used + 1) * sizeof(char *) + tfp_length(name) + tfp_length(value) + 2, 0);
	if (!table)
		return;
	char *text = (char *)(table + used + 1);
	put_variable(text, name, value);
	for (size_t i = 0; i < used; i++) {
		const char *had = value_of(environ[i], name);
		table[i] = had && tfp_same_text(had, was) ? text : environ[i];
	}
	environ = table;
}

/* In place, as unsetenv does it: there is one thread, and what is behind moves up. A table without ours may be one that is only read. */
void tfp_environment_withdraw(const char *const *names, const char *value)
{
	if (!is_allowed || !environ || !value[0])
		return;
	for (; *names; names++) {
		char **to = environ, **from = environ;
		for (; *from; from++) {
			const char *found = value_of(*from, *names);
			if (found && tfp_same_text(found, value))
				continue;
			if (to != from)
				*to = *from;
			to++;
		}
		if (to != from)
			*to = NULL;
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* `digits` hex digits; NULL when they are not there. */
static const char *take_hex(const char *at, unsigned digits, uint64_t *value)
{
	*value = 0;
	while (digits--) {
		int digit = hex_digit(*at++);
		if (digit < 0)
			return NULL;
		*value = *value << 4 | (uint64_t)digit;
	}
	return at;
}

static const char *take_job(const char *at, uint8_t *job_id)
{
	uint64_t byte = 0;

	for (int i = 0; at && i < 16; i++) {
		at = take_hex(at, 2, &byte);
		job_id[i] = (uint8_t)byte;
	}
	if (!at)
		tfp_fill(job_id, 0, 16);
	return at;
}

/* The numbers behind the job id, each after a colon; NULL where one is missing. */
static const char *take_numbers(const char *at, const unsigned *digits, uint64_t *numbers, int count)
{
	for (int i = 0; at && i < count; i++)
		at = *at == ':' ? take_hex(at + 1, digits[i], &numbers[i]) : NULL;
	return at;
}

void tfp_environment_descent(struct tfp_descent *descent)
{
	static const unsigned digits[5] = {16, 8, 8, 8, 16};
	const char *parent = tfp_environment_get(TFP_PARENT_VARIABLE);
	const char *job = tfp_environment_get(TFP_JOB_VARIABLE);
	uint64_t numbers[5];

	tfp_fill(descent, 0, sizeof *descent);
	if (job)
		take_job(job, descent->job_id);
	if (!parent)
		return;
	if (!take_numbers(take_job(parent, descent->job_id), digits, numbers, 5))
		return;
	uint64_t meant = (uint64_t)tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
	if (numbers[2] & FOR_CHILD)
		meant = (uint64_t)tfp_sys(SYS_getppid, 0, 0, 0, 0, 0, 0) | FOR_CHILD;
	if (numbers[2] != meant)
		return; /* stale: meant for somebody else; the job is the same all the same */
	descent->parent_log_id = numbers[0];
	descent->exec_count = (uint32_t)numbers[1];
	descent->parent_pid = (uint32_t)numbers[3];
	descent->parent_start = numbers[4];
}
