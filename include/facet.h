/* facet.h - run Gemma 4 (and its family) on small computers: the one public header of libfacet.
 *
 * What builds an object returns it, or NULL; everything else that can fail returns an fct_status.
 * The last argument is where the failure is described; it may be NULL. The library never prints and
 * never exits. A model is immutable and may be shared by threads; a session belongs to one thread
 * at a time. */
#ifndef FACET_H
#define FACET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FCT_VERSION "0.1.0"

/* ---- errors ---------------------------------------------------------------------------------- */

typedef enum fct_status {
    FCT_OK = 0,
    FCT_ERR_ARGUMENT,    /* the caller asked for something that makes no sense */
    FCT_ERR_MEMORY,      /* no memory, or more than the machine has */
    FCT_ERR_IO,          /* the system refused: no such file, disk full, broken pipe */
    FCT_ERR_FORMAT,      /* a file is damaged or is not what it should be */
    FCT_ERR_UNSUPPORTED, /* well-formed, but facet cannot run it */
    FCT_ERR_CONTEXT,     /* the prompt does not fit the context */
    FCT_ERR_NUMERIC,     /* NaN or infinity where numbers should be */
    FCT_ERR_CANCELLED    /* a callback said stop */
} fct_status;

typedef struct fct_error {
    fct_status code;
    char message[1024]; /* UTF-8, one line, names the thing and the fault */
} fct_error;

/* Frees memory that the library handed out where a comment says so. NULL is fine. */
void fct_free(void *memory);

/* What takes long says now and then how far it is. */
typedef void (*fct_progress_fn)(void *user, const char *what, uint64_t done, uint64_t total);

/* ---- models ---------------------------------------------------------------------------------- */

typedef struct fct_model fct_model;
typedef struct fct_session fct_session;

typedef enum fct_memory { FCT_MEMORY_AUTO, FCT_MEMORY_MAP, FCT_MEMORY_HUGE } fct_memory;
typedef enum fct_kv { FCT_KV_AUTO, FCT_KV_F16, FCT_KV_Q8, FCT_KV_F32 } fct_kv;
typedef enum fct_activations {
    FCT_ACTIVATIONS_AUTO,
    FCT_ACTIVATIONS_Q8,
    FCT_ACTIVATIONS_F32
} fct_activations;

typedef struct fct_model_options {
    fct_memory memory;
    /* name of a kernel table; NULL: $FACET_KERNELS, else the best this CPU runs */
    const char *kernels;
} fct_model_options;

/* Maps a packed model. path NULL: the embedded demo. options may be NULL. Copies no weights. */
fct_model *fct_model_open(const char *path, const fct_model_options *options, fct_error *err);
void fct_model_free(fct_model *model); /* after its sessions */

typedef struct fct_model_info {
    const char *architecture; /* "gemma4" */
    const char *weights;      /* scheme of the linear layers: "q4", "f32" ... */
    const char *source;       /* what it was converted from */
    const char *checksum;     /* of the file's data, as its header tells it; NULL: it does not */
    const char *kernels;      /* the kernel table in use */
    /* where the weights lie: "map", "huge", or "moving" from one to the other */
    const char *memory;
    int vocab_size, hidden_size, n_layers, max_context, sliding_window;
    bool has_tokenizer, has_expected;
    uint64_t file_bytes;
    /* weights read for one decoded token at depth 0, all layers and the head */
    uint64_t bytes_per_token;
    /* of the file: what every token reads, and how much of that has come from storage by now (all
     * of it, unless this is a cold start) */
    uint64_t hot_bytes, hot_bytes_read;
    double load_seconds;
    double huge_page_share; /* of the hot weights, 0 .. 1; -1: unknown */
} fct_model_info;
fct_model_info fct_model_describe(const fct_model *model); /* strings live as long as the model */
/* Waits until the weights lie where they will stay; they can be used before. One thread at a time.
 * For measuring. */
void fct_model_settle(const fct_model *model);

