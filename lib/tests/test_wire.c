/* The wire format: what is accepted, what is refused and where. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "model/external.h"
#include "model/unpack.h"
#include "tests/run_suite.h"
#include "wire_build.h"

static struct ox_env *env;
static struct ox_arena arena;
static struct wire w;
static struct ox_error err;

static void setup(void)
{
    env = ox_env_new();
    ox_arena_init(&arena, ox_env_budget(env));
    err.message[0] = '\0';
}

static void teardown(void)
{
    ox_arena_release(&arena);
    ck_assert_uint_eq(atomic_load(&env->budget.used), 0);
    ox_env_release(env);
    wire_release(&w);
}

static enum ox_status unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *type)
{
    return ox_unpack(out, type, w.data, w.n, env, &arena, "f", NULL, &err);
}

static Onnx__TensorProto *tensor(void)
{
    ProtobufCMessage *m;
    ck_assert_msg(unpack(&m, &onnx__tensor_proto__descriptor) == OX_OK, "%s", err.message);
    return (Onnx__TensorProto *)m;
}

static void refused(const ProtobufCMessageDescriptor *type, enum ox_status status,
                    const char *message)
{
    ProtobufCMessage *m;
    ck_assert_int_eq(unpack(&m, type), status);
    ck_assert_str_eq(err.message, message);
}

START_TEST(packed_and_unpacked_numbers_are_one_list)
{
    wire_int(&w, 1, 2);
    wire_bytes(&w, 1, "\x03\x04", 2);
    wire_int(&w, 1, 5);
    const Onnx__TensorProto *t = tensor();
    ck_assert_uint_eq(t->n_dims, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(t->dims[i], 2 + i);
}
END_TEST

START_TEST(negative_numbers_take_ten_bytes)
{
    wire_int(&w, 1, (uint64_t)-7);
    wire_int(&w, 2, (uint64_t)(int64_t)-1);
    const Onnx__TensorProto *t = tensor();
    ck_assert_int_eq(t->dims[0], -7);
    ck_assert_int_eq(t->data_type, -1);
}
END_TEST

START_TEST(runs_of_numbers_are_counted_and_decoded_on_demand)
{
    float f = 1.5F;
    wire_bytes(&w, 4, &f, 4);
    wire_float(&w, 4, 2.5F);
    wire_bytes(&w, 7,
               "\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A",
               20);
    wire_int(&w, 7, 77);
    const Onnx__TensorProto *t = tensor();
    ck_assert_uint_eq(t->n_float_data, 2);
    ck_assert_ptr_null(t->float_data);
    ck_assert_uint_eq(t->n_int64_data, 12);
    float floats[2];
    ck_assert(ox_wire_tensor_numbers(ox_wire_tensor(t), 4, 2, floats));
    ck_assert_float_eq(floats[0], 1.5F);
    ck_assert_float_eq(floats[1], 2.5F);
    int64_t ints[12];
    ck_assert(ox_wire_tensor_numbers(ox_wire_tensor(t), 7, 12, ints));
    ck_assert_int_eq(ints[1], -1);
    ck_assert_int_eq(ints[10], 10);
    ck_assert_int_eq(ints[11], 77);
    ck_assert(!ox_wire_tensor_numbers(ox_wire_tensor(t), 7, 11, ints));
}
END_TEST

START_TEST(raw_data_stays_where_it_is)
{
    char bytes[100] = "abcd";
    wire_bytes(&w, 9, bytes, sizeof bytes);
    const Onnx__TensorProto *t = tensor();
    ck_assert_ptr_eq(t->raw_data.data, w.data + 2);
    ck_assert_uint_eq(t->raw_data.len, sizeof bytes);
}
END_TEST

START_TEST(a_few_bytes_of_raw_data_are_copied)
{
    wire_bytes(&w, 9, "a\0cd", 4);
    const Onnx__TensorProto *t = tensor();
    w.data[2] = 'b';
    ck_assert_uint_eq(t->raw_data.len, 4);
    ck_assert_mem_eq(t->raw_data.data, "a\0cd", 4);
}
END_TEST

START_TEST(the_last_of_a_singular_field_wins)
{
    wire_int(&w, 2, 1);
    wire_text(&w, 8, "a");
    wire_int(&w, 2, 7);
    wire_text(&w, 8, "b");
    const Onnx__TensorProto *t = tensor();
    ck_assert_int_eq(t->data_type, 7);
    ck_assert_str_eq(t->name, "b");
}
END_TEST

START_TEST(a_singular_message_given_twice_is_merged)
{
    wire_begin(&w, 7);
    wire_text(&w, 2, "one");
    wire_begin_node(&w, "A", "", "a");
    wire_end(&w);
    wire_end(&w);
    wire_int(&w, 1, 3);
    wire_begin(&w, 7);
    wire_begin_node(&w, "B", "", "b");
    wire_end(&w);
    wire_text(&w, 2, "two");
    wire_end(&w);
    wire_begin(&w, 7);
    wire_end(&w);
    ProtobufCMessage *m;
    ck_assert_int_eq(unpack(&m, &onnx__model_proto__descriptor), OX_OK);
    const Onnx__GraphProto *g = ((Onnx__ModelProto *)m)->graph;
    ck_assert_uint_eq(g->n_node, 2);
    ck_assert_str_eq(g->node[0]->op_type, "A");
    ck_assert_str_eq(g->node[1]->op_type, "B");
    ck_assert_str_eq(g->name, "two");
}
END_TEST

START_TEST(merging_goes_through_all_levels)
{
    for (int i = 0; i < 3; i++) { /* sparse_tensor.values.dims */
        wire_begin(&w, 22);
        for (int j = 0; j < 2; j++) {
            wire_begin(&w, 1);
            wire_int(&w, 1, (uint64_t)(10 * i + j));
            wire_bytes(&w, 5, "\x01", 1);
            wire_end(&w);
        }
        wire_end(&w);
    }
    ProtobufCMessage *m;
    ck_assert_int_eq(unpack(&m, &onnx__attribute_proto__descriptor), OX_OK);
    const Onnx__TensorProto *t = ((Onnx__AttributeProto *)m)->sparse_tensor->values;
    ck_assert_uint_eq(t->n_dims, 6);
    ck_assert_int_eq(t->dims[3], 11);
    ck_assert_int_eq(t->dims[5], 21);
    int32_t ones[6];
    ck_assert_uint_eq(t->n_int32_data, 6);
    ck_assert(ox_wire_tensor_numbers(ox_wire_tensor(t), 5, 6, ones));
}
END_TEST

