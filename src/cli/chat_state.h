/* chat_state.h - a conversation at work: what its turns and its commands share. */
#ifndef FCT_CLI_CHAT_STATE_H
#define FCT_CLI_CHAT_STATE_H

#include "cli/answer_stream.h"
#include "cli/conversation.h"
#include "cli/format_choice.h"
#include "cli/line_edit.h"
#include "cli/model_choice.h"
#include "cli/sampling_choice.h"

enum fct_on_full { FCT_ON_FULL_STOP, FCT_ON_FULL_ROLL };

/* What the command line, and later /set, says. */
struct fct_chat_options {
    struct fct_model_choice model;
    struct fct_sampling_choice sampling;
    struct fct_format_choice format;
    int max_tokens, max_thought;
    const char *system, *load, *session_path;
    bool think, zero;
    int thoughts; /* enum fct_thoughts */
    int on_full;  /* enum fct_on_full */
    struct fct_text_list stops;
};

struct fct_chat {
    struct fct_chat_options options;
    fct_model *model;
    fct_session *session;
    fct_constraint *constraint; /* on all answers; NULL: none */
    /* What /set says of them, or NULL; the options point here then. */
    char *schema, *stop;
    const char *stops[1];
    struct fct_conversation conversation;
    fct_line_edit *edit;    /* NULL: prompts come from a pipe or a file */
    struct fct_style style; /* of stderr */
    char *attached;         /* goes in front of the next prompt */
    char *draft;            /* what the next prompt begins with */
    bool replaces;          /* the next prompt is asked instead of the last question */
    char *thought;          /* of the last answer */
    bool over;              /* /quit */
    bool failed;            /* something that a script asked for could not be done */
    bool stopped;           /* the last thing that happened was Ctrl+C */
    struct {
        int n_answers, n_dropped;
        int last_read, last_reused; /* of the last prompt */
        long n_tokens, n_decoded, n_read, n_reused;
        double decode_seconds;
    } totals;
};

/* ---- lines on stderr: chat_lines.c ---- */

/* A dim line for the person, not with --quiet. */
void fct_chat_note(const struct fct_chat *chat, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What a command was asked to show. */
void fct_chat_show(const struct fct_chat *chat, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A line of /help or /stats: a name, and what is told of it, folded to the terminal's width. */
void fct_chat_explain(const struct fct_chat *chat, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Something is wrong. */
void fct_chat_warn(const struct fct_chat *chat, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The line behind an answer. */
void fct_chat_report(const struct fct_chat *chat, const fct_generation *generation);
void fct_chat_stats(const struct fct_chat *chat); /* of /stats */

/* ---- turns: chat_turn.c, chat_fit.c ---- */

/* Asks text (valid UTF-8), with what is attached in front, and prints the answer. */
void fct_chat_ask(struct fct_chat *chat, const char *text);
/* Answers the conversation's last question, which has no answer. What cannot be answered is taken
 * back. */
void fct_chat_answer(struct fct_chat *chat);

/* The ids of the conversation, which waits for an answer: as it is, or without its oldest turns if
 * that is the policy. FCT_ERR_CONTEXT, saying what can be done, if it does not fit. */
fct_status fct_chat_fit(struct fct_chat *chat, int **ids, int *n_ids, fct_error *err);
/* Says so when little is left of the context. */
void fct_chat_warn_of_end(const struct fct_chat *chat);

/* ---- commands: chat_commands.c, chat_settings.c, chat_files.c ---- */

/* Asks text instead of the last question; if that is stopped before an answer, nothing changes. */
void fct_chat_replace(struct fct_chat *chat, const char *text);

/* Is this line a command? Behind "//" stands text that begins with '/'. */
bool fct_chat_is_command(const char *line);
void fct_chat_command(struct fct_chat *chat, const char *line);
const char *const *fct_chat_command_names(void); /* NULL-terminated */

/* argument is what stands behind the command's name, without white space around it. */
void fct_chat_set(struct fct_chat *chat, const char *argument);
void fct_chat_system(struct fct_chat *chat, const char *argument);
void fct_chat_think(struct fct_chat *chat, const char *argument);
void fct_chat_read_file(struct fct_chat *chat, const char *argument);
void fct_chat_save(struct fct_chat *chat, const char *argument);
void fct_chat_load(struct fct_chat *chat, const char *argument);
/* "~/notes.txt" as a shell has it; the caller's. */
char *fct_chat_path(const char *path, fct_error *err);
/* The conversation in this file, with what the session held if that can be taken. */
fct_status fct_chat_take_up(struct fct_chat *chat, const char *path, fct_error *err);

/* The options of the command, some of which /set can change. */
extern const struct fct_option fct_chat_own_options[];

#endif
