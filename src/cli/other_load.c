/* other_load.c - what /proc/stat counts beyond this program itself. */
#include "cli/other_load.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/threads.h"
#include "cli/sensors.h"

bool fct_load_parse(const char *text, uint64_t *busy, uint64_t *stolen) {
    unsigned long long user, nice, system, idle, wait, irq, soft, steal;
    if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
               &wait, &irq, &soft, &steal) != 8)
        return false;
    *busy = user + nice + system + irq + soft;
    *stolen = steal;
    return true;
}

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static double own_seconds(int who) {
    struct rusage usage;
    if (getrusage(who, &usage) != 0) return 0;
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

void fct_load_mark_set(const char *root, struct fct_load_mark *mark) {
    uint64_t busy = 0, stolen = 0;
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    char *text = fct_system_text(root, "/proc/stat");
    *mark = (struct fct_load_mark){.known = text && fct_load_parse(text, &busy, &stolen)};
    fct_free(text);
    mark->seconds = fct_seconds();
    mark->busy = (double)busy * tick;
    mark->stolen = (double)stolen * tick;
    mark->own = own_seconds(RUSAGE_SELF) + own_seconds(RUSAGE_CHILDREN);
}

struct fct_load_shares fct_load_between(const struct fct_load_mark *begin,
                                        const struct fct_load_mark *end, int n_cpus) {
    struct fct_load_shares shares = {end->seconds - begin->seconds, NAN, NAN};
    double room = shares.seconds * n_cpus;
    if (!begin->known || !end->known || room <= 0) return shares;
    shares.others = fmax(0, end->busy - begin->busy - (end->own - begin->own)) / room;
    shares.stolen = fmax(0, end->stolen - begin->stolen) / room;
    return shares;
}
