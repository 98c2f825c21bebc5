/* chat_settings.c - what can be changed while a conversation goes on: /set, /system, /think. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/chat_state.h"

/* Options that hold one number or choice; lists belong to the command line. */
static bool is_setting(const struct fct_option *option) {
    return option->kind == FCT_OPTION_INTEGER || option->kind == FCT_OPTION_NUMBER ||
           option->kind == FCT_OPTION_CHOICE || option->kind == FCT_OPTION_SEED;
}

/* The option that is called name[0 .. n), and its field. */
static const struct fct_option *find_option(struct fct_chat *chat, const char *name, size_t n,
                                            void **field) {
    const struct {
        const struct fct_option *options;
        void *base;
    } groups[] = {{fct_chat_own_options, &chat->options},
                  {fct_sampling_choice_options, &chat->options.sampling}};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (const struct fct_option *o = groups[g].options; fct_is_option(o); o++) {
            bool found = o->name && strlen(o->name) == n && memcmp(o->name, name, n) == 0;
            if (!found || !is_setting(o)) continue;
            *field = (char *)groups[g].base + o->offset;
            return o;
        }
    return NULL;
}

/* The form of answers, and where they stop. */
static void show_texts(const struct fct_chat *chat) {
    const struct fct_chat_options *options = &chat->options;
    const char *schema = options->format.schema;
    fct_chat_explain(chat, "format", "%s%s",
                     schema                   ? "schema "
                     : options->format.format ? "json"
                                              : "text",
                     schema ? schema : "");
    for (size_t i = 0; i < options->stops.n_texts; i++)
        fct_chat_explain(chat, "stop", "%s", options->stops.texts[i]);
}

static void show_settings(const struct fct_chat *chat) {
    static const char *const policies[] = {"stop", "roll"}, *const shown[] = {"hide", "fold",
                                                                              "show"};
    const struct fct_chat_options *options = &chat->options;
    fct_sampling sampling = fct_model_sampling(chat->model);
    fct_error err;
    fct_sampling_choice_apply(&options->sampling, chat->model, &sampling, &err);
    fct_chat_explain(chat, "tokens", "%d", options->max_tokens);
    fct_chat_explain(chat, "think-tokens", "%d", options->max_thought);
    fct_chat_explain(chat, "on-full", "%s", policies[options->on_full]);
    fct_chat_explain(chat, "thoughts", "%s", shown[options->thoughts]);
    fct_chat_explain(chat, "temperature", "%g", (double)sampling.temperature);
    fct_chat_explain(chat, "top-k", "%d", sampling.top_k);
    fct_chat_explain(chat, "top-p", "%g", (double)sampling.top_p);
    fct_chat_explain(chat, "min-p", "%g", (double)sampling.min_p);
    fct_chat_explain(chat, "repeat-penalty", "%g", (double)sampling.repeat_penalty);
    fct_chat_explain(chat, "presence-penalty", "%g", (double)sampling.presence_penalty);
    fct_chat_explain(chat, "frequency-penalty", "%g", (double)sampling.frequency_penalty);
    fct_chat_explain(chat, "seed", "%llu%s", (unsigned long long)sampling.seed,
                     sampling.seed ? "" : " (another one each time)");
    show_texts(chat);
}

/* text, json, or schema FILE. What cannot be held changes nothing. */
static fct_status set_format(struct fct_chat *chat, const char *value, fct_error *err) {
    struct fct_format_choice choice = {.format = strcmp(value, "json") == 0};
    fct_constraint *constraint;
    char *schema = NULL;
    const char *file = value + strlen("schema");
    if (strncmp(value, "schema", strlen("schema")) == 0 && strchr(" \t", *file)) {
        file += strspn(file, " \t");
        if (!*file)
            return fct_fail(err, FCT_ERR_ARGUMENT, "format schema: the name of a file must follow");
        schema = fct_chat_path(file, err);
        if (!schema) return FCT_ERR_MEMORY;
        choice.schema = schema;
    } else if (!choice.format && strcmp(value, "text") != 0) {
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "format: \"%s\" is not one of text, json, schema FILE", value);
    }
    fct_status status = fct_format_choice_constraint(&choice, chat->model, &constraint, err);
    if (status) {
        fct_free(schema);
        return status;
    }
    fct_constraint_free(chat->constraint);
    fct_free(chat->schema);
    chat->constraint = constraint;
    chat->schema = schema;
    chat->options.format = choice;
    return FCT_OK;
}

