/* demo_session.h - for tests: the demo model and a session of it, opened once for a group. */
#ifndef TESTS_DEMO_SESSION_H
#define TESTS_DEMO_SESSION_H

#include "made_model.h"

static fct_model *demo;
static fct_session *session;

static int open_demo(int context) {
    fct_error err = {0};
    demo = fct_model_open(NULL, NULL, &err);
    if (!demo) fail_msg("%s", err.message);
    session = made_session(demo, &(fct_session_options){.context = context});
    return 0;
}

static int close_demo(void **state) {
    (void)state;
    fct_session_free(session);
    fct_model_free(demo);
    return 0;
}

#endif