START_TEST(of_a_oneof_the_last_member_stays_and_merges_only_with_itself)
{
    wire_begin(&w, 1); /* tensor_type, lost */
    wire_int(&w, 1, 1);
    wire_end(&w);
    wire_begin(&w, 4); /* sequence_type */
    wire_end(&w);
    wire_begin(&w, 1);
    wire_begin(&w, 2);
    wire_end(&w);
    wire_end(&w);
    wire_text(&w, 6, "d");
    wire_begin(&w, 1);
    wire_int(&w, 1, 7);
    wire_end(&w);
    ProtobufCMessage *m;
    ck_assert_int_eq(unpack(&m, &onnx__type_proto__descriptor), OX_OK);
    const Onnx__TypeProto *t = (Onnx__TypeProto *)m;
    ck_assert_int_eq(t->value_case, ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE);
    ck_assert_int_eq(t->tensor_type->elem_type, 7);
    ck_assert_ptr_nonnull(t->tensor_type->shape);
    ck_assert_str_eq(t->denotation, "d");
}
END_TEST

START_TEST(of_scalar_members_of_a_oneof_the_last_stays)
{
    wire_int(&w, 1, 5);
    wire_text(&w, 2, "n");
    ProtobufCMessage *m;
    ck_assert_int_eq(unpack(&m, &onnx__tensor_shape_proto__dimension__descriptor), OX_OK);
    const Onnx__TensorShapeProto__Dimension *d = (Onnx__TensorShapeProto__Dimension *)m;
    ck_assert_int_eq(d->value_case, ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM);
    ck_assert_str_eq(d->dim_param, "n");
}
END_TEST

