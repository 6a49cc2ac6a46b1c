/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outside drainer as a process: finds the job's logs in the output directory, looks after each, leaves with the job.
 *
 * Rule: it holds nothing of the person's: no terminal, no descriptor, no directory, no child, so that pipes close and
 * file systems unmount as they would without it.
 */
#include "launcher/helper.h"

#include "launcher/drainer.h"
#include "launcher/say.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Pauses between two looks. A chunk of 256 KiB fills in 0.5 ms at 15 M events a second, and a thread has three. */
#define BUSY_NS 300000L
#define CALM_NS 5000000L
#define IDLE_NS 20000000L  /* a program takes a beat older than 250 ms for none */
#define CALM_ROUNDS 200    /* looks without work until the pause grows */
#define IDLE_ROUNDS 400
#define FINISH_MS 1000     /* what `tfprof run` waits for a helper at most */

struct log {
	char *path;
	struct drainer *drainer; /* NULL: its process is gone, or it is not of this job */
	struct log *next;
};

struct helping {
	const struct tfp_settings *settings;
	const uint8_t *job_id;
	int notify; /* inotify on the output directory */
	int alive, done;
	struct log *logs;
};

static int is_known(const struct helping *helping, const char *path)
{
	const struct log *log;

	for (log = helping->logs; log; log = log->next)
		if (!strcmp(log->path, path))
			return 1;
	return 0;
}

static void take(struct helping *helping, char *path)
{
	struct drainer *drainer = drainer_open(path, helping->job_id, helping->settings);
	struct log *log = drainer ? malloc(sizeof *log) : NULL;

	if (!log) {
		if (drainer)
			drainer_close(drainer);
		free(path); /* perhaps not whole yet: it is met again at the next look through the directory */
		return;
	}
	log->path = path;
	log->drainer = drainer;
	log->next = helping->logs;
	helping->logs = log;
}

/* Opens what is new in the output directory. */
static void look_through(struct helping *helping)
{
	DIR *folder = opendir(helping->settings->out);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		const char *suffix = strrchr(entry->d_name, '.');
		char *path;

		if (!suffix || strcmp(suffix, ".tfp"))
			continue;
		path = say_text("%s/%s", helping->settings->out, entry->d_name);
		if (is_known(helping, path))
			free(path);
		else
			take(helping, path);
	}
	if (folder)
		closedir(folder);
}

/* Returns how many chunks were written. Logs of dead processes are drained a last time and let go. */
static size_t look_after(struct helping *helping, int *processes)
{
	size_t written = 0;
	struct log *log;

	*processes = 0;
	for (log = helping->logs; log; log = log->next) {
		int is_there = log->drainer && drainer_has_process(log->drainer);

		if (log->drainer)
			written += drainer_look(log->drainer);
		if (log->drainer && !is_there) {
			drainer_close(log->drainer);
			log->drainer = NULL;
		}
		*processes += is_there;
	}
	return written;
}

/* Sleeps, less when a file appears. Returns 1 when something changed in the directory. */
static int pause_for(struct helping *helping, long ns)
{
	struct pollfd wait[2] = {{helping->notify, POLLIN, 0}, {helping->alive, POLLIN, 0}};
	struct timespec time = {0, ns};
	char events[4096];

	if (ppoll(wait, 2, &time, NULL) <= 0)
		return 0;
	if (wait[1].revents && helping->done >= 0) {
		close(helping->alive); /* the launcher waits: one more look, then it is told */
		helping->alive = -1;
	}
	return wait[0].revents && read(helping->notify, events, sizeof events) > 0;
}

static _Noreturn void help(struct helping *helping)
{
	int processes = 0, rounds = 0, is_last = 0;

	look_through(helping);
	for (;;) {
		size_t written = look_after(helping, &processes);

		rounds = written ? 0 : rounds + 1;
		if (is_last && helping->done >= 0) {
			close(helping->done); /* what the launcher waits for */
			helping->done = -1;
		}
		if (is_last && !processes)
			_exit(0);
		if (pause_for(helping, rounds < CALM_ROUNDS ? BUSY_NS : rounds < IDLE_ROUNDS ? CALM_NS : IDLE_NS) ||
		    rounds % CALM_ROUNDS == 1 || helping->alive < 0)
			look_through(helping);
		is_last = helping->alive < 0;
	}
}

/* Lets go of everything inherited but the two pipe ends, which become 0 and 1. */
static void detach(struct helping *helping)
{
	int alive = fcntl(helping->alive, F_DUPFD, 3), done = fcntl(helping->done, F_DUPFD, 3), descriptor;
	int null = open("/dev/null", O_RDWR);

	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, "tfprof-helper");
	setsid();
	if (alive < 0 || done < 0 || null < 0)
		_exit(1); /* the program drains itself */
	dup2(alive, 0);
	dup2(done, 1);
	dup2(null, 2);
	for (descriptor = 3; descriptor < 1024; descriptor++)
		close(descriptor);
	helping->alive = 0;
	helping->done = 1;
	helping->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	/* without inotify new logs are found some milliseconds later, see help() */
	inotify_add_watch(helping->notify, helping->settings->out, IN_CREATE | IN_MOVED_TO);
	if (chdir("/"))
		_exit(1);
}

struct helper helper_start(const struct tfp_settings *settings, const uint8_t job_id[16])
{
	struct helper none = {-1, -1};
	int alive[2], done[2], status;
	pid_t child;

	if (settings->drain != TFP_DRAIN_HELPER)
		return none;
	if (settings->max_bytes && settings->full == TFP_FULL_WRAP) {
		say_line("--drain=helper cannot give up old events (--full=wrap): the program drains itself");
		return none;
	}
	if (settings->max_total_bytes) {
		say_line("--drain=helper does not know of --max-total-bytes: the program drains itself");
		return none;
	}
	if (pipe2(alive, O_CLOEXEC) || pipe2(done, O_CLOEXEC) || (child = fork()) < 0) {
		say_line("no helper: %s; the program drains itself", strerror(errno));
		return none;
	}
	if (!child) {
		struct helping helping = {settings, job_id, -1, alive[0], done[1], NULL};

		if (fork())
			_exit(0);
		close(alive[1]);
		close(done[0]);
		detach(&helping);
		help(&helping);
	}
	close(alive[0]);
	close(done[1]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return (struct helper){alive[1], done[0]};
}

void helper_finish(struct helper *helper)
{
	struct pollfd wait = {helper->done, POLLIN, 0};

	if (helper->alive < 0)
		return;
	close(helper->alive);
	poll(&wait, 1, FINISH_MS);
	close(helper->done);
	helper->alive = helper->done = -1;
}