/* Generation defaults that the checkpoint carried. */
typedef struct fct_sampling {
    float temperature; /* 0: greedy */
    int top_k;         /* 0: off */
    float top_p;       /* 1: off */
    float min_p;       /* 0: off; relative to the likeliest token */
    uint64_t seed;
    /* 1: off; logit divided (positive) or multiplied (negative) for ids seen before */
    float repeat_penalty;
    float presence_penalty;  /* 0: off; subtracted once for ids in the answer so far */
    float frequency_penalty; /* 0: off; subtracted per occurrence in the answer so far */
    const int *bias_ids;     /* n_biases ids whose logits get bias_values added */
    const float *bias_values;
    int n_biases;
} fct_sampling;
fct_sampling fct_model_sampling(const fct_model *model);

/* ---- text ------------------------------------------------------------------------------------ */

/* Control names such as <|turn> become their ids; else they are just text. */
#define FCT_TOKENIZE_CONTROL 1u

/* Ids of n_bytes of UTF-8 text; no BOS is added. Each bad part of invalid UTF-8 is read as U+FFFD
 * and counted in *n_replaced (may be NULL). *ids is the caller's, to be freed with fct_free. */
fct_status fct_tokenize(const fct_model *model, const char *text, size_t n_bytes, unsigned flags,
                        int **ids, int *n_ids, int *n_replaced, fct_error *err);

/* Text of ids, control names included, NUL-terminated; *text is the caller's, to be freed with
 * fct_free. */
fct_status fct_detokenize(const fct_model *model, const int *ids, int n_ids, char **text,
                          size_t *n_bytes, fct_error *err);

/* Streaming: text that is complete so far; never half a character. */
typedef struct fct_detokenizer fct_detokenizer;
fct_detokenizer *fct_detokenizer_new(const fct_model *model, bool skip_control, fct_error *err);
void fct_detokenizer_free(fct_detokenizer *detokenizer);
/* The text that id completes, "" if none; NUL-terminated and *n_bytes long (text may hold NULs);
 * lives until the next call. */
const char *fct_detokenizer_push(fct_detokenizer *detokenizer, int id, size_t *n_bytes);
/* What was held back: one U+FFFD a byte of an unfinished character. Ready for a new text
 * afterwards. */
const char *fct_detokenizer_finish(fct_detokenizer *detokenizer, size_t *n_bytes);

int fct_bos_id(const fct_model *model);             /* -1 if there is none */
bool fct_is_end_id(const fct_model *model, int id); /* does this id end an answer? */
bool fct_is_control_id(const fct_model *model, int id);

/* Renders a conversation, request {"messages": [...], "tools": [...], "kwargs": {...}} in JSON, by
 * the model's chat format. reference: control names inside contents become control tokens, as the
 * reference implementation does. *text (may be NULL: not wanted), NUL-terminated and *text_bytes
 * (may be NULL) long, as it may hold NULs, and *ids are the caller's, to be freed with fct_free. */
fct_status fct_chat_render(const fct_model *model, const char *request, size_t n_bytes,
                           bool reference, char **text, size_t *text_bytes, int **ids, int *n_ids,
                           fct_error *err);

/* Reads an answer back: the message object as JSON text, the caller's, to be freed with fct_free.
 * prefix is the end of the prompt, so that a thought it opened is known. *warning (may be NULL)
 * gets "" or why a part stayed content. */
fct_status fct_chat_parse(const char *prefix, const char *answer, char **message, char warning[256],
                          fct_error *err);

/* ---- sessions -------------------------------------------------------------------------------- */

typedef struct fct_session_options {
    int context;         /* positions; 0: 8192 or the model's maximum if that is smaller */
    int batch;           /* prompt tokens a pass; 0: 256 */
    int decode_threads;  /* 0: what the first tokens show to be fastest */
    int prefill_threads; /* 0: as many as are worth it */
    fct_kv kv;
    fct_activations activations;
} fct_session_options;

/* FCT_ERR_MEMORY, with the arithmetic, if this machine cannot hold weights, cache and scratch. With
 * FCT_MEMORY_MAP weights do not count: what does not fit is read from the file again. */
fct_session *fct_session_new(const fct_model *model, const fct_session_options *options,
                             fct_error *err);
