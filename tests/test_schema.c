/* test_schema.c - every keyword of the subset with texts that fit and texts that do not, and what
 * lies beyond the subset refused by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "engine/json_machine.h"

enum verdict { REFUSED, BEGUN, WHOLE };

static enum verdict verdict_on(const fct_schema *schema, const char *text) {
    static struct fct_json_state states[2];
    struct fct_json_machine machine;
    int now = 0;
    assert_int_equal(fct_json_machine_init(&machine, schema, NULL), FCT_OK);
    fct_json_begin(&machine, &states[0]);
    enum verdict verdict = BEGUN;
    for (; *text && verdict != REFUSED; text++, now = !now) {
        if (!fct_json_step(&machine, &states[now], (uint8_t)*text, &states[!now]))
            verdict = REFUSED;
        else
            fct_json_settle(&machine, &states[!now]);
    }
    if (verdict != REFUSED && fct_json_complete(&machine, &states[now])) verdict = WHOLE;
    fct_json_machine_free(&machine);
    return verdict;
}

static fct_schema *schema_of(const char *text) {
    fct_error err = {0};
    fct_schema *schema = fct_schema_read(text, strlen(text), &err);
    if (!schema) fail_msg("%s: %s", text, err.message);
    return schema;
}

/* A schema, and texts: good ones fit as they stand, bad ones cannot become a value that fits, or
 * are not whole. */
struct texts {
    const char *schema;
    const char *good[10], *bad[14];
};

static void check_texts(const struct texts *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fct_schema *schema = schema_of(cases[i].schema);
        for (const char *const *text = cases[i].good; *text; text++)
            if (verdict_on(schema, *text) != WHOLE)
                fail_msg("%s does not take %s", cases[i].schema, *text);
        for (const char *const *text = cases[i].bad; *text; text++)
            if (verdict_on(schema, *text) == WHOLE) fail_msg("%s takes %s", cases[i].schema, *text);
        fct_schema_free(schema);
    }
}
#define CHECK_TEXTS(cases) check_texts(cases, sizeof(cases) / sizeof *(cases))

static void any_json_is_json(void **state) {
    (void)state;
    static const struct texts cases[] = {
        {"{}",
         {"{\"a\": [1, -2.5e+3, true, null, {}], \"b\": \"c\"}", "[]", "\"x\"", "0", "-0.5E-2",
          " \r\n\t[ 1 ,2 ] \n",
          "\"\\u00e9\\n\\/\\ud83d\\uDE00\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80\"", "false",
          "{\"\": {\"\": []}}"},
         {"", "{", "[1,]", "{\"a\":1,}", "{a:1}", "01", "1.", ".5", "+1", "tru", "nul1", "[1 2]",
          "'a'"}},
    };
    static const char *const bad_strings[] = {"\"\x01\"",
                                              "\"\n\"",
                                              "\"\\x\"",
                                              "\"\\u12g4\"",
                                              "\"\\ud83d\"",
                                              "\"\\ude00\"",
                                              "\"\\ud83dx\"",
                                              "\"\\ud83d\\n\"",
                                              "\"\\ud83d\\u0041\"",
                                              "\"\xC0\xAF\"",
                                              "\"\xE0\x80\x80\"",
                                              "\"\xED\xA0\x80\"",
                                              "\"\xF4\x90\x80\x80\"",
                                              "\"\x80\"",
                                              "\"\xC3\"",
                                              "\"\xFF\"",
                                              "[1]]",
                                              "{} {}",
                                              "1 1",
                                              "nulls",
                                              "[1.e1]",
                                              "[1e]",
                                              "[-]"};
    CHECK_TEXTS(cases);
    fct_schema *any = fct_schema_any(NULL);
    for (size_t i = 0; i < sizeof bad_strings / sizeof *bad_strings; i++)
        if (verdict_on(any, bad_strings[i]) != REFUSED) fail_msg("case %zu", i);
    fct_schema_free(any);
}

