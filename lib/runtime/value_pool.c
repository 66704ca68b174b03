#include "runtime/value_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

/* A part of the range, free or not; all parts are linked in the order of their addresses. */
struct block {
    struct ox_pool *pool;
    struct block *prev, *next;
    struct block *free_prev, *free_next;
    size_t offset, bytes;
    bool free;
};

/* Stands before the data of a small tensor. */
struct small {
    struct ox_pool *pool;
    size_t bytes;
    struct small *next; /* of those that no tensor holds */
};

enum {
    ALIGN = 64,
    SMALLEST = 1 << 16,    /* below, memory is from malloc, and kept for the next of its size */
    LEAST_SPLIT = 1 << 12, /* no smaller remainder is cut off */
    HUGE_PAGE = 2 << 20,
    HUGE_FROM = 1 << 20, /* of one: where as much is used it may be a huge page */
    LEAST_RANGE = 64 << 20,
    FINE = ALIGN, /* sizes of small ones are multiples of this up to FINE_MOST, then of COARSE */
    FINE_MOST = 1 << 12,
    COARSE = 1 << 10,
    N_SIZES = FINE_MOST / FINE + SMALLEST / COARSE + 1,
    MOST_IDLE = 1 << 20 /* bytes of small ones that are kept */
};

_Static_assert(sizeof(struct small) <= ALIGN, "data stand ALIGN bytes behind their header");

struct ox_pool {
    pthread_mutex_t lock;
    struct ox_budget *budget;
    uint8_t *base; /* NULL: not reserved yet */
    size_t reserved;
    size_t open; /* so far it may be touched; what lies behind counts for nobody's limit */
    size_t huge; /* so far pages are huge where enough was used at once */
    size_t touched;
    size_t top; /* end of the last block; counted in the budget */
    struct block *last;
    struct block *free_list;
    size_t n_used;   /* tensors, small ones too */
    size_t n_owners; /* 0: released, and there for its tensors alone */
    size_t small_bytes, peak;
    struct small *idle[N_SIZES]; /* by size_class() */
    size_t idle_bytes;           /* of no budget: nobody holds them */
    enum ox_pool_pages pages;
    bool no_range; /* the system gives none: everything is from malloc */
};

enum ox_status ox_pool_new(struct ox_pool **out, struct ox_budget *budget, enum ox_pool_pages pages,
                           struct ox_error *err)
{
    struct ox_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return ox_no_memory(err);
    pthread_mutex_init(&pool->lock, NULL);
    pool->budget = budget;
    pool->n_owners = 1;
    pool->pages = pages;
#ifdef OX_SANITIZE
    pool->no_range = true; /* so that each tensor has its own red zones */
#endif
    *out = pool;
    return OX_OK;
}

static size_t size_class(size_t bytes)
{
    return bytes <= FINE_MOST ? bytes / FINE : FINE_MOST / FINE + bytes / COARSE;
}

static size_t round_small(size_t bytes)
{
    const size_t step = bytes <= FINE_MOST ? FINE : COARSE;
    return (bytes + step - 1) / step * step;
}

/* Whether small ones of so many bytes are kept when a tensor gives them back. */
static bool keeps(const struct ox_pool *pool, size_t bytes)
{
    return bytes <= SMALLEST && pool->pages != OX_POOL_EXACT && !pool->no_range;
}

static void free_idle(struct ox_pool *pool)
{
    for (size_t i = 0; i < N_SIZES; i++) {
        for (struct small *small = pool->idle[i], *next; small; small = next) {
            next = small->next;
            free(small);
        }
        pool->idle[i] = NULL;
    }
    pool->idle_bytes = 0;
}

static void destroy(struct ox_pool *pool)
{
    free_idle(pool);
    for (struct block *block = pool->last, *prev; block; block = prev) {
        prev = block->prev;
        free(block);
    }
    ox_budget_give(pool->budget, pool->top);
    if (pool->base)
        munmap(pool->base, pool->reserved);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static void trim(struct ox_pool *pool)
{
    const size_t page = 4096;
    free_idle(pool);
    for (const struct block *block = pool->free_list; block; block = block->free_next) {
        size_t from = (block->offset + page - 1) / page * page;
        size_t to = (block->offset + block->bytes) / page * page;
        if (to > from)
            madvise(pool->base + from, to - from, MADV_DONTNEED);
    }
    size_t from = (pool->top + page - 1) / page * page;
    if (from < pool->open)
        madvise(pool->base + from, pool->open - from, MADV_DONTNEED);
}

struct ox_pool *ox_pool_ref(struct ox_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->n_owners++;
    pthread_mutex_unlock(&pool->lock);
    return pool;
}

void ox_pool_trim(struct ox_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    trim(pool);
    pthread_mutex_unlock(&pool->lock);
}

void ox_pool_release(struct ox_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    const bool unused = --pool->n_owners == 0 && pool->n_used == 0;
    if (!unused && pool->n_owners == 0)
        trim(pool);
    pthread_mutex_unlock(&pool->lock);
    if (unused)
        destroy(pool);
}

/* Reserves what the budget allows, or less where the process may not have so many addresses. */
static bool reserve(struct ox_pool *pool)
{
    if (pool->base || pool->no_range)
        return pool->base != NULL;
    size_t bytes = (size_t)1 << 38;
    if (pool->budget && pool->budget->limit && pool->budget->limit < bytes)
        bytes = (size_t)pool->budget->limit / ALIGN * ALIGN;
    for (; bytes >= LEAST_RANGE; bytes = bytes / 2 / ALIGN * ALIGN) {
        void *base =
            mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED)
            continue;
        const size_t before = (HUGE_PAGE - (uintptr_t)base % HUGE_PAGE) % HUGE_PAGE;
        if (before)
            munmap(base, before);
        pool->base = (uint8_t *)base + before;
        pool->reserved = bytes - before;
        return true;
    }
    pool->no_range = true;
    return false;
}

