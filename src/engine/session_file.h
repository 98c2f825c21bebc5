/* session_file.h - a session on disk (docs/SESSION.md). */
#ifndef FCT_ENGINE_SESSION_FILE_H
#define FCT_ENGINE_SESSION_FILE_H

#include "engine/session.h"

#define FCT_SESSION_FORMAT "facet-session"
enum { FCT_SESSION_VERSION = 1 };

/* fct_session_load for a file that lies in memory; path is for messages. */
fct_status fct_session_load_memory(fct_session *session, const char *path, const uint8_t *data,
                                   size_t size, char **conversation_json, fct_error *err);

#endif