/* The one text that ends an answer; "-": none does. */
static fct_status set_stop(struct fct_chat *chat, const char *value, fct_error *err) {
    struct fct_text_list *stops = &chat->options.stops;
    char *stop = fct_copy_text(value, strlen(value), err);
    if (!stop) return FCT_ERR_MEMORY;
    fct_free(chat->stop);
    chat->stop = stop;
    stops->texts = chat->stops;
    stops->n_texts = strcmp(stop, "-") != 0;
    stops->texts[0] = stop;
    return FCT_OK;
}

/* Sets what is called name[0 .. n); *known: there is such a setting. */
static fct_status set_named(struct fct_chat *chat, const char *name, size_t n, const char *value,
                            bool *known, fct_error *err) {
    static const struct {
        const char *name;
        fct_status (*set)(struct fct_chat *chat, const char *value, fct_error *err);
    } texts[] = {{"format", set_format}, {"stop", set_stop}};
    void *field;
    const struct fct_option *option = find_option(chat, name, n, &field);
    *known = true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strlen(texts[i].name) == n && memcmp(texts[i].name, name, n) == 0)
            return *value
                       ? texts[i].set(chat, value, err)
                       : fct_fail(err, FCT_ERR_ARGUMENT, "%s: a value must follow", texts[i].name);
    *known = option != NULL;
    if (!option) return FCT_ERR_ARGUMENT;
    if (!*value) return fct_fail(err, FCT_ERR_ARGUMENT, "%s: a value must follow", option->name);
    return fct_option_set(option, option->name, field, value, err);
}

void fct_chat_set(struct fct_chat *chat, const char *argument) {
    size_t n = strcspn(argument, " \t=");
    const char *value = argument + n + strspn(argument + n, " \t=");
    bool known;
    fct_error err = {0};
    if (!*argument) {
        show_settings(chat);
    } else if (set_named(chat, argument, n, value, &known, &err) == FCT_OK) {
        fct_chat_note(chat, "%.*s is %s from now on", (int)n, argument,
                      strcmp(value, "-") == 0 ? "off" : value);
    } else {
        chat->failed = true;
        if (known)
            fct_chat_warn(chat, "/set %s", err.message);
        else
            fct_chat_warn(chat, "/set: there is no setting \"%.*s\"; /set lists them",
                          (int)(n < 40 ? n : 40), argument);
    }
}

void fct_chat_system(struct fct_chat *chat, const char *argument) {
    struct fct_conversation *conversation = &chat->conversation;
    fct_error err;
    if (!*argument) {
        fct_chat_show(chat, "%s",
                      conversation->system ? conversation->system : "there is no system message");
        return;
    }
    bool dropped = strcmp(argument, "-") == 0;
    if (fct_conversation_set_system(conversation, dropped ? NULL : argument, &err) != FCT_OK)
        fct_chat_warn(chat, "%s", err.message);
    else
        fct_chat_note(chat, "%s; the conversation is read again",
                      dropped ? "the system message is dropped" : "the system message is set");
}

void fct_chat_think(struct fct_chat *chat, const char *argument) {
    static const char *const shown[] = {"hidden", "folded to one line", "shown"};
    struct fct_chat_options *options = &chat->options;
    char *end;
    long limit = strtol(argument, &end, 10);
    bool was_on = options->think;
    if (strcmp(argument, "on") == 0 || strcmp(argument, "off") == 0)
        options->think = argument[1] == 'n';
    else if (strcmp(argument, "fold") == 0)
        options->thoughts = FCT_THOUGHTS_FOLDED;
    else if (strcmp(argument, "show") == 0)
        options->thoughts = FCT_THOUGHTS_SHOWN;
    else if (strcmp(argument, "hide") == 0)
        options->thoughts = FCT_THOUGHTS_HIDDEN;
    else if (*argument >= '0' && *argument <= '9' && !*end && limit <= INT32_MAX)
        options->max_thought = (int)limit;
    else if (*argument) {
        chat->failed = true;
        fct_chat_warn(chat, "/think %s: it is on, off, fold, show, hide, or a number of tokens",
                      argument);
        return;
    }
    char most[48] = "";
    if (options->max_thought)
        snprintf(most, sizeof most, ", at most %d tokens", options->max_thought);
    fct_chat_note(chat, "thinking is %s%s; thoughts are %s%s", options->think ? "on" : "off", most,
                  shown[options->thoughts],
                  was_on != options->think && fct_conversation_turns(&chat->conversation, false)
                      ? "; the conversation is read again"
                      : "");
}