static void types_are_held(void **state) {
    (void)state;
    static const struct texts cases[] = {
        {"{\"type\": \"string\"}", {"\"\"", "\"a\""}, {"1", "null", "[\"a\"]", "true"}},
        {"{\"type\": \"integer\"}", {"0", "-7", "123456789012345678"}, {"1.5", "1e2", "\"1\""}},
        {"{\"type\": \"number\"}", {"0", "-7", "1.5", "1e2", "2E-9"}, {"\"1\"", "[1]"}},
        {"{\"type\": \"boolean\"}", {"true", "false"}, {"null", "0", "tru"}},
        {"{\"type\": \"null\"}", {"null"}, {"false", "\"null\""}},
        {"{\"type\": \"array\"}", {"[]", "[1, \"a\", {}]"}, {"{}", "1"}},
        {"{\"type\": \"object\"}", {"{}", "{\"a\": {\"b\": 1}}"}, {"[]", "null"}},
        {"{\"type\": [\"string\", \"null\"]}", {"null", "\"a\""}, {"1", "true"}},
        {"{\"type\": [\"integer\", \"number\", \"boolean\"]}", {"1", "1.5", "true"}, {"null"}},
        /* Without a type, a keyword counts only for the values that it is about. */
        {"{\"minLength\": 2}", {"\"ab\"", "1", "null", "[\"a\"]"}, {"\"a\""}},
        {"{\"minimum\": 2}", {"\"ab\"", "2", "2.5", "{\"a\": 1}"}, {"1", "1.99"}},
    };
    CHECK_TEXTS(cases);
}

static void lengths_count_characters(void **state) {
    (void)state;
    static const struct texts cases[] = {
        {"{\"type\": \"string\", \"minLength\": 2, \"maxLength\": 3}",
         {"\"ab\"", "\"abc\"", "\"\xC3\xA9\xE6\xBC\xA2\"", "\"\xF0\x9F\x98\x80z\"",
          "\"\\ud83d\\ude00\\n\"", "\"\\u0041\\\\\\\"\""},
         {"\"a\"", "\"abcd", "\"\"", "\"\xF0\x9F\x98\x80\"", "\"\\ud83d\\ude00\"", "\"abc\\u0041"}},
        {"{\"type\": \"string\", \"maxLength\": 0}", {"\"\""}, {"\"a", "\"\\n"}},
    };
    CHECK_TEXTS(cases);
}

static void bounds_of_integers_are_held(void **state) {
    (void)state;
    static const struct texts cases[] = {
        {"{\"type\": \"integer\", \"minimum\": 8, \"maximum\": 120}",
         {"8", "9", "10", "99", "100", "120"},
         {"7", "1", "0", "121", "130", "-8", "1000", "8.0", "-"}},
        {"{\"type\": \"integer\", \"exclusiveMinimum\": -3, \"exclusiveMaximum\": 3}",
         {"-2", "-1", "0", "2", "-0"},
         {"-3", "3", "10", "-20"}},
        {"{\"type\": \"integer\", \"minimum\": 123456789012345678}",
         {"123456789012345678", "999999999999999999"},
         {"123456789012345677", "99", "1000000000000000000"}},
        {"{\"type\": \"integer\", \"maximum\": -5}", {"-5", "-6", "-50"}, {"-4", "0", "5", "-1"}},
        {"{\"type\": \"integer\", \"minimum\": 0.5, \"maximum\": 2.5}",
         {"1", "2"},
         {"0", "3", "1.5"}},
        {"{\"type\": \"integer\", \"minimum\": 1, \"exclusiveMinimum\": 1}", {"2"}, {"1"}},
    };
    CHECK_TEXTS(cases);
}

static void bounds_of_numbers_are_held(void **state) {
    (void)state;
    static const struct texts cases[] = {
        {"{\"type\": \"number\", \"minimum\": 0, \"maximum\": 1}",
         {"0", "1", "0.5", "0.00000000000001", "1.0", "0.0", "-0"},
         {"1.1", "2", "-0.1", "10", "1.00000000000001", "1e0", "-1"}},
        {"{\"type\": \"number\", \"exclusiveMinimum\": 0, \"exclusiveMaximum\": 1}",
         {"0.1", "0.99", "0.00000000000001"},
         {"0", "1", "0.0", "1.0", "0.", "-0", "-0.0"}},
        {"{\"type\": \"number\", \"minimum\": -1.25, \"maximum\": -0.5}",
         {"-1.25", "-1", "-0.5", "-0.75", "-1.2"},
         {"-1.26", "-0.4", "0", "1", "-2", "-0.49999"}},
        {"{\"type\": \"number\", \"minimum\": 0.1}", {"0.1", "0.10", "5", "1234.5"}, {"0.09", "0"}},
    };
    CHECK_TEXTS(cases);
}