/* Pages up to `to` are about to be used: huge ones where half of one is, others all at once. */
static void choose_pages(struct ox_pool *pool, size_t to)
{
    enum { PAGE = 4096, POPULATE_WRITE = 23 };
    if (pool->pages == OX_POOL_EXACT || to <= pool->touched)
        return;
    size_t from = (pool->touched + PAGE - 1) / PAGE * PAGE;
    const bool soon = pool->pages == OX_POOL_SOON;
    for (; pool->huge + (soon && pool->huge ? 1 : HUGE_FROM) <= to; pool->huge += HUGE_PAGE) {
        const size_t left = pool->reserved - pool->huge;
        madvise(pool->base + pool->huge, left < HUGE_PAGE ? left : HUGE_PAGE, MADV_HUGEPAGE);
    }
    from = from > pool->huge ? from : pool->huge;
    if (from < to && !soon) /* kernels before 5.14 have none */
        (void)madvise(pool->base + from, to - from, POPULATE_WRITE);
    pool->touched = to;
}

/* Opens the range up to `to` and some more. Several sessions would else pass the process's limit on data by what they
 * reserve alone. */
static bool open_up(struct ox_pool *pool, size_t to)
{
    enum { STEP = 1 << 24 };
    if (to > pool->open) {
        size_t end = to / STEP * STEP;
        end = pool->reserved - end > STEP ? end + STEP : pool->reserved;
        if (mprotect(pool->base + pool->open, end - pool->open, PROT_READ | PROT_WRITE) != 0)
            return false;
        pool->open = end;
    }
    choose_pages(pool, to);
    return true;
}

static void unlink_free(struct ox_pool *pool, struct block *block)
{
    if (block->free_prev)
        block->free_prev->free_next = block->free_next;
    else
        pool->free_list = block->free_next;
    if (block->free_next)
        block->free_next->free_prev = block->free_prev;
    block->free_prev = block->free_next = NULL;
    block->free = false;
}

static void link_free(struct ox_pool *pool, struct block *block)
{
    block->free = true;
    block->free_prev = NULL;
    block->free_next = pool->free_list;
    if (pool->free_list)
        pool->free_list->free_prev = block;
    pool->free_list = block;
}

static struct block *new_block(struct ox_pool *pool, struct block *after, size_t offset,
                               size_t bytes)
{
    struct block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    *block = (struct block){.pool = pool,
                            .prev = after,
                            .next = after ? after->next : NULL,
                            .offset = offset,
                            .bytes = bytes};
    if (block->next)
        block->next->prev = block;
    else
        pool->last = block;
    if (after)
        after->next = block;
    return block;
}

/* The smallest that holds the bytes, the lowest of those: places depend on the run alone, not on time. */
static struct block *best_fit(const struct ox_pool *pool, size_t bytes)
{
    struct block *best = NULL;
    for (struct block *block = pool->free_list; block; block = block->free_next)
        if (block->bytes >= bytes &&
            (!best || block->bytes < best->bytes ||
             (block->bytes == best->bytes && block->offset < best->offset)))
            best = block;
    return best;
}

/* NULL: the range or the budget has no room. */
static struct block *take(struct ox_pool *pool, size_t bytes)
{
    struct block *block = best_fit(pool, bytes);
    if (block) {
        unlink_free(pool, block);
        if (block->bytes - bytes >= LEAST_SPLIT) {
            struct block *rest =
                new_block(pool, block, block->offset + bytes, block->bytes - bytes);
            if (rest) {
                block->bytes = bytes;
                link_free(pool, rest);
            }
        }
        return block;
    }
    if (bytes > pool->reserved - pool->top || !ox_budget_take(pool->budget, bytes))
        return NULL;
    block = open_up(pool, pool->top + bytes) ? new_block(pool, pool->last, pool->top, bytes) : NULL;
    if (!block) {
        ox_budget_give(pool->budget, bytes);
        return NULL;
    }
    pool->top += bytes;
    return block;
}