void fct_session_free(fct_session *session);

/* What a session with these options (NULL: the defaults) would take, in bytes. */
typedef struct fct_memory_needs {
    uint64_t weights;  /* read for every token: they should stay in memory */
    uint64_t tables;   /* looked up a row a token: they stay in the file */
    uint64_t rows;     /* of them, in memory at a time */
    uint64_t kv;       /* keys and values of the whole context, and copies to go back to */
    uint64_t scratch;  /* to compute in */
    uint64_t together; /* weights + rows + kv + scratch */
    /* that this process can have now without swapping, its control group's limit counted; 0:
     * unknown */
    uint64_t available;
    int context; /* positions */
} fct_memory_needs;
fct_status fct_model_needs(const fct_model *model, const fct_session_options *options,
                           fct_memory_needs *out, fct_error *err);

typedef struct fct_session_info {
    int context, batch, decode_threads, prefill_threads;
    bool decode_threads_found; /* by trying, in this session */
    const char *kv, *activations;
    uint64_t kv_bytes, scratch_bytes;
    int n_tokens;         /* that the cache holds */
    int n_reused, n_read; /* of the last prefill */
} fct_session_info;
fct_session_info fct_session_describe(const fct_session *session);

/* Makes the session hold exactly ids[0 .. n_ids), n_ids >= 1: keeps what it already has of them,
 * reads the rest, and leaves the logits of the last. FCT_ERR_CONTEXT if they do not fit. */
fct_status fct_session_prefill(fct_session *session, const int *ids, int n_ids, fct_error *err);

/* Appends one id: prefill by one token. */
fct_status fct_session_append(fct_session *session, int id, fct_error *err);

/* [vocab_size] logits after the last token (soft-capped); the session's, until its next call. */
const float *fct_session_logits(fct_session *session);

/* Drops all tokens from position n_tokens on; what a sliding window has lost is re-read at the next
 * prefill. */
void fct_session_rewind(fct_session *session, int n_tokens);

/* Remembers this point, so that the session can come back to it when the sliding windows have moved
 * on; fct_generate marks the end of the prompt and of the answer itself. The last few marks are
 * kept, some megabytes each. */
void fct_session_mark(fct_session *session);

/* Writes what the session holds into a file: its ids, the keys and values that it needs to go on,
 * and the conversation (JSON text, or NULL), which is the caller's business. The file
 * (docs/SESSION.md) appears whole or not at all, and belongs to this model. */
fct_status fct_session_save(const fct_session *session, const char *path,
                            const char *conversation_json, fct_error *err);

/* Takes it back, into a session of any context that is large enough, batch and number of threads.
 * Refused, and the session left as it was: what is damaged, of another model (FCT_ERR_ARGUMENT), or
 * does not fit (FCT_ERR_CONTEXT). *conversation_json (may be NULL) gets the conversation wherever
 * it can be read, also when the rest is refused, else NULL; it is the caller's, to be freed with
 * fct_free. Afterwards the session holds n_tokens, n_reused of them from the file; if these are
 * fewer (the cache is of another type, or the activations), the next prefill or append reads the
 * others again. */
fct_status fct_session_load(fct_session *session, const char *path, char **conversation_json,
                            fct_error *err);

/* Calls row(user, position, logits[vocab_size]) for each position, in order, over the whole stack,
 * from a cold cache. */
typedef bool (*fct_logits_fn)(void *user, int position, const float *logits);
fct_status fct_session_score(fct_session *session, const int *ids, int n_ids, fct_logits_fn row,
                             void *user, fct_error *err);

/* ---- generation ------------------------------------------------------------------------------ */

typedef enum fct_reason {
    FCT_REASON_END,
    FCT_REASON_LENGTH,
    FCT_REASON_STOP,
    FCT_REASON_CONTEXT,
    FCT_REASON_CANCELLED
} fct_reason;

/* What an answer has to be, held by choosing only tokens that keep it on its way there: JSON text
 * of any value, or a value of a JSON schema (docs/STRUCTURED_OUTPUT.md has the subset; a keyword
 * beyond it is FCT_ERR_UNSUPPORTED and named, never ignored). Immutable; sessions of the model may
 * share it. The first one of a model takes a moment: it goes through the vocabulary. */