static void arrays_are_held(void **state) {
    (void)state;
    static const struct texts cases[] = {
        {"{\"type\": \"array\", \"items\": {\"type\": \"integer\"}}",
         {"[]", "[1]", "[ 1 , 2 ]"},
         {"[\"a\"]", "[1,", "[1,]", "[1 2]"}},
        {"{\"type\": \"array\", \"minItems\": 2, \"maxItems\": 3}",
         {"[1,2]", "[1,2,3]", "[[],[1]]"},
         {"[]", "[1]", "[1,2,3,4]", "[1,2,3,"}},
        {"{\"type\": \"array\", \"prefixItems\": [{\"type\": \"string\"}, {\"type\": \"integer\"}],"
         " \"items\": false, \"minItems\": 1}",
         {"[\"a\"]", "[\"a\", 1]"},
         {"[]", "[1]", "[\"a\", \"b\"]", "[\"a\", 1, 2]", "[\"a\", 1,"}},
        {"{\"type\": \"array\", \"prefixItems\": [{\"type\": \"string\"}], \"items\": {\"type\":"
         " \"null\"}}",
         {"[]", "[\"a\", null, null]"},
         {"[null]", "[\"a\", 1]"}},
        {"{\"type\": \"array\", \"maxItems\": 0}", {"[]", "[ ]"}, {"[1"}},
        {"{\"type\": \"array\", \"items\": {\"type\": \"array\", \"items\": {\"type\": "
         "\"boolean\"}}}",
         {"[[true], [], [false, true]]"},
         {"[true]", "[[1]]"}},
    };
    CHECK_TEXTS(cases);
}

static void objects_are_held(void **state) {
    (void)state;
    static const struct texts cases[] = {
        {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}, \"b\": {\"type\":"
         " \"string\"}}, \"required\": [\"a\"], \"additionalProperties\": false}",
         {"{\"a\": 1}", "{\"a\":1,\"b\":\"x\"}", "{ \"b\" : \"x\" , \"a\" : 1 }",
          "{\"\\u0061\": 1}"},
         {"{}", "{\"b\": \"x\"}", "{\"a\": \"x\"}", "{\"c\"", "{\"a\": 1, \"a\"",
          "{\"a\": 1, \"c\"", "{\"\\u0063", "{\"a\": 1, \"b\": \"x\",", "{\"ab", "{\"\""}},
        {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}}",
         {"{}", "{\"a\": 1}", "{\"c\": \"x\", \"aa\": null}", "{\"\": 1, \"A\": \"a\"}"},
         {"{\"a\": \"x\"}", "{\"\\u0061\": \"x\"}", "{\"a\": 1, \"a\": 2}"}},
        {"{\"type\": \"object\", \"additionalProperties\": {\"type\": \"boolean\"}, \"properties\":"
         " {\"n\": {\"type\": \"null\"}}, \"required\": [\"m\"]}",
         {"{\"m\": true}", "{\"n\": null, \"m\": false, \"x\": true}"},
         {"{}", "{\"m\": null}", "{\"m\": true, \"n\": true}", "{\"x\": true}"}},
        {"{\"type\": \"object\", \"properties\": {\"no\": false, \"yes\": true}}",
         {"{\"yes\": 1}", "{\"n\": 1}", "{\"nos\": 1}"},
         {"{\"no\":", "{\"no\""}},
        {"{\"type\": \"object\", \"properties\": {\"no\": false, \"yes\": {}},"
         " \"additionalProperties\": false}",
         {"{\"yes\": 1}", "{}"},
         {"{\"n", "{\"yes\": 1,"}},
        {"{\"type\": \"object\", \"properties\": {}, \"additionalProperties\": false}",
         {"{}", "{ }"},
         {"{\"", "{\"a\": 1}"}},
        {"{\"type\": \"object\", \"properties\": {\"k\\u00e9\\\"\": {\"const\": 1}}, \"required\":"
         " [\"k\\u00e9\\\"\"], \"additionalProperties\": false}",
         {"{\"k\xC3\xA9\\\"\": 1}", "{\"k\\u00E9\\u0022\": 1}"},
         {"{\"k\xC3\xA8", "{\"ke", "{\"k\\u00F", "{\"k\xC4"}},
    };
    CHECK_TEXTS(cases);
}