/* Takes in the next block. */
static void merge_next(struct ox_pool *pool, struct block *block)
{
    struct block *next = block->next;
    block->bytes += next->bytes;
    block->next = next->next;
    if (block->next)
        block->next->prev = block;
    else
        pool->last = block;
    free(next);
}

static void give(struct ox_pool *pool, struct block *block)
{
    if (block->next && block->next->free) {
        unlink_free(pool, block->next);
        merge_next(pool, block);
    }
    if (block->prev && block->prev->free) {
        block = block->prev;
        unlink_free(pool, block);
        merge_next(pool, block);
    }
    if (block->next) {
        link_free(pool, block);
        return;
    }
    pool->top -= block->bytes;
    ox_budget_give(pool->budget, block->bytes);
    pool->last = block->prev;
    if (block->prev)
        block->prev->next = NULL;
    free(block);
}

static void count(struct ox_pool *pool)
{
    pool->n_used++;
    if (pool->top + pool->small_bytes > pool->peak)
        pool->peak = pool->top + pool->small_bytes;
}

/* Unlocks the pool after a tensor was given back. */
static void uncount(struct ox_pool *pool)
{
    bool last = --pool->n_used == 0 && pool->n_owners == 0;
    pthread_mutex_unlock(&pool->lock);
    if (last)
        destroy(pool);
}

static void release_block(struct ox_buffer *buffer)
{
    struct block *block = buffer->owner;
    struct ox_pool *pool = block->pool;
    pthread_mutex_lock(&pool->lock);
    give(pool, block);
    uncount(pool);
}

static void give_small(struct small *small)
{
    struct ox_pool *pool = small->pool;
    pool->small_bytes -= small->bytes;
    ox_budget_give(pool->budget, small->bytes);
    if (!keeps(pool, small->bytes) || pool->idle_bytes + small->bytes > MOST_IDLE) {
        free(small);
        return;
    }
    struct small **idle = &pool->idle[size_class(small->bytes)];
    small->next = *idle;
    *idle = small;
    pool->idle_bytes += small->bytes;
}

static void release_small(struct ox_buffer *buffer)
{
    struct small *small = buffer->owner;
    struct ox_pool *pool = small->pool;
    pthread_mutex_lock(&pool->lock);
    give_small(small);
    uncount(pool);
}

static struct small *take_small(struct ox_pool *pool, size_t bytes)
{
    bytes += ALIGN;
    const bool kept = keeps(pool, bytes);
    if (kept) /* others have their own size, so that sanitizers see what goes past it */
        bytes = round_small(bytes);
    if (!ox_budget_take(pool->budget, bytes))
        return NULL;
    struct small **idle = kept ? &pool->idle[size_class(bytes)] : NULL;
    struct small *small = idle ? *idle : NULL;
    if (small) {
        *idle = small->next;
        pool->idle_bytes -= bytes;
    } else {
        small = aligned_alloc(ALIGN, bytes);
    }
    if (!small) {
        ox_budget_give(pool->budget, bytes);
        return NULL;
    }
    *small = (struct small){.pool = pool, .bytes = bytes};
    pool->small_bytes += bytes;
    return small;
}

enum ox_status ox_pool_tensor(struct ox_pool *pool, enum ox_dtype dtype, unsigned rank,
                              const int64_t *dims, struct ox_tensor **out, struct ox_error *err)
{
    size_t n, bytes;
    if (dtype == OX_STRING || !ox_dims_count(rank, dims, &n) ||
        OX_MUL_OVERFLOWS(n, ox_dtype_size(dtype), &bytes) || bytes > SIZE_MAX / 2)
        return ox_tensor_new(out, pool->budget, dtype, rank, dims, err);
    size_t rounded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    struct block *block = NULL;
    struct small *small = NULL;
    pthread_mutex_lock(&pool->lock);
    if (bytes < SMALLEST || !reserve(pool))
        small = take_small(pool, rounded);
    else
        block = take(pool, rounded);
    if (small || block)
        count(pool);
    pthread_mutex_unlock(&pool->lock);
    enum ox_status status;
    if (small)
        status = ox_tensor_borrow(out, dtype, rank, dims, (char *)small + ALIGN, release_small,
                                  small, err);
    else if (block)
        status = ox_tensor_borrow(out, dtype, rank, dims, pool->base + block->offset, release_block,
                                  block, err);
    else
        return ox_tensor_new(out, pool->budget, dtype, rank, dims, err);
    if (status != OX_OK) {
        pthread_mutex_lock(&pool->lock);
        if (small)
            give_small(small);
        else
            give(pool, block);
        uncount(pool);
    }
    return status;
}

size_t ox_pool_peak(struct ox_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    size_t peak = pool->peak;
    pthread_mutex_unlock(&pool->lock);
    return peak;
}
