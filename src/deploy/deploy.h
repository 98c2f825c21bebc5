/* deploy.h - program, model and service brought to another machine over ssh. The one header of this
 * room that the program includes. */
#ifndef FCT_DEPLOY_DEPLOY_H
#define FCT_DEPLOY_DEPLOY_H

#include "facet.h"

#define FCT_DEPLOY_FOLDER "~/.local/share/facet"
#define FCT_DEPLOY_BIN "~/.local/bin"
#define FCT_DEPLOY_SERVICE_FOLDER "/var/lib/facet"
#define FCT_DEPLOY_SOCKET "/run/facet.sock"

struct fct_deploy_options {
    const char *destination; /* "user@host", as ssh takes it */
    int port;                /* 0: as ssh is configured */
    const char *const *ssh_options;
    size_t n_ssh_options;
    bool no_program;
    const char *program;    /* NULL: one that runs there */
    const char *model;      /* NULL: none */
    const char *folder;     /* where the model goes; NULL: FCT_DEPLOY_FOLDER, or the service's */
    const char *bin;        /* where the program goes; NULL: FCT_DEPLOY_BIN */
    bool service;           /* install the systemd units; needs root there */
    bool dry_run;           /* look and compare, change nothing */
    int retries;            /* attempts in a row that bring nothing, before it gives up */
    double retry_seconds;   /* before the first of them; then twice as long each time */
    double timeout_seconds; /* without a sign of life from there, before it gives up; 0: no limit */
    const char *root;       /* NULL, or what stands for / over there where facts and units are; for
                             tests */
    fct_progress_fn progress;
    void (*note)(void *user, const char *line); /* what is found, done, and wrong */
    bool (*cancelled)(void *user);
    /* for a sudo over there that wants one; NULL or false: there is nobody to ask */
    bool (*password)(void *user, const char *prompt, char *out, size_t size);
    void *user;
};

/* Checks first, then copies, then gives files their names; can be repeated at will. */
fct_status fct_deploy(const struct fct_deploy_options *options, fct_error *err);

#endif