static void listed_values_are_held(void **state) {
    (void)state;
    static const struct texts cases[] = {
        {"{\"enum\": [\"red\", \"reddish\", \"\", 12, 1.5, 123, null, true]}",
         {"\"red\"", "\"reddish\"", "\"\"", "12", "123", "1.5", "null", "true", "\"r\\u0065d\""},
         {"\"redd\"", "\"blue", "1", "13", "1.50", "false", "12.0", "1234", "\"r\\u0066", "nul"}},
        {"{\"const\": \"\\ud83d\\ude00\"}",
         {"\"\xF0\x9F\x98\x80\"", "\"\\ud83d\\ude00\"", "\"\\uD83D\\uDE00\""},
         {"\"\xF0\x9F\x98\x81", "\"\\ud83d\\ude01", "\"\\ud83e", "\"\xF0\x9F\x99"}},
        {"{\"const\": {\"a\": [1, {\"b\": null}], \"c\": \"d\"}}",
         {"{\"a\":[1,{\"b\":null}],\"c\":\"d\"}", "{ \"c\": \"d\", \"a\": [ 1, {\"b\": null} ] }"},
         {"{\"a\":[1,{\"b\":null}]}", "{\"a\":[1,{}]", "{\"a\":[1]", "{\"a\":[]", "{\"c\":\"e",
          "{\"a\":[1,{\"b\":null},"}},
        {"{\"type\": \"string\", \"enum\": [\"a\", 1, null]}", {"\"a\""}, {"1", "null"}},
        {"{\"type\": [\"integer\", \"null\"], \"enum\": [\"a\", 1, null, 2.5]}",
         {"1", "null"},
         {"2.5", "\"a\""}},
        {"{\"const\": 12345678901234567890123}", {"12345678901234567890123"}, {"1234567"}},
        {"{\"const\": 0.1}", {"0.1"}, {"0.10"}},
        {"{\"const\": []}", {"[]"}, {"[1"}},
    };
    CHECK_TEXTS(cases);
}

static void choices_are_held(void **state) {
    (void)state;
    static const struct texts cases[] = {
        {"{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"null\"}]}", {"\"a\"", "null"}, {"1"}},
        /* Branches that begin alike are followed side by side. */
        {"{\"anyOf\": [{\"type\": \"object\", \"properties\": {\"k\": {\"const\": \"a\"}, \"x\":"
         " {\"type\": \"integer\"}}, \"required\": [\"k\", \"x\"], \"additionalProperties\": "
         "false},"
         " {\"type\": \"object\", \"properties\": {\"x\": {\"type\": \"string\"}, \"k\": "
         "{\"const\":"
         " \"b\"}}, \"required\": [\"k\"], \"additionalProperties\": false}]}",
         {"{\"k\": \"a\", \"x\": 1}", "{\"x\": 1, \"k\": \"a\"}", "{\"k\": \"b\"}",
          "{\"x\": \"s\", \"k\": \"b\"}"},
         {"{\"k\": \"a\"}", "{\"x\": \"s\", \"k\": \"a", "{\"k\": \"b\", \"x\": 1", "{\"k\": \"c"}},
        {"{\"anyOf\": [{\"type\": \"integer\", \"maximum\": 5}, {\"type\": \"number\", \"minimum\":"
         " 10}]}",
         {"5", "10.5", "-3", "10"},
         {"7", "6.5", "9.9"}},
        {"{\"oneOf\": [{\"type\": \"integer\", \"maximum\": 5}, {\"type\": \"integer\", "
         "\"minimum\":"
         " 6}]}",
         {"5", "6"},
         {"5.5"}},
        {"{\"oneOf\": [{\"type\": \"object\", \"properties\": {\"t\": {\"const\": 1}}, "
         "\"required\":"
         " [\"t\"]}, {\"type\": \"object\", \"properties\": {\"t\": {\"const\": \"x\"}}, "
         "\"required\":"
         " [\"t\"]}, {\"type\": \"array\"}]}",
         {"{\"t\": 1}", "{\"t\": \"x\", \"u\": 1}", "[]"},
         {"{\"t\": 2", "{}", "{\"u\": 1}"}},
        {"{\"oneOf\": [{\"type\": \"object\", \"properties\": {\"a\": {}}, \"required\": [\"a\"],"
         " \"additionalProperties\": false}, {\"type\": \"object\", \"properties\": {\"b\": {}},"
         " \"required\": [\"b\"], \"additionalProperties\": false}]}",
         {"{\"a\": 1}", "{\"b\": 1}"},
         {"{}", "{\"a\": 1, \"b\""}},
        {"{\"type\": \"string\", \"anyOf\": [{\"minLength\": 3}, {\"const\": \"a\"}]}",
         {"\"abc\"", "\"a\""},
         {"\"b\"", "1", "null"}},
        {"{\"allOf\": [{\"type\": \"string\"}]}", {"\"a\""}, {"1"}},
        {"{\"anyOf\": [false, {\"type\": \"null\"}]}", {"null"}, {"1"}},
    };
    CHECK_TEXTS(cases);
}

