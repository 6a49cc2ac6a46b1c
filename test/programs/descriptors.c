/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptors FOLDER COUNT SEED: COUNT times at random one of closefrom, close_range, close of any number, dup2 onto any
 * number, and open of one of its own files, with allocations in between. Its files hold 'F' bytes only; at the end each
 * must still be just that. Prints nothing but the first wrong file. Seeded, so that a failure can be repeated.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 16
#define FILE_BYTES 40000

static uint64_t seed;

static unsigned random_below(unsigned limit)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % limit;
}

static const char *name(int number)
{
	static char text[16];
	snprintf(text, sizeof text, "f%d", number);
	return text;
}

static void fill(void)
{
	static char bytes[FILE_BYTES];
	memset(bytes, 'F', sizeof bytes);
	for (int i = 0; i < FILES; i++) {
		int fd = open(name(i), O_CREAT | O_TRUNC | O_RDWR, 0666);
		if (fd < 0 || write(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes || close(fd))
			exit(1);
	}
}

static int is_whole(int number)
{
	static char bytes[FILE_BYTES + 1];
	int fd = open(name(number), O_RDONLY);
	struct stat status;
	if (fd < 0 || fstat(fd, &status) || status.st_size != FILE_BYTES)
		return 0;
	ssize_t got = read(fd, bytes, sizeof bytes);
	close(fd);
	for (ssize_t i = 0; i < got; i++)
		if (bytes[i] != 'F')
			return 0;
	return got == FILE_BYTES;
}

static void act(int limit)
{
	int low = 3 + (int)random_below((unsigned)limit - 3), fd;
	switch (random_below(8)) {
	case 0: closefrom(3); break;
	case 1: closefrom(low); break;
	case 2: close_range((unsigned)low, ~0u, 0); break;
	case 3: close(low); break;
	case 4: close_range((unsigned)low, (unsigned)low + random_below(64), 0); break;
	case 5:
		fd = open(name((int)random_below(FILES)), O_RDWR);
		if (fd >= 0 && fd != low)
			dup2(fd, low);
		break;
	case 6:
		fd = open(name((int)random_below(FILES)), O_RDWR);
		if (fd >= 0 && fd != low)
			dup3(fd, low, O_CLOEXEC);
		break;
	default: /* many descriptors at once, so that every number is one of ours */
		do
			fd = open(name((int)random_below(FILES)), O_RDWR | O_APPEND * (int)random_below(2));
		while (fd >= 0 && random_below(20));
	}
}

int main(int count, char **words)
{
	struct rlimit files;
	if (count != 4 || chdir(words[1]) || getrlimit(RLIMIT_NOFILE, &files))
		return 2;
	seed = strtoull(words[3], NULL, 10);
	fill();
	for (int i = atoi(words[2]); i > 0; i--) {
		act((int)files.rlim_cur);
		for (unsigned blocks = random_below(400); blocks; blocks--)
			free(malloc(random_below(2000)));
	}
	closefrom(3);
	for (int i = 0; i < FILES; i++)
		if (!is_whole(i)) {
			fprintf(stderr, "descriptors: seed %s: somebody wrote into %s\n", words[3], name(i));
			return 1;
		}
	return 0;
}
