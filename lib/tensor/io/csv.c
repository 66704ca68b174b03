/* Tables (RFC 4180, also with ';' or tabs): one tensor [rows, columns], or one a column. */
#include <string.h>

#include "common/number.h"
#include "tensor/io/tensor_file.h"

struct field {
    const char *p; /* quotes around it are cut off; doubled ones inside are still doubled */
    size_t n;
    bool quoted;
};

struct table {
    struct ox_tensor_file *file;
    struct field *fields; /* rows * columns */
    size_t n, capacity;
    size_t rows, columns;
    char separator;
    bool header;
};

static enum ox_status add_field(struct table *table, struct field field, struct ox_error *err)
{
    if (table->n == table->capacity) {
        size_t capacity = table->capacity ? table->capacity * 2 : 256;
        struct field *fields = ox_arena_array(&table->file->arena, capacity, sizeof *fields);
        if (!fields)
            return ox_fail(err, OX_LIMIT, "%s: the table goes over the memory limit",
                           table->file->path);
        if (table->n)
            memcpy(fields, table->fields, table->n * sizeof *fields);
        table->fields = fields;
        table->capacity = capacity;
    }
    table->fields[table->n++] = field;
    return OX_OK;
}

static struct field trim(struct field field)
{
    while (field.n > 0 && (field.p[0] == ' ' || field.p[0] == '\t')) {
        field.p++;
        field.n--;
    }
    while (field.n > 0 && (field.p[field.n - 1] == ' ' || field.p[field.n - 1] == '\t'))
        field.n--;
    return field;
}

/* One field from *at on; *at is then at the separator, the end of the line or of the file. */
static enum ox_status read_field(struct table *table, const char **at, const char *end,
                                 struct ox_error *err)
{
    const char *p = *at;
    struct field field = {p, 0, false};
    if (p < end && *p == '"') {
        field = (struct field){++p, 0, true};
        for (; p < end; p++) {
            if (*p != '"')
                continue;
            if (p + 1 == end || p[1] != '"')
                break;
            p++;
        }
        if (p == end)
            return ox_tensor_file_fault(table->file,
                                        (uint64_t)((const uint8_t *)field.p - table->file->data),
                                        err, "a quoted field does not end");
        field.n = (size_t)(p - field.p);
        p++;
        if (p < end && *p != table->separator && *p != '\n' && *p != '\r')
            return ox_tensor_file_fault(table->file,
                                        (uint64_t)((const uint8_t *)p - table->file->data), err,
                                        "something follows a quoted field");
    } else {
        while (p < end && *p != table->separator && *p != '\n' && *p != '\r')
            p++;
        field.n = (size_t)(p - field.p);
        field = trim(field);
    }
    *at = p;
    return add_field(table, field, err);
}

static enum ox_status read_line(struct table *table, const char **at, const char *end,
                                struct ox_error *err)
{
    const char *start = *at;
    size_t before = table->n;
    for (;;) {
        OX_TRY(read_field(table, at, end, err));
        if (*at == end || **at != table->separator)
            break;
        ++*at;
    }
    size_t columns = table->n - before;
    if (table->rows == 0)
        table->columns = columns;
    else if (columns != table->columns)
        return ox_tensor_file_fault(
            table->file, (uint64_t)((const uint8_t *)start - table->file->data), err,
            "row %zu has %zu fields; the first has %zu", table->rows + 1, columns, table->columns);
    table->rows++;
    return OX_OK;
}

static char find_separator(const char *at, const char *end)
{
    static const char candidates[] = ",;\t";
    const char *line = memchr(at, '\n', (size_t)(end - at));
    size_t n = (size_t)((line ? line : end) - at);
    for (size_t i = 0; i < 3; i++)
        if (memchr(at, candidates[i], n))
            return candidates[i];
    return ',';
}

static bool is_number(const struct field *field)
{
    double value;
    return !field->quoted && ox_number_parse(field->p, field->n, &value);
}

static bool is_integer(const struct field *field)
{
    int64_t value;
    return !field->quoted && ox_number_parse_int(field->p, field->n, &value);
}

/* A first line without any number, above lines that have some, names the columns. */
static bool has_header(const struct table *table)
{
    if (table->rows < 2)
        return false;
    bool numbers_below = false;
    for (size_t i = 0; i < table->columns; i++) {
        if (is_number(&table->fields[i]))
            return false;
        for (size_t k = i + table->columns; k < table->n && !numbers_below; k += table->columns)
            numbers_below = is_number(&table->fields[k]);
    }
    return numbers_below;
}

