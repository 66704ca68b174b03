/* Pictures as a model's input: resize, crop, normalize, lay out. */
#include <math.h>
#include <string.h>

#include "tensor/io/tensor_file.h"
#include "tensor/picture/picture.h"

static enum ox_status resize(struct ox_picture *picture, struct ox_arena *arena,
                             const struct ox_image_options *options, const char *name,
                             struct ox_error *err)
{
    uint64_t height = (uint64_t)options->resize_height;
    uint64_t width = (uint64_t)options->resize_width;
    if (height == 0)
        return OX_OK;
    if (width == 0) {
        bool tall = picture->height > picture->width;
        uint64_t shorter = tall ? picture->width : picture->height;
        uint64_t longer = tall ? picture->height : picture->width;
        uint64_t size = height;
        uint64_t stretched = size * longer / shorter; /* below 2^20 * 2^20 */
        width = tall ? size : stretched;
        height = tall ? stretched : size;
    }
    return ox_picture_resize(picture, arena, width, height, name, err);
}

/* Half of the difference, halves to even, as torchvision rounds. */
static int64_t middle(size_t whole, int64_t part)
{
    return (int64_t)nearbyint(((double)whole - (double)part) / 2);
}

static enum ox_status crop(struct ox_picture *picture, struct ox_arena *arena,
                           const struct ox_image_options *options, const char *name,
                           struct ox_error *err)
{
    int64_t height = options->crop_height;
    int64_t width = options->crop_width ? options->crop_width : height;
    if (height == 0)
        return OX_OK;
    struct ox_picture part = {
        .width = (size_t)width, .height = (size_t)height, .channels = picture->channels};
    OX_TRY(ox_picture_alloc(&part, arena, name, err)); /* zeros: black */
    /* What is too small is padded first: the smaller half of the border goes above and to the left. */
    int64_t top = height > (int64_t)picture->height ? -((height - (int64_t)picture->height) / 2)
                                                    : middle(picture->height, height);
    int64_t left = width > (int64_t)picture->width ? -((width - (int64_t)picture->width) / 2)
                                                   : middle(picture->width, width);
    size_t from_x = left > 0 ? (size_t)left : 0;
    size_t to_x = left < 0 ? (size_t)-left : 0;
    size_t n =
        picture->width - from_x < part.width - to_x ? picture->width - from_x : part.width - to_x;
    for (size_t y = 0; y < part.height; y++) {
        int64_t from_y = (int64_t)y + top;
        if (from_y < 0 || from_y >= (int64_t)picture->height)
            continue;
        memcpy(part.pixels + (y * part.width + to_x) * part.channels,
               picture->pixels + ((size_t)from_y * picture->width + from_x) * part.channels,
               n * part.channels);
    }
    *picture = part;
    return OX_OK;
}

/* The 256 values that a byte of this channel can become, in the tensor's type. */
static void make_table(void *table, enum ox_dtype dtype, const struct ox_image_options *options,
                       unsigned channel)
{
    double values[256];
    double scale = options->scale != 0 ? options->scale : 1;
    double mean = options->n_mean ? options->mean[options->n_mean == 1 ? 0 : channel] : 0;
    double std = options->n_std ? options->std[options->n_std == 1 ? 0 : channel] : 1;
    for (int i = 0; i < 256; i++)
        values[i] = (i * scale - mean) / std;
    ox_elements_convert(dtype, table, OX_FLOAT64, values, 256, true);
}

/* One channel: `step` is the distance of its elements in the tensor. */
static void put_channel(void *to, size_t step, size_t size, const uint8_t *from, unsigned channels,
                        size_t n, const void *table)
{
    switch (size) {
    case 1:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)to)[i * step] = ((const uint8_t *)table)[from[i * channels]];
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)to)[i * step] = ((const uint16_t *)table)[from[i * channels]];
        break;
    case 4:
        for (size_t i = 0; i < n; i++)
            memcpy((char *)to + i * step * 4, (const char *)table + from[i * channels] * (size_t)4,
                   4);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            memcpy((char *)to + i * step * size, (const char *)table + from[i * channels] * size,
                   size);
        break;
    }
}

