/* chat_fit.c - the end of the context: said before it comes, and what happens then. */
#include "base/error.h"
#include "cli/chat_state.h"

/* Positions that an answer should find free. */
static int wanted_room(const struct fct_chat *chat, int context) {
    int most = chat->options.max_tokens;
    return most > 0 && most < context / 4 ? most : context / 4;
}

static fct_status render(const struct fct_chat *chat, int **ids, int *n_ids, fct_error *err) {
    fct_free(*ids);
    *ids = NULL;
    return fct_conversation_render(&chat->conversation, chat->model, chat->options.think, true, ids,
                                   n_ids, err);
}

/* Drops the oldest turns until a quarter of the context is free beside the answer's room: a dropped
 * turn means that all behind it is read again, which should not happen at every turn. */
static fct_status drop_turns(struct fct_chat *chat, int context, int **ids, int *n_ids,
                             int *n_dropped, fct_error *err) {
    int goal = context - context / 4 - wanted_room(chat, context);
    fct_status status = FCT_OK;
    while (!status && *n_ids > goal && fct_conversation_drop_turn(&chat->conversation)) {
        ++*n_dropped;
        status = render(chat, ids, n_ids, err);
    }
    return status;
}

static void tell_dropped(struct fct_chat *chat, int n_dropped) {
    if (n_dropped == 0) return;
    chat->totals.n_dropped += n_dropped;
    fct_chat_warn(chat,
                  "context full: the oldest %d turn%s no longer sent%s; the rest is read again",
                  n_dropped, n_dropped == 1 ? " is" : "s are",
                  chat->conversation.system ? " (the system message is)" : "");
}

static fct_status refuse(const struct fct_chat *chat, int n_ids, int context, fct_error *err) {
    bool alone = fct_conversation_turns(&chat->conversation, false) == 1;
    if (alone || chat->options.on_full == FCT_ON_FULL_ROLL)
        return fct_fail(err, FCT_ERR_CONTEXT,
                        "context full: this prompt alone has %d tokens%s, and %d fit; a larger "
                        "context is -c N",
                        n_ids, chat->conversation.system ? " with the system message" : "",
                        context - 1);
    return fct_fail(err, FCT_ERR_CONTEXT,
                    "context full: with this prompt the conversation has %d tokens, and %d fit; "
                    "/reset, /undo, or /set on-full roll to drop the oldest turns",
                    n_ids, context - 1);
}

fct_status fct_chat_fit(struct fct_chat *chat, int **ids, int *n_ids, fct_error *err) {
    int context = fct_session_describe(chat->session).context, n_dropped = 0;
    size_t first = chat->conversation.first;
    *ids = NULL;
    fct_status status = render(chat, ids, n_ids, err);
    bool rolls = chat->options.on_full == FCT_ON_FULL_ROLL;
    if (!status && rolls && *n_ids + wanted_room(chat, context) > context)
        status = drop_turns(chat, context, ids, n_ids, &n_dropped, err);
    if (!status && *n_ids >= context) status = refuse(chat, *n_ids, context, err);
    if (status)
        chat->conversation.first = first; /* what was dropped made no room */
    else
        tell_dropped(chat, n_dropped);
    return status;
}

void fct_chat_warn_of_end(const struct fct_chat *chat) {
    fct_session_info state = fct_session_describe(chat->session);
    int left = state.context - state.n_tokens, room = wanted_room(chat, state.context);
    int warned = state.context / 8 < room ? state.context / 8 : room;
    if (left >= warned) return;
    bool rolls = chat->options.on_full == FCT_ON_FULL_ROLL;
    fct_chat_warn(chat, "%d of %d positions are left: %s", left, state.context,
                  rolls      ? "the next prompt drops the oldest turns"
                  : left > 0 ? "soon this conversation is full (/undo, /reset, /set on-full roll)"
                             : "this conversation is full (/undo, /reset, /set on-full roll)");
}