static enum ox_status parse_table(struct table *table, struct ox_error *err)
{
    const char *at = (const char *)table->file->data;
    const char *end = at + table->file->bytes;
    if (table->file->bytes >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0) /* a byte order mark */
        at += 3;
    if (at < end)
        table->separator = find_separator(at, end);
    while (at < end) {
        OX_TRY(ox_env_poll(table->file->env, err));
        if (*at == '\n' || *at == '\r') { /* an empty line, or the second half of "\r\n" */
            at++;
            continue;
        }
        OX_TRY(read_line(table, &at, end, err));
    }
    if (table->rows == 0)
        return ox_fail(err, OX_INPUT, "%s: is an empty table", table->file->path);
    table->header = has_header(table);
    return OX_OK;
}

static enum ox_status set_string(struct ox_tensor *tensor, size_t i, const struct field *field,
                                 struct ox_arena *scratch, struct ox_error *err)
{
    if (!field->quoted || !memchr(field->p, '"', field->n))
        return ox_tensor_set_string(tensor, i, field->p, field->n, err);
    char *text = ox_arena_alloc(scratch, field->n);
    size_t n = 0;
    if (!text)
        return ox_no_memory(err);
    for (size_t k = 0; k < field->n; k++) {
        text[n++] = field->p[k];
        if (field->p[k] == '"')
            k++;
    }
    return ox_tensor_set_string(tensor, i, text, n, err);
}

static enum ox_dtype type_of(const struct table *table, size_t first, size_t n_columns)
{
    bool integers = true;
    for (size_t row = table->header; row < table->rows; row++) {
        for (size_t k = 0; k < n_columns; k++) {
            const struct field *field = &table->fields[row * table->columns + first + k];
            integers = integers && is_integer(field);
            if (!integers && !is_number(field))
                return OX_STRING;
        }
    }
    return integers ? OX_INT64 : OX_FLOAT64;
}

static enum ox_status fault_at(const struct table *table, const struct field *field,
                               enum ox_dtype dtype, struct ox_error *err)
{
    char shown[OX_SHOWN_BYTES];
    return ox_tensor_file_fault(
        table->file, (uint64_t)((const uint8_t *)field->p - table->file->data), err,
        "\"%s\" is no %s", ox_shown(shown, field->p, field->n), ox_dtype_name(dtype));
}

static enum ox_status fill(const struct table *table, struct ox_tensor *tensor, size_t first,
                           size_t n_columns, struct ox_error *err)
{
    struct ox_arena scratch;
    ox_arena_init(&scratch, ox_env_budget(table->file->env));
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < tensor->n && status == OX_OK; i++) {
        size_t row = table->header + i / n_columns;
        const struct field *field = &table->fields[row * table->columns + first + i % n_columns];
        if (tensor->dtype == OX_STRING)
            status = set_string(tensor, i, field, &scratch, err);
        else if (field->quoted ||
                 !ox_element_parse(tensor->dtype,
                                   (char *)tensor->data + i * ox_dtype_size(tensor->dtype),
                                   field->p, field->n))
            status = fault_at(table, field, tensor->dtype, err);
    }
    ox_arena_release(&scratch);
    return status;
}

static enum ox_status add_columns(const struct table *table, const char *name, size_t n_name,
                                  size_t first, size_t n_columns, enum ox_dtype dtype,
                                  struct ox_error *err)
{
    struct ox_tensor_file *file = table->file;
    struct ox_tensor_member *member;
    int64_t dims[2] = {(int64_t)(table->rows - table->header), (int64_t)n_columns};
    if (dtype == OX_UNDEFINED)
        dtype = type_of(table, first, n_columns);
    OX_TRY(ox_tensor_file_add(file, name, n_name, &member, err));
    OX_TRY(ox_tensor_file_set_shape(file, member, dtype, 2, dims, err));
    OX_TRY(ox_tensor_new(&member->tensor, ox_env_budget(file->env), dtype, 2, dims, err));
    return fill(table, member->tensor, first, n_columns, err);
}

enum ox_status ox_csv_open(struct ox_tensor_file *file, const struct ox_tensor_options *options,
                           struct ox_error *err)
{
    struct table table = {.file = file, .separator = ','};
    OX_TRY(parse_table(&table, err));
    if (!options->columns)
        return add_columns(&table, "", 0, 0, table.columns, options->dtype, err);
    if (!table.header)
        return ox_fail(err, OX_INPUT, "%s: has no line that names its columns", file->path);
    for (size_t i = 0; i < table.columns; i++)
        OX_TRY(
            add_columns(&table, table.fields[i].p, table.fields[i].n, i, 1, options->dtype, err));
    return OX_OK;
}