static void references_are_followed(void **state) {
    (void)state;
    static const struct texts cases[] = {
        {"{\"$ref\": \"#/$defs/node\", \"$defs\": {\"node\": {\"type\": \"object\", \"properties\":"
         " {\"v\": {\"type\": \"integer\"}, \"next\": {\"$ref\": \"#/$defs/node\"}}, \"required\":"
         " [\"v\"], \"additionalProperties\": false}}}",
         {"{\"v\": 1}", "{\"v\": 1, \"next\": {\"next\": {\"v\": 2}, \"v\": 3}}"},
         {"{}", "{\"v\": 1, \"next\": {}}", "{\"next\": 1"}},
        {"{\"type\": \"array\", \"items\": {\"anyOf\": [{\"$ref\": \"#\"}, {\"type\": "
         "\"integer\"}]}}",
         {"[]", "[[], [1, [2]]]", "[1]"},
         {"[\"a\"]", "1"}},
        {"{\"properties\": {\"a/b\": {\"type\": \"null\"}, \"c\": {\"$ref\":"
         " \"#/properties/a~1b\"}}, \"type\": \"object\"}",
         {"{\"c\": null}"},
         {"{\"c\": 1"}},
        {"{\"definitions\": {\"x y\": {\"type\": \"boolean\"}}, \"$ref\": \"#/definitions/x%20y\"}",
         {"true"},
         {"1"}},
        {"{\"anyOf\": [{\"type\": \"string\"}, {\"$ref\": \"#\"}]}", {"\"a\""}, {"1"}},
        {"{\"type\": \"array\", \"prefixItems\": [{\"type\": \"null\"}, {\"$ref\":"
         " \"#/prefixItems/0\"}], \"items\": false}",
         {"[null, null]"},
         {"[null, 1"}},
    };
    CHECK_TEXTS(cases);
}

static void annotations_are_no_constraints(void **state) {
    (void)state;
    static const struct texts cases[] = {
        {"{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\", \"$id\": \"x\","
         " \"$comment\": \"c\", \"title\": \"t\", \"description\": \"d\", \"default\": 5,"
         " \"examples\": [1], \"deprecated\": true, \"readOnly\": true, \"writeOnly\": false,"
         " \"type\": \"string\", \"$defs\": {\"unused\": {\"pattern\": \"x\"}}}",
         {"\"a\""},
         {"5"}},
    };
    CHECK_TEXTS(cases);
}

/* Where a text may no longer go on by white space: neither before a value nor between two tokens
 * can a model write nothing else for ever. */
static void white_space_is_bounded(void **state) {
    (void)state;
    static const struct {
        const char *unit;
        int most;
    } kinds[] = {{" ", FCT_JSON_MAX_SPACE},
                 {"\t", FCT_JSON_MAX_SPACE},
                 {"\n", FCT_JSON_MAX_LINES},
                 {"\r", FCT_JSON_MAX_LINES},
                 {"\r\n", FCT_JSON_MAX_LINES}};
    static const char *const around[][2] = {
        {"", "1"}, {"[1", "]"}, {"{\"a\"", ": 1}"}, {"[1]", ""}};
    fct_schema *any = fct_schema_any(NULL);
    for (int kind = 0; kind < 5; kind++)
        for (int place = 0; place < 4; place++)
            for (int more = 0; more < 2; more++) {
                char text[200];
                strcpy(text, around[place][0]);
                for (int i = 0; i < kinds[kind].most + more; i++) strcat(text, kinds[kind].unit);
                strcat(text, around[place][1]);
                assert_int_equal(verdict_on(any, text), more ? REFUSED : WHOLE);
            }
    fct_schema_free(any);
}

/* The deepest nesting still closes; one more is refused at its bracket, and a schema that needs
 * more is refused as a whole. */