START_TEST(unknown_fields_groups_and_odd_wire_types_are_kept)
{
    wire_int(&w, 100, 5);
    wire_tag(&w, 101, 3);
    wire_int(&w, 1, 1);
    wire_tag(&w, 2, 3);
    wire_tag(&w, 2, 4);
    wire_tag(&w, 101, 4);
    wire_text(&w, 2, "data_type as text");
    wire_tag(&w, 8, 1);
    wire_raw(&w, "12345678", 8);
    const Onnx__TensorProto *t = tensor();
    ck_assert_uint_eq(t->base.n_unknown_fields, 4);
    ck_assert_uint_eq(t->base.unknown_fields[1].tag, 101);
    ck_assert_uint_eq(t->base.unknown_fields[1].len, 6);
    ck_assert_uint_eq(t->base.unknown_fields[2].len, 18);
    ck_assert(!t->has_data_type);
    ck_assert_ptr_null(t->name);
}
END_TEST

START_TEST(repeated_strings_are_one_copy)
{
    for (int i = 0; i < 3; i++)
        wire_text(&w, 1, "same");
    ProtobufCMessage *m;
    ck_assert_int_eq(unpack(&m, &onnx__node_proto__descriptor), OX_OK);
    const Onnx__NodeProto *n = (Onnx__NodeProto *)m;
    ck_assert_str_eq(n->input[2], "same");
    ck_assert_ptr_eq(n->input[0], n->input[2]);
}
END_TEST

static void entry(const char *key, const char *value, bool unknown)
{
    wire_begin(&w, 9);
    wire_text(&w, 1, key);
    if (value)
        wire_text(&w, 2, value);
    if (unknown)
        wire_int(&w, 77, 1);
    wire_end(&w);
}

START_TEST(equal_entries_of_metadata_are_one)
{
    entry("key", "value", false);
    entry("key", "other", false);
    entry("key", "value", false);
    entry("key", "value", true);
    entry("key", NULL, false);
    entry("new", "text", false);
    ProtobufCMessage *m;
    ck_assert_int_eq(unpack(&m, &onnx__node_proto__descriptor), OX_OK);
    Onnx__StringStringEntryProto **entries = ((Onnx__NodeProto *)m)->metadata_props;
    ck_assert_uint_eq(((Onnx__NodeProto *)m)->n_metadata_props, 6);
    ck_assert_ptr_eq(entries[0], entries[2]);
    ck_assert_ptr_ne(entries[0], entries[3]);
    ck_assert_uint_eq(entries[3]->base.n_unknown_fields, 1);
    ck_assert_str_eq(entries[1]->value, "other");
    ck_assert_str_eq(entries[3]->value, "value");
    ck_assert_ptr_ne(entries[4], entries[3]);
    ck_assert_str_eq(entries[5]->key, "new");
    ck_assert_str_eq(entries[5]->value, "text");
}
END_TEST

START_TEST(long_strings_and_short_ones_do_not_overlap)
{
    char text[3000];
    for (size_t n = 1; n < sizeof text; n += 113) {
        memset(text, (int)('a' + n % 26), n);
        wire_bytes(&w, 1, text, n);
    }
    ProtobufCMessage *m;
    ck_assert_int_eq(unpack(&m, &onnx__node_proto__descriptor), OX_OK);
    const Onnx__NodeProto *node = (Onnx__NodeProto *)m;
    for (size_t i = 0; i < node->n_input; i++) {
        size_t n = 1 + 113 * i;
        ck_assert_uint_eq(strlen(node->input[i]), n);
        ck_assert_uint_eq(strspn(node->input[i], (char[]){(char)('a' + n % 26), 0}), n);
    }
}
END_TEST

