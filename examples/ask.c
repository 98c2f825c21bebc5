/* ask.c - asks the embedded demo model a question and prints its answer as it comes. cc ask.c
 * $(pkg-config --cflags --libs facet) */
#include <stdio.h>
#include <string.h>

#include <facet.h>

static bool print_piece(void *user, int id, const char *text, size_t n_bytes) {
    (void)user, (void)id;
    fwrite(text, 1, n_bytes, stdout);
    return fflush(stdout) == 0; /* false ends the answer */
}

int main(int argc, char **argv) {
    static const char request[] =
        "{\"messages\": [{\"role\": \"user\", \"content\": \"The capital of France is\"}],"
        " \"kwargs\": {\"add_generation_prompt\": true}}";
    fct_error error = {0};
    fct_session *session = NULL;
    int *prompt = NULL, n_prompt = 0;
    fct_generation answer = {0};
    fct_status status = FCT_ERR_IO;

    fct_model *model = fct_model_open(argc > 1 ? argv[1] : NULL, NULL, &error);
    if (!model) goto done;
    session = fct_session_new(model, NULL, &error);
    if (!session) goto done;
    status = fct_chat_render(model, request, strlen(request), false, NULL, NULL, &prompt, &n_prompt,
                             &error);
    if (status != FCT_OK) goto done;

    fct_generate_options options = fct_generate_defaults(model);
    options.sampling.temperature = 0; /* greedy: always the same answer */
    options.token = print_piece;
    status = fct_generate(session, prompt, n_prompt, &options, &answer, &error);
    putchar('\n');
done:
    if (status != FCT_OK) fprintf(stderr, "ask: %s\n", error.message);
    fct_generation_free(&answer);
    fct_free(prompt);
    fct_session_free(session);
    fct_model_free(model);
    return status == FCT_OK ? 0 : 1;
}
