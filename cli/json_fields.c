/* Members of JSON objects: a key with its value. */
#include "cli.h"

void cli_json_string(struct ox_json *json, const char *key, const char *text)
{
    ox_json_key(json, key);
    ox_json_string(json, text);
}

void cli_json_int(struct ox_json *json, const char *key, int64_t value)
{
    ox_json_key(json, key);
    ox_json_int(json, value);
}

void cli_json_uint(struct ox_json *json, const char *key, uint64_t value)
{
    ox_json_key(json, key);
    ox_json_uint(json, value);
}

void cli_json_double(struct ox_json *json, const char *key, double value)
{
    ox_json_key(json, key);
    ox_json_double(json, value);
}

void cli_json_bool(struct ox_json *json, const char *key, bool value)
{
    ox_json_key(json, key);
    ox_json_bool(json, value);
}