START_TEST(strings_with_nul_are_refused_at_the_byte)
{
    wire_bytes(&w, 8, "a\0b", 3);
    refused(&onnx__tensor_proto__descriptor, OX_INPUT,
            "f: byte 3: TensorProto.name: a string holds a NUL");
}
END_TEST

START_TEST(strings_that_are_not_utf8_are_refused_at_the_byte)
{
    static const char *const bad[] = {"\xFF",     "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                      "\xE2\x82", "\x80"};
    for (size_t i = 0; i < OX_COUNT(bad); i++) {
        w.n = 0;
        wire_begin(&w, 8);
        wire_raw(&w, "a", 1);
        wire_raw(&w, bad[i], strlen(bad[i]));
        wire_end(&w);
        refused(&onnx__tensor_proto__descriptor, OX_INPUT,
                "f: byte 3: TensorProto.name: a string is not UTF-8");
    }
}
END_TEST

START_TEST(bytes_may_hold_anything)
{
    wire_bytes(&w, 6, "\xFF\0", 2);
    ck_assert_uint_eq(tensor()->string_data[0].len, 2);
}
END_TEST

START_TEST(malformed_records_are_refused)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *message;
    } cases[] = {
        {"\x08", 1, "f: byte 1: TensorProto: the message ends in the middle of a field"},
        {"\x08\x80", 2, "f: byte 1: TensorProto: the message ends in the middle of a field"},
        {"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12,
         "f: byte 1: TensorProto: a number has more than 10 bytes"},
        {"\x00\x00", 2, "f: byte 0: TensorProto: a field has the number 0"},
        {"\x80\x80\x80\x80\x10\x00", 6, "f: byte 0: TensorProto: a field number is too large"},
        {"\x42\x05xx", 4,
         "f: byte 1: TensorProto: a length passes the end of the message around it"},
        {"\x0E\x00", 2, "f: byte 1: TensorProto: a field has a wire type that does not exist"},
        {"\x0C", 1, "f: byte 0: TensorProto: a group is closed that was not opened"},
        {"\x0B\x14", 2, "f: byte 1: TensorProto: a group is closed by another field's number"},
        {"\x0B", 1, "f: byte 1: TensorProto: the message ends in the middle of a field"},
        {"\x22\x03xyz", 5,
         "f: byte 2: TensorProto.float_data: its length is no multiple of its elements'"},
        {"\x3A\x02\x01\x80", 4,
         "f: byte 3: TensorProto.int64_data: the message ends in the middle of a field"},
        {"\x0A\x02\x01\x80", 4,
         "f: byte 3: TensorProto.dims: the message ends in the middle of a field"},
        {"\x25xyz", 4, "f: byte 1: TensorProto: the message ends in the middle of a field"},
    };
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
        w.n = 0;
        wire_raw(&w, cases[i].bytes, cases[i].n);
        refused(&onnx__tensor_proto__descriptor, OX_INPUT, cases[i].message);
    }
}
END_TEST

static void nest(size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        wire_begin(&w, i % 2 ? 1 : 4); /* sequence_type, elem_type */
    for (size_t i = 0; i < depth; i++)
        wire_end(&w);
}

START_TEST(a_hundred_nested_messages_are_allowed)
{
    ProtobufCMessage *m;
    nest(100);
    ck_assert_int_eq(unpack(&m, &onnx__type_proto__descriptor), OX_OK);
    w.n = 0;
    nest(101);
    ck_assert_int_eq(unpack(&m, &onnx__type_proto__descriptor), OX_LIMIT);
    ck_assert_ptr_nonnull(strstr(err.message, "nested deeper than 100"));
    ox_env_limits(env)->nesting = 101;
    ck_assert_int_eq(unpack(&m, &onnx__type_proto__descriptor), OX_OK);
}
END_TEST

