/* expected.c - answers that a packed file carries so that `facet verify` can check them. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "convert/pack_metadata.h"

enum { EXPECTED_LIMIT = 16 << 20 };

static bool are_ids(const json_t *ids, int vocab_size) {
    size_t i;
    const json_t *id;
    if (!json_is_array(ids) || json_array_size(ids) == 0) return false;
    json_array_foreach(ids, i, id) {
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) >= vocab_size)
            return false;
    }
    return true;
}

/* The two lists of each entry, and nothing else. */
static json_t *take_ids(const json_t *entries, const char *path, int vocab_size, fct_error *err) {
    static const char *const keys[] = {"prompt_ids", "answer_ids"};
    json_t *taken = json_array();
    for (size_t i = 0; i < json_array_size(entries); i++) {
        json_t *entry = json_object();
        json_array_append_new(taken, entry);
        for (size_t k = 0; k < 2; k++) {
            json_t *ids = json_object_get(json_array_get(entries, i), keys[k]);
            if (!are_ids(ids, vocab_size)) {
                json_decref(taken);
                return fct_fail_null(err, FCT_ERR_FORMAT,
                                     "%s: entry %zu: %s is not a list of ids from 0 to %d", path, i,
                                     keys[k], vocab_size - 1);
            }
            json_object_set(entry, keys[k], ids);
        }
    }
    return taken;
}

json_t *fct_expected_read(const char *path, int vocab_size, fct_error *err) {
    size_t n_bytes;
    char *text = fct_file_read(path, EXPECTED_LIMIT, &n_bytes, err);
    if (!text) return NULL;
    json_error_t at;
    json_t *root = json_loadb(text, n_bytes, 0, &at), *taken = NULL;
    fct_free(text);
    if (!root) return fct_fail_null(err, FCT_ERR_FORMAT, "%s: line %d: %s", path, at.line, at.text);
    const json_t *entries = json_is_object(root) ? json_object_get(root, "entries") : root;
    if (json_is_array(entries) && json_array_size(entries))
        taken = take_ids(entries, path, vocab_size, err);
    else
        fct_fail(err, FCT_ERR_FORMAT, "%s: no list of prompt ids and answer ids", path);
    json_decref(root);
    return taken;
}

/* The one answer of the published model that an independent implementation gave: `The capital of
 * France is` as a user's turn, answered greedily with int4 weights. It holds for that model alone,
 * so the name must be its name. */
json_t *fct_expected_known(const fct_source *source, const struct fct_config *config) {
    static const char entry[] =
        "[{\"prompt_ids\":[2,105,2364,107,818,5279,529,7001,563,106,107,105,4368,107],"
        "\"answer_ids\":[818,5279,529,7001,563,5213,50429,84750,106]}]";
    bool published = strcasecmp(source->name, "gemma-4-E2B-it") == 0 &&
                     config->hidden_size == 1536 && config->n_layers == 35 &&
                     config->vocab_size == 262144;
    return published ? json_loads(entry, 0, NULL) : NULL;
}