static void depth_is_bounded(void **state) {
    (void)state;
    char text[2 * FCT_SCHEMA_MAX_DEPTH + 2];
    fct_schema *any = fct_schema_any(NULL);
    memset(text, '[', FCT_SCHEMA_MAX_DEPTH);
    memset(text + FCT_SCHEMA_MAX_DEPTH, ']', FCT_SCHEMA_MAX_DEPTH);
    text[2 * FCT_SCHEMA_MAX_DEPTH] = 0;
    assert_int_equal(verdict_on(any, text), WHOLE);
    text[FCT_SCHEMA_MAX_DEPTH] = '[';
    text[FCT_SCHEMA_MAX_DEPTH + 1] = 0;
    assert_int_equal(verdict_on(any, text), REFUSED);
    fct_schema_free(any);
    /* Each level needs one more below it for its required member, so the last does not fit. */
    fct_schema *pairs =
        schema_of("{\"type\": \"object\", \"properties\": {\"a\": {\"const\": [[]]},"
                  " \"n\": {\"$ref\": \"#\"}}, \"required\": [\"a\"]}");
    char deep[16 * FCT_SCHEMA_MAX_DEPTH] = "";
    for (int i = 0; i < FCT_SCHEMA_MAX_DEPTH - 3; i++) strcat(deep, "{\"n\":");
    strcat(deep, "{\"a\":[[]]");
    assert_int_equal(verdict_on(pairs, deep), BEGUN);
    assert_int_equal(verdict_on(pairs, strcat(deep, ",\"n\":")), REFUSED);
    fct_schema_free(pairs);
}

