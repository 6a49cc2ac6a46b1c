/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that reads in every way the library stands in front of: reads FOLDER
 *
 * Makes FOLDER/data (1,000,000 bytes), reads it by each function, fails on purpose, is cancelled inside a read, reuses a
 * descriptor number behind the library's back, reads in a fork child. Prints results and errno, which must be the same
 * without the library.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 1000000

static char path[4000], other[4000];
static char buffer[SIZE];

static void say(const char *what, long result)
{
	printf("%s %ld %s\n", what, result, result < 0 ? strerror(errno) : "-");
}

static void make(const char *name, char letter)
{
	FILE *file = fopen(name, "w");

	memset(buffer, letter, SIZE);
	fwrite(buffer, 1, SIZE, file);
	fclose(file);
}

static void each_way(void)
{
	int file = open(path, O_RDONLY);
	struct iovec parts[2] = {{buffer, 1000}, {buffer + 5000, 2000}};
	long sum = 0;

	for (int i = 0; i < 100; i++)
		sum += read(file, buffer, 10000);
	say("read", sum);
	say("read at the end", read(file, buffer, 10000));
	say("pread", pread(file, buffer, 5000, 999000));
	say("readv", (lseek(file, 0, SEEK_SET), readv(file, parts, 2)));
	say("preadv", preadv(file, parts, 2, 500));
	say("preadv2", preadv2(file, parts, 2, 500, 0));
	say("preadv2, at the place", preadv2(file, parts, 1, -1, 0));
	say("preadv2, no such flag", preadv2(file, parts, 1, 0, 1 << 30));
	void *map = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, file, 0);
	say("mmap", map == MAP_FAILED ? -1 : ((char *)map)[70000]);
	munmap(map, SIZE);
	close(file);
	FILE *stream = fopen(path, "r");
	say("fread", (long)fread(buffer, 1000, 500, stream));
	say("fread, small", (long)fread(buffer, 1, 100, stream));
	fclose(stream);
}

static void failures(void)
{
	int file;

	say("read of nothing", read(987, buffer, 10));
	say("open of nothing", open("/nowhere/at/all", O_RDONLY));
	file = open(path, O_WRONLY);
	say("read of a file for writing", read(file, buffer, 10));
	close(file);
	file = open(path, O_RDONLY);
	void *volatile nowhere = (void *)8;
	say("read to nowhere", read(file, nowhere, 10));
	close(file);
}

static void sockets(void)
{
	int pair[2], ends[2];

	socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
	say("recv of nothing", recv(pair[0], buffer, 10, 0));
	say("send", send(pair[1], buffer, 500, 0));
	say("recv", recv(pair[0], buffer, 300, 0));
	say("recvfrom", recvfrom(pair[0], buffer, 300, 0, NULL, NULL));
	pipe(ends);
	say("write", write(ends[1], buffer, 70));
	say("read of a pipe", read(ends[0], buffer, 100));
}

static void *waits(void *end)
{
	char byte;

	read(*(int *)end, &byte, 1); /* for ever */
	return NULL;
}

/* A thread that is cancelled inside the call never comes back from it; the others must not notice. */
static void cancelled(void)
{
	int ends[2];
	pthread_t thread;
	void *result;

	pipe(ends);
	for (int i = 0; i < 20; i++) {
		pthread_create(&thread, NULL, waits, &ends[0]);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		if (result != PTHREAD_CANCELED)
			printf("not cancelled\n");
	}
}

/* The number is closed by a system call and used for another file: nothing that was known of it may be believed for long. */
static void behind_the_back(void)
{
	int file = open(path, O_RDONLY);

	read(file, buffer, 100);
	syscall(SYS_close, file);
	int again = (int)syscall(SYS_openat, AT_FDCWD, other, O_RDONLY, 0);
	long sum = 0;
	for (int i = 0; i < 1000; i++)
		sum += read(again, buffer, 100);
	say(again == file ? "the same number" : "another number", sum);
	close(again);
}

static void *reads(void *unused)
{
	int file = open(path, O_RDONLY);

	for (int i = 0; i < 50; i++)
		pread(file, buffer, 2000, i * 2000);
	close(file);
	return unused;
}

int main(int count, char **words)
{
	pthread_t threads[3];

	if (count < 2)
		return 2;
	snprintf(path, sizeof path, "%s/data", words[1]);
	snprintf(other, sizeof other, "%s/other", words[1]);
	make(path, 'a');
	make(other, 'b');
	each_way();
	failures();
	sockets();
	cancelled();
	behind_the_back();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, reads, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		reads(NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return 0;
}
