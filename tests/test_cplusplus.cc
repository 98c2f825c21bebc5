/* test_cplusplus.cc - a C++ program includes facet.h, links libfacet and is answered. */
#include <facet.h>

#include <cstdio>
#include <cstring>
#include <string>

static int failures = 0;
static void expect(bool truth, const char *what) {
    std::printf("%s: %s\n", truth ? "ok" : "FAILED", what);
    failures += !truth;
}

int main() {
    fct_error error = {};
    fct_model *nothing = fct_model_open("/nowhere/model.facet", nullptr, &error);
    expect(!nothing && error.code == FCT_ERR_IO, "a model that is not there is an I/O error");
    expect(std::strstr(error.message, "/nowhere/model.facet") != nullptr,
           "its message names the file");
    fct_model_free(nothing);

    fct_model *model = fct_model_open(nullptr, nullptr, &error);
    expect(model != nullptr, "the embedded demo opens");
    if (!model) {
        std::printf("%s\n", error.message);
        return 1;
    }
    const std::string text = "The capital of France is";
    int *ids = nullptr, n_ids = 0, n_replaced = -1;
    expect(fct_tokenize(model, text.data(), text.size(), 0, &ids, &n_ids, &n_replaced, &error) ==
                   FCT_OK &&
               n_ids > 0,
           "text becomes ids");
    expect(n_replaced == 0, "of which nothing had to be replaced");
    char *back = nullptr;
    size_t n_bytes = 0;
    expect(fct_detokenize(model, ids, n_ids, &back, &n_bytes, &error) == FCT_OK &&
               std::string(back, n_bytes) == text,
           "ids become the text again");
    fct_free(back);
    fct_free(ids);
    fct_model_free(model);
    return failures ? 1 : 0;
}
