/* machine_watch.c - looks at sensors and power meter once a second, beside threads that work. */
#include "cli/machine_watch.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

struct fct_watch {
    char *root;
    fct_power_meter *meter;
    pthread_t thread;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t wake;
    bool running, stopping, measuring;
    struct fct_watched seen;
    struct fct_energy_samples samples;
    fct_status status; /* of what the thread did */
};

void fct_watched_take(struct fct_watched *watched, const struct fct_sensors *now, bool measuring) {
    if (watched->n_looks++ == 0) {
        watched->first = *now;
        watched->max_celsius = watched->min_clock_hz = NAN;
        watched->n_throttled = -1;
    }
    /* fmax and fmin pass over what is not known. */
    watched->max_celsius = fmax(watched->max_celsius, now->celsius);
    if (measuring) watched->min_clock_hz = fmin(watched->min_clock_hz, now->clock_hz);
    if (now->throttle_known) {
        unsigned new_since_boot = (now->throttle & ~watched->first.throttle) >> FCT_SINCE_BOOT;
        watched->throttle_known = true;
        watched->slowed |= (now->throttle | new_since_boot) & FCT_SLOWED;
    }
    if (now->n_throttled >= 0 && watched->first.n_throttled >= 0)
        watched->n_throttled = now->n_throttled - watched->first.n_throttled;
    watched->last = *now;
}

/* With the lock held. */
static fct_status look(struct fct_watch *watch, fct_error *err) {
    struct fct_sensors now;
    fct_status status = FCT_OK;
    if (watch->meter) {
        double value = fct_power_meter_read(watch->meter);
        if (isfinite(value)) status = fct_energy_add(&watch->samples, fct_seconds(), value, err);
    }
    fct_sensors_read(watch->root, &now);
    fct_watched_take(&watch->seen, &now, watch->measuring);
    return status;
}

static void *watching(void *user) {
    struct fct_watch *watch = user;
    pthread_mutex_lock(&watch->lock);
    while (!watch->stopping) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += (time_t)FCT_WATCH_SECONDS;
        if (pthread_cond_timedwait(&watch->wake, &watch->lock, &until) != ETIMEDOUT) continue;
        fct_status status = look(watch, NULL);
        if (!watch->status) watch->status = status;
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

fct_watch *fct_watch_new(const char *root, fct_power_meter *meter, fct_error *err) {
    pthread_condattr_t attributes;
    fct_watch *watch = fct_new(sizeof *watch, err);
    if (!watch) return NULL;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watch->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&watch->lock, NULL);
    watch->meter = meter;
    watch->samples.counts = meter && fct_power_meter_counts(meter);
    watch->root = fct_copy_text(root, strlen(root), err);
    if (!watch->root || look(watch, err) != FCT_OK) goto failed;
    int code = pthread_create(&watch->thread, NULL, watching, watch);
    if (code) {
        fct_fail(err, FCT_ERR_MEMORY, "no thread to watch the machine: %s", strerror(code));
        goto failed;
    }
    watch->running = true;
    return watch;
failed:
    fct_watch_free(watch);
    return NULL;
}

void fct_watch_stop(fct_watch *watch) {
    if (!watch->running) return;
    pthread_mutex_lock(&watch->lock);
    watch->stopping = true;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    watch->running = false;
}

void fct_watch_free(fct_watch *watch) {
    if (!watch) return;
    fct_watch_stop(watch);
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
    fct_energy_free(&watch->samples);
    fct_free(watch->root);
    fct_free(watch);
}

static fct_status set_measuring(fct_watch *watch, bool measuring, fct_error *err) {
    pthread_mutex_lock(&watch->lock);
    fct_status status = watch->status;
    if (status) fct_fail(err, status, "no memory for what the power meter says");
    watch->measuring = false; /* the clock may rest at either end */
    if (!status) status = look(watch, err);
    watch->measuring = measuring;
    pthread_mutex_unlock(&watch->lock);
    return status;
}

fct_status fct_watch_begin(fct_watch *watch, fct_error *err) {
    return set_measuring(watch, true, err);
}

fct_status fct_watch_end(fct_watch *watch, fct_error *err) {
    return set_measuring(watch, false, err);
}

void fct_watch_split(fct_watch *watch) {
    if (!watch->samples.counts || pthread_mutex_trylock(&watch->lock) != 0) return;
    double value = fct_power_meter_read(watch->meter);
    if (isfinite(value)) fct_energy_add(&watch->samples, fct_seconds(), value, NULL);
    pthread_mutex_unlock(&watch->lock);
}

struct fct_watched fct_watch_seen(fct_watch *watch) {
    pthread_mutex_lock(&watch->lock);
    struct fct_watched seen = watch->seen;
    pthread_mutex_unlock(&watch->lock);
    return seen;
}

const struct fct_energy_samples *fct_watch_samples(const fct_watch *watch) {
    return &watch->samples;
}