typedef struct fct_constraint fct_constraint;
fct_constraint *fct_constraint_json(const fct_model *model, fct_error *err);
fct_constraint *fct_constraint_schema(const fct_model *model, const char *schema, size_t n_bytes,
                                      fct_error *err);
void fct_constraint_free(fct_constraint *constraint);

typedef struct fct_generate_options {
    fct_sampling sampling;
    int max_tokens; /* 0: up to the context */
    /* tokens of thinking, then the thought is closed and the answer goes on; 0: no limit */
    int max_thought;
    bool raw; /* the chat format means nothing: all text is the answer's, control tokens left out */
    bool ignore_end; /* go on behind end-of-turn ids (for measuring) */
    /* NULL: none. It holds for the content (raw: for all text), not for thoughts. Calls cannot be
     * made then. An answer that ends by FCT_REASON_END is complete; others may be cut off. */
    const fct_constraint *constraint;
    const char *const *stops; /* n_stops strings that end the answer; they are not part of it */
    int n_stops;
    /* Each callback may be NULL; false cancels, and what there is of the answer is returned. Texts
     * are UTF-8, never half a character, and live until the callback returns. Called for each id
     * with the text of the answer that is certain by now (may be ""): in the chat format that is
     * its content, without white space around it. The end id itself is reported with empty text. id
     * is -1 for text that was held back until the end. */
    bool (*token)(void *user, int id, const char *text, size_t n_bytes);
    /* More of a thought. Neither its label nor its markers ever show. */
    bool (*thought)(void *user, const char *text, size_t n_bytes);
    /* A call that is complete; arguments is a JSON object. */
    bool (*call)(void *user, const char *name, const char *arguments, size_t n_bytes);
    /* Before each pass of the prompt: n_done of the n_total tokens that had to be read are. */
    bool (*reading)(void *user, int n_done, int n_total);
    void *user;
} fct_generate_options;

typedef struct fct_generation {
    int *ids; /* the answer's, the end id included; what is here is freed by fct_generation_free */
    int n_ids;
    char *text; /* the answer's, or in the chat format its content; NUL-terminated */
    size_t n_bytes;
    char *thought;     /* NULL: none */
    char *calls;       /* JSON list of calls as messages hold them; NULL: none */
    char warning[256]; /* why a call stayed text, or "" */
    fct_reason reason;
    bool complete;          /* there was a constraint, and the text is all of a value */
    int n_prompt, n_reused; /* n_prompt - n_reused tokens were read */
    int n_thought;          /* ids of thoughts, the closing ones included */
    /* From the call on: the prompt read, up to the first token's logits; that token chosen; the
     * end, everything behind it told. Loading the model is in none of them. */
    double prompt_seconds, first_token_seconds, whole_seconds;
    double decode_seconds; /* of n_decoded steps, without choosing tokens and telling them */
    int n_decoded;         /* forward passes of one token; the first token takes none */
    uint64_t seed;         /* the one used */
} fct_generation;

/* The default options for a model: its own sampling, up to the context. */
fct_generate_options fct_generate_defaults(const fct_model *model);
fct_status fct_generate(fct_session *session, const int *prompt, int n_prompt,
                        const fct_generate_options *options, fct_generation *out, fct_error *err);
void fct_generation_free(fct_generation *generation); /* frees what it points to */

/* ---- scoring --------------------------------------------------------------------------------- */

typedef struct fct_score_options {
    int chunk; /* tokens of a chunk; 0: that of `against` if it is a file of logits, else 512 */
    int max_chunks;      /* 0: all */
    bool whole;          /* count every position, not only the second half of each chunk */
    const char *save;    /* the file to write the logits into, or NULL */
    const char *against; /* such a file, or another packed model, to compare with; or NULL */
    fct_progress_fn progress;
    void *user;
} fct_score_options;