static void what_is_beyond_the_subset_is_named(void **state) {
    (void)state;
    static const struct {
        const char *schema, *name, *place;
        fct_status status;
    } cases[] = {
#define BEYOND(keyword, value)                                                                     \
    {"{\"" keyword "\": " value "}", "'" keyword "'", "#:", FCT_ERR_UNSUPPORTED}
        BEYOND("pattern", "\"^a$\""),
        BEYOND("format", "\"date\""),
        BEYOND("multipleOf", "2"),
        BEYOND("uniqueItems", "true"),
        BEYOND("contains", "{}"),
        BEYOND("minContains", "1"),
        BEYOND("maxContains", "1"),
        BEYOND("minProperties", "1"),
        BEYOND("maxProperties", "1"),
        BEYOND("patternProperties", "{}"),
        BEYOND("propertyNames", "{}"),
        BEYOND("dependentRequired", "{}"),
        BEYOND("dependentSchemas", "{}"),
        BEYOND("dependencies", "{}"),
        BEYOND("unevaluatedProperties", "false"),
        BEYOND("unevaluatedItems", "false"),
        BEYOND("additionalItems", "false"),
        BEYOND("if", "{}"),
        BEYOND("then", "{}"),
        BEYOND("else", "{}"),
        BEYOND("not", "{}"),
        BEYOND("nullable", "true"),
        BEYOND("$anchor", "\"x\""),
        BEYOND("$dynamicRef", "\"#x\""),
        BEYOND("$vocabulary", "{}"),
        BEYOND("contentEncoding", "\"base64\""),
        BEYOND("x-own", "1"),
        {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"array\", \"items\": "
         "{\"pattern\":"
         " \"x\"}}}}",
         "'pattern'", "#/properties/a/items:", FCT_ERR_UNSUPPORTED},
        {"{\"anyOf\": [true, {\"not\": {}}]}", "'not'", "#/anyOf/1:", FCT_ERR_UNSUPPORTED},
        {"{\"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"format\": \"date\"}}}", "'format'",
         "#/$defs/a:", FCT_ERR_UNSUPPORTED},
        {"{\"$ref\": \"other.json\"}", "'$ref'", "other.json", FCT_ERR_UNSUPPORTED},
        {"{\"$ref\": \"#/$defs/none\"}", "'$ref'", "#/$defs/none", FCT_ERR_UNSUPPORTED},
        {"{\"$ref\": \"#/$defs/a\", \"minLength\": 1, \"$defs\": {\"a\": {}}}",
         "'minLength' beside", "#:", FCT_ERR_UNSUPPORTED},
        {"{\"anyOf\": [true], \"properties\": {}}", "'properties' beside 'anyOf'",
         "#:", FCT_ERR_UNSUPPORTED},
        {"{\"enum\": [1], \"minimum\": 0}", "'minimum' beside 'enum'", "#:", FCT_ERR_UNSUPPORTED},
        {"{\"enum\": [1], \"const\": 1}", "'const' beside 'enum'", "#:", FCT_ERR_UNSUPPORTED},
        {"{\"allOf\": [true, {}]}", "'allOf'", "#:", FCT_ERR_UNSUPPORTED},
        {"{\"type\": \"number\", \"maximum\": 1234567890123456}", "'maximum'",
         "#:", FCT_ERR_UNSUPPORTED},
        {"{\"type\": \"number\", \"minimum\": 1e-20}", "'minimum'", "#:", FCT_ERR_UNSUPPORTED},
        {"{\"type\": \"integer\", \"minimum\": 1234567890123456789012}", "'minimum'",
         "#:", FCT_ERR_UNSUPPORTED},
        {"{\"oneOf\": [{\"type\": \"integer\"}, {\"type\": \"number\"}]}", "'oneOf'", "1 and 2",
         FCT_ERR_UNSUPPORTED},
        {"{\"oneOf\": [{\"type\": \"object\"}, {\"type\": \"null\"}, {\"required\": [\"a\"]}]}",
         "'oneOf'", "1 and 3", FCT_ERR_UNSUPPORTED},
        {"{\"oneOf\": [{\"enum\": [1]}, {\"const\": 1.0}]}", "'oneOf'", "1 and 2",
         FCT_ERR_UNSUPPORTED},
        {"{\"properties\": {\"a\": {\"$id\": \"x\"}}}", "'$id'",
         "#/properties/a:", FCT_ERR_UNSUPPORTED},
        {"{\"type\": \"text\"}", "'type'", "#:", FCT_ERR_ARGUMENT},
        {"{\"type\": []}", "'type'", "#:", FCT_ERR_ARGUMENT},
        {"{\"minLength\": -1}", "'minLength'", "#:", FCT_ERR_ARGUMENT},
        {"{\"maxItems\": 1.5}", "'maxItems'", "#:", FCT_ERR_ARGUMENT},
        {"{\"minimum\": \"1\"}", "'minimum'", "#:", FCT_ERR_ARGUMENT},
        {"{\"exclusiveMinimum\": true}", "'exclusiveMinimum'", "#:", FCT_ERR_ARGUMENT},
        {"{\"required\": \"a\"}", "'required'", "#:", FCT_ERR_ARGUMENT},
        {"{\"required\": [1]}", "'required'", "#:", FCT_ERR_ARGUMENT},
        {"{\"required\": [\"a\"], \"additionalProperties\": false}", "'a'", "#:", FCT_ERR_ARGUMENT},
        {"{\"items\": [{}]}", "must be an object", "#/items:", FCT_ERR_ARGUMENT},
        {"{\"prefixItems\": {}}", "'prefixItems'", "#:", FCT_ERR_ARGUMENT},
        {"{\"properties\": []}", "'properties'", "#:", FCT_ERR_ARGUMENT},
        {"{\"enum\": []}", "'enum'", "#:", FCT_ERR_ARGUMENT},
        {"{\"anyOf\": []}", "'anyOf'", "#:", FCT_ERR_ARGUMENT},
        {"[]", "must be an object", "#:", FCT_ERR_ARGUMENT},
        {"{", "not valid JSON", "line 1", FCT_ERR_ARGUMENT},
        {"{\"type\": \"string\", \"minLength\": 2, \"maxLength\": 1}", "no value", "",
         FCT_ERR_ARGUMENT},
        {"{\"type\": \"integer\", \"minimum\": 2, \"maximum\": 1}", "no value", "",
         FCT_ERR_ARGUMENT},
        {"{\"type\": \"integer\", \"exclusiveMinimum\": 1, \"exclusiveMaximum\": 2}", "no value",
         "", FCT_ERR_ARGUMENT},
        {"{\"type\": \"array\", \"minItems\": 1, \"items\": false}", "no value", "",
         FCT_ERR_ARGUMENT},
        {"{\"type\": \"string\", \"const\": 1}", "no value", "", FCT_ERR_ARGUMENT},
        {"{\"$ref\": \"#\"}", "no value", "", FCT_ERR_ARGUMENT},
        {"{\"type\": \"object\", \"properties\": {\"a\": {\"$ref\": \"#\"}}, \"required\": "
         "[\"a\"]}",
         "no value", "", FCT_ERR_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fct_error err = {0};
        fct_schema *schema = fct_schema_read(cases[i].schema, strlen(cases[i].schema), &err);
        if (schema) fail_msg("%s is taken", cases[i].schema);
        if (!strstr(err.message, cases[i].name) || !strstr(err.message, cases[i].place) ||
            err.code != cases[i].status)
            fail_msg("%s: %d, %s", cases[i].schema, (int)err.code, err.message);
    }
}

/* Too many alternatives for one value are refused, not cut. */
static void a_choice_has_a_limit(void **state) {
    (void)state;
    char text[4096] = "{\"anyOf\": [";
    for (int i = 0; i < FCT_SCHEMA_MAX_ALTERNATIVES + 1; i++)
        sprintf(text + strlen(text), "%s{\"const\": [%d]}", i ? "," : "", i);
    strcat(text, "]}");
    fct_error err = {0};
    assert_null(fct_schema_read(text, strlen(text), &err));
    assert_int_equal(err.code, FCT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "32 alternatives"));
}

