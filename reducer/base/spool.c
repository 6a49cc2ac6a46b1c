/* SPDX-License-Identifier: Apache-2.0 */
/* A file without a name. See spool.h. */
#include "reducer/base/spool.h"

#include "reducer/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder(void)
{
	const char *named = getenv("TMPDIR");

	return named && named[0] ? named : "/tmp";
}

/* Where the file system has no O_TMPFILE. */
static int open_named(void)
{
	struct text path = {0};
	int descriptor;

	text_format(&path, "%s/tfprof-XXXXXX", folder());
	descriptor = mkostemp(path.bytes, O_CLOEXEC);
	if (descriptor >= 0)
		unlink(path.bytes);
	text_free(&path);
	return descriptor;
}

int spool_open(void)
{
	int descriptor = open(folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (descriptor < 0)
		descriptor = open_named();
	if (descriptor < 0)
		base_die("no temporary file can be made in %s: %s; set TMPDIR to another folder", folder(), strerror(errno));
	return descriptor;
}

void spool_write(int descriptor, uint64_t offset, const void *bytes, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t got = pwrite(descriptor, (const char *)bytes + done, length - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			base_die("cannot write a temporary file in %s: %s; set TMPDIR to a folder with more room", folder(),
				 got < 0 ? strerror(errno) : "nothing was written");
		done += (size_t)got;
	}
}

size_t spool_read(int descriptor, uint64_t offset, void *bytes, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t got = pread(descriptor, (char *)bytes + done, length - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}
