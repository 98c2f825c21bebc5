/* standard_output.c - notices when what was printed did not get out. */
#include "cli/standard_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Why the first write failed: stdio keeps only that one did. It belongs to stdout, of which there
 * is one. */
static int first_fault;

void fct_standard_streams_guard(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) _exit(1);
}

bool fct_stdout_flush(void) {
    errno = 0;
    bool failed = fflush(stdout) != 0;
    if (failed && !first_fault) first_fault = errno;
    return !failed && !ferror(stdout);
}

bool fct_stdout_close(void) {
    bool good = fct_stdout_flush();
    errno = 0;
    if (fclose(stdout) != 0) {
        good = false;
        if (!first_fault) first_fault = errno;
    }
    if (!good && first_fault != EPIPE)
        fprintf(stderr, "facet: standard output: %s\n",
                first_fault ? strerror(first_fault) : "write error");
    return good;
}