START_TEST(groups_nest_a_hundred_deep)
{
    ProtobufCMessage *m;
    for (unsigned depth = 100; depth <= 101; depth++) {
        w.n = 0;
        for (unsigned i = 0; i < depth; i++)
            wire_tag(&w, 50, 3);
        for (unsigned i = 0; i < depth; i++)
            wire_tag(&w, 50, 4);
        ck_assert_int_eq(unpack(&m, &onnx__type_proto__descriptor),
                         depth == 100 ? OX_OK : OX_INPUT);
    }
}
END_TEST

START_TEST(submessages_are_counted)
{
    ProtobufCMessage *m;
    for (int i = 0; i < 10; i++) {
        wire_begin(&w, 1);
        wire_end(&w);
    }
    ox_env_limits(env)->submessages = 10;
    ck_assert_int_eq(unpack(&m, &onnx__graph_proto__descriptor), OX_OK);
    ox_env_limits(env)->submessages = 9;
    ck_assert_int_eq(unpack(&m, &onnx__graph_proto__descriptor), OX_LIMIT);
}
END_TEST

START_TEST(empty_messages_by_the_million_end_at_the_budget)
{
    for (int i = 0; i < 1000000; i++)
        wire_raw(&w, "\x0A", 2);
    ox_env_limits(env)->memory_bytes = 32 << 20;
    ox_arena_release(&arena);
    ox_arena_init(&arena, ox_env_budget(env));
    ProtobufCMessage *m;
    ck_assert_int_eq(unpack(&m, &onnx__graph_proto__descriptor), OX_LIMIT);
    ck_assert_uint_le(ox_env_memory_peak(env), 32 << 20);
}
END_TEST

START_TEST(a_million_occurrences_of_one_message_merge_in_linear_time)
{
    for (int i = 0; i < 1000000; i++)
        wire_raw(&w, "\x3A\x02\x12", 4); /* graph { name: "" } */
    ProtobufCMessage *m;
    ck_assert_int_eq(unpack(&m, &onnx__model_proto__descriptor), OX_OK);
    ck_assert_str_eq(((Onnx__ModelProto *)m)->graph->name, "");
}
END_TEST

START_TEST(sha1_is_fips_180_4)
{
    static const struct {
        const char *text;
        uint8_t digest[4];
    } cases[] = {
        {"", {0xDA, 0x39, 0xA3, 0xEE}},
        {"abc", {0xA9, 0x99, 0x3E, 0x36}},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", {0x84, 0x98, 0x3E, 0x44}},
    };
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
        uint8_t digest[20];
        ox_sha1(cases[i].text, strlen(cases[i].text), digest);
        ck_assert_mem_eq(digest, cases[i].digest, 4);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        packed_and_unpacked_numbers_are_one_list,
        negative_numbers_take_ten_bytes,
        runs_of_numbers_are_counted_and_decoded_on_demand,
        raw_data_stays_where_it_is,
        a_few_bytes_of_raw_data_are_copied,
        the_last_of_a_singular_field_wins,
        a_singular_message_given_twice_is_merged,
        merging_goes_through_all_levels,
        of_a_oneof_the_last_member_stays_and_merges_only_with_itself,
        of_scalar_members_of_a_oneof_the_last_stays,
        unknown_fields_groups_and_odd_wire_types_are_kept,
        repeated_strings_are_one_copy,
        equal_entries_of_metadata_are_one,
        long_strings_and_short_ones_do_not_overlap,
        strings_with_nul_are_refused_at_the_byte,
        strings_that_are_not_utf8_are_refused_at_the_byte,
        bytes_may_hold_anything,
        malformed_records_are_refused,
        a_hundred_nested_messages_are_allowed,
        groups_nest_a_hundred_deep,
        submessages_are_counted,
        empty_messages_by_the_million_end_at_the_budget,
        a_million_occurrences_of_one_message_merge_in_linear_time,
        sha1_is_fips_180_4,
    };
    Suite *suite = suite_create("wire");
    TCase *tcase = tcase_create("wire");
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < OX_COUNT(tests); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