static enum ox_status lay_out(struct ox_tensor **out, struct ox_tensor_file *file,
                              const struct ox_picture *picture,
                              const struct ox_tensor_options *options, struct ox_error *err)
{
    const struct ox_image_options *image = &options->image;
    enum ox_dtype dtype = options->dtype != OX_UNDEFINED ? options->dtype : OX_FLOAT32;
    int64_t channels = picture->channels;
    int64_t height = (int64_t)picture->height;
    int64_t width = (int64_t)picture->width;
    int64_t nchw[4] = {1, channels, height, width};
    int64_t nhwc[4] = {1, height, width, channels};
    size_t size = ox_dtype_size(dtype);
    size_t n = picture->width * picture->height;
    _Alignas(16) uint8_t table[256 * 16];
    OX_TRY(ox_tensor_new(out, ox_env_budget(file->env), dtype, 4, image->nhwc ? nhwc : nchw, err));
    for (unsigned c = 0; c < picture->channels; c++) {
        unsigned source = image->bgr ? picture->channels - 1 - c : c;
        make_table(table, dtype, image, c);
        char *to = (char *)(*out)->data + (image->nhwc ? c : c * n) * size;
        put_channel(to, image->nhwc ? picture->channels : 1, size, picture->pixels + source,
                    picture->channels, n, table);
    }
    return OX_OK;
}

static enum ox_status check_options(const struct ox_tensor_file *file,
                                    const struct ox_tensor_options *options, struct ox_error *err)
{
    const struct ox_image_options *image = &options->image;
    const int64_t sizes[] = {image->resize_height, image->resize_width, image->crop_height,
                             image->crop_width};
    unsigned channels = image->gray ? 1 : 3;
    for (size_t i = 0; i < OX_COUNT(sizes); i++)
        if (sizes[i] < 0 || sizes[i] > 1 << 20)
            return ox_fail(err, OX_USAGE, "%s: a picture of %lld pixels a side", file->path,
                           (long long)sizes[i]);
    if ((image->n_mean > 1 && image->n_mean != channels) ||
        (image->n_std > 1 && image->n_std != channels))
        return ox_fail(err, OX_USAGE,
                       "%s: a mean and a standard deviation for all channels, or %u, one a channel",
                       file->path, channels);
    for (unsigned i = 0; i < image->n_std; i++)
        if (image->std[i] == 0)
            return ox_fail(err, OX_USAGE, "%s: a standard deviation of 0", file->path);
    if (options->dtype == OX_STRING)
        return ox_fail(err, OX_USAGE, "%s: a picture is no tensor of strings", file->path);
    return OX_OK;
}

enum ox_status ox_image_open(struct ox_tensor_file *file, const struct ox_tensor_options *options,
                             struct ox_error *err)
{
    struct ox_arena scratch;
    struct ox_picture picture;
    const struct ox_picture_source source = {file->path, file->data, file->bytes, &scratch,
                                             file->env};
    struct ox_tensor *tensor = NULL;
    struct ox_tensor_member *member;
    const struct ox_image_options *image = &options->image;
    OX_TRY(check_options(file, options, err));
    ox_arena_init(&scratch, ox_env_budget(file->env));
    enum ox_status status;
    OX_TRY_CLEANUP(ox_picture_decode(&picture, &source, err));
    OX_TRY_CLEANUP(
        ox_picture_to_channels(&picture, &scratch, image->gray ? 1 : 3, file->path, err));
    OX_TRY_CLEANUP(resize(&picture, &scratch, image, file->path, err));
    OX_TRY_CLEANUP(crop(&picture, &scratch, image, file->path, err));
    OX_TRY_CLEANUP(lay_out(&tensor, file, &picture, options, err));
    OX_TRY_CLEANUP(ox_tensor_file_add(file, "", 0, &member, err));
    OX_TRY_CLEANUP(
        ox_tensor_file_set_shape(file, member, tensor->dtype, tensor->rank, tensor->dims, err));
    member->tensor = ox_tensor_ref(tensor);
cleanup:
    ox_tensor_release(tensor);
    ox_arena_release(&scratch);
    return status;
}