/* Any number of strings or numbers in a list is one alternative. */
static void long_lists_are_fine(void **state) {
    (void)state;
    static char text[40000] = "{\"enum\": [";
    for (int i = 0; i < 1000; i++)
        sprintf(text + strlen(text), "%s%d, \"name %d\"", i ? "," : "", i, i);
    strcat(text, "]}");
    fct_schema *schema = schema_of(text);
    assert_int_equal(verdict_on(schema, "999"), WHOLE);
    assert_int_equal(verdict_on(schema, "1000"), REFUSED);
    assert_int_equal(verdict_on(schema, "\"name 512\""), WHOLE);
    assert_int_equal(verdict_on(schema, "\"name 5120"), REFUSED);
    fct_schema_free(schema);
}

/* A chain of references is followed by calls inside each other, so it has an end. */
static void a_chain_of_references_has_a_limit(void **state) {
    (void)state;
    static char text[1 << 16];
    static const int lengths[] = {400, 1000};
    for (int i = 0; i < 2; i++) {
        fct_error err = {0};
        strcpy(text, "{\"$ref\": \"#/$defs/0\", \"$defs\": {");
        char *end = text + strlen(text);
        for (int link = 0; link < lengths[i]; link++)
            end += sprintf(end, "\"%d\": {\"$ref\": \"#/$defs/%d\"}, ", link, link + 1);
        sprintf(end, "\"%d\": {\"type\": \"null\"}}}", lengths[i]);
        fct_schema *schema = fct_schema_read(text, strlen(text), &err);
        if (i == 0)
            assert_int_equal(verdict_on(schema, "null"), WHOLE);
        else
            assert_non_null(strstr(err.message, "512 schemas inside each other"));
        assert_true((i == 0) == (schema != NULL));
        fct_schema_free(schema);
    }
}

/* Every beginning of a schema is refused with a message, and nothing is lost on the way. */
static void cut_schemas_are_refused(void **state) {
    (void)state;
    static const char text[] = "{\"type\": \"object\", \"properties\": {\"a\": {\"$ref\": "
                               "\"#/$defs/x\"}, \"b\": {\"oneOf\":"
                               " [{\"const\": 1}, {\"type\": \"array\", \"prefixItems\": "
                               "[{\"enum\": [\"q\", {\"w\": [2]}]}]}]"
                               "}}, \"required\": [\"a\"], \"$defs\": {\"x\": {\"minLength\": 3}}}";
    for (size_t n = 0; n + 1 < sizeof text - 1; n++) {
        fct_error err = {0};
        assert_null(fct_schema_read(text, n, &err));
        assert_true(err.message[0]);
    }
    fct_schema_free(schema_of(text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_json_is_json),
        cmocka_unit_test(types_are_held),
        cmocka_unit_test(lengths_count_characters),
        cmocka_unit_test(bounds_of_integers_are_held),
        cmocka_unit_test(bounds_of_numbers_are_held),
        cmocka_unit_test(arrays_are_held),
        cmocka_unit_test(objects_are_held),
        cmocka_unit_test(listed_values_are_held),
        cmocka_unit_test(choices_are_held),
        cmocka_unit_test(references_are_followed),
        cmocka_unit_test(annotations_are_no_constraints),
        cmocka_unit_test(white_space_is_bounded),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(what_is_beyond_the_subset_is_named),
        cmocka_unit_test(a_choice_has_a_limit),
        cmocka_unit_test(long_lists_are_fine),
        cmocka_unit_test(a_chain_of_references_has_a_limit),
        cmocka_unit_test(cut_schemas_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
