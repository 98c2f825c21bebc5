/* pack_metadata.c - the configuration and the generation defaults that a packed file carries. */
#include "convert/pack_metadata.h"

#include "base/error.h"
#include "base/memory.h"

static void add_end_id(json_t *list, const json_t *id, int vocab_size) {
    size_t i;
    const json_t *known;
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= vocab_size)
        return;
    json_array_foreach(list, i, known) if (json_equal(known, id)) return;
    json_array_append(list, (json_t *)id);
}

/* eos_token_id is one id or a list of them. */
static void add_end_ids(json_t *list, const json_t *object, int vocab_size) {
    const json_t *ids = json_object_get(object, "eos_token_id");
    if (json_is_array(ids))
        for (size_t i = 0; i < json_array_size(ids); i++)
            add_end_id(list, json_array_get(ids, i), vocab_size);
    else
        add_end_id(list, ids, vocab_size);
}

json_t *fct_metadata_generation(const fct_source *source, const struct fct_config *config) {
    json_t *generation = json_deep_copy(source->generation), *ids = json_array();
    add_end_ids(ids, source->generation, config->vocab_size);
    add_end_ids(ids, source->config, config->vocab_size);
    add_end_ids(ids, fct_config_text_part(source->config), config->vocab_size);
    if (json_array_size(ids)) json_object_set(generation, "eos_token_id", ids);
    json_decref(ids);
    return generation;
}

json_t *fct_metadata_config(const fct_source *source) {
    static const char *const from_above[] = {"tie_word_embeddings", "eos_token_id"};
    json_t *text = json_deep_copy(fct_config_text_part(source->config));
    for (size_t i = 0; i < sizeof from_above / sizeof *from_above; i++) {
        json_t *value = json_object_get(source->config, from_above[i]);
        if (value && !json_object_get(text, from_above[i]))
            json_object_set(text, from_above[i], value);
    }
    return text;
}

fct_status fct_metadata_json(fct_pack_writer *writer, const char *key, json_t *value,
                             fct_error *err) {
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    fct_status status = text ? fct_pack_writer_metadata(writer, key, text, err)
                             : fct_fail(err, FCT_ERR_MEMORY, "%s: no memory for the header", key);
    json_decref(value);
    fct_free(text);
    return status;
}