typedef struct fct_scores {
    int chunk, n_chunks;
    int n_positions; /* that were counted */
    int n_left_out;  /* tokens at the end that filled no chunk */
    /* e^(mean negative log-probability of the token that came), and its standard error */
    double perplexity, perplexity_error;
    bool compared; /* the rest: */
    double reference_perplexity;
    /* mean over positions of KL(reference || this), in nats; its standard error; its largest */
    double divergence, divergence_error, max_divergence;
    /* share of positions with the same likeliest token, and its standard error */
    double agreement, agreement_error;
} fct_scores;

/* How well the session's model foresees a text. ids, the text's tokens, get the model's BOS in
 * front, if it has one, and are cut into chunks; each is read from a cold cache, its first token
 * replaced by BOS. Of a chunk of n tokens the predictions of tokens n/2 + 1 .. n - 1 count (whole:
 * 1 .. n - 1), as in llama.cpp. A text shorter than a chunk is one. ids NULL: those that `against`,
 * a file of logits, was made of. Never more than some rows of logits are in memory. */
fct_status fct_score_ids(fct_session *session, const int *ids, int n_ids,
                         const fct_score_options *options, fct_scores *out, fct_error *err);

typedef struct fct_calibrate_options {
    int chunk;      /* as for scoring; 0: 512 */
    int max_chunks; /* 0: all */
    fct_progress_fn progress;
    void *user;
} fct_calibrate_options;

/* Reads a text as fct_score_ids does and writes into a file how large the inputs of each matrix
 * are, column by column, for fct_convert (docs/QUALITY.md). */
fct_status fct_calibrate(fct_session *session, const int *ids, int n_ids,
                         const fct_calibrate_options *options, const char *out, fct_error *err);

/* ---- converting ------------------------------------------------------------------------------ */

typedef struct fct_convert_options {
    const char *weights; /* "q4", "q4-g64", "q4-g128", "q8", "f32"; NULL: q4 */
    const char *tables;  /* "q8", "q4", "f32"; NULL: q8, or f32 with float weights */
    /* JSON file of prompt ids and answer ids to carry for verify, or NULL */
    const char *expected;
    /* a file that fct_calibrate wrote: what is multiplied with large inputs is rounded with more
     * care; or NULL */
    const char *statistics;
    /* scales of 4-bit weights, and of 8-bit ones made of codes of fewer bits: "search", for the
     * least error; "absmax", by the largest weight alone; NULL: search */
    const char *rounding;
    int n_threads; /* 0: all */
    fct_progress_fn progress;
    /* lines for the person: what was skipped, what fell back */
    void (*note)(void *user, const char *line);
    void *user;
} fct_convert_options;
fct_status fct_convert(const char *source, const char *out, const fct_convert_options *options,
                       fct_error *err);

/* What a packed, safetensors or GGUF file (or a checkpoint folder) holds, as JSON text; the
 * caller's, to be freed with fct_free. */
fct_status fct_describe(const char *path, char **json, fct_error *err);

/* ---- verifying and measuring ----------------------------------------------------------------- */

typedef enum fct_verdict { FCT_PASSED, FCT_FAILED, FCT_SKIPPED } fct_verdict;
/* One check's result: name such as "checksum", and a line of detail. */
typedef void (*fct_check_fn)(void *user, const char *name, fct_verdict verdict, const char *detail);

/* Checksum of the file, kernels against the portable ones, expected ids that the file carries, and
 * (case_folder not NULL) logits against a reference case. *passed is true if nothing failed. */
fct_status fct_verify(const char *path, const fct_model_options *options,
                      const fct_session_options *session_options, const char *case_folder,
                      fct_check_fn check, fct_progress_fn progress, void *user, bool *passed,
                      fct_error *err);

/* Best read rate in bytes a second that n_threads reach together on this machine (2 MiB pages if
 * they are to be had); 0: there is too little memory to measure with. */
double fct_measure_bandwidth(int n_threads);

/* Peak resident memory of this process in bytes, and the names of the kernel tables this CPU can
 * run (NULL-terminated). */
uint64_t fct_peak_resident_bytes(void);
const char *const *fct_kernel_names(void);

#ifdef __cplusplus
}
#endif
#endif
