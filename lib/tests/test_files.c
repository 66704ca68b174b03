#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/env.h"
#include "common/file.h"
#include "tests/run_suite.h"

static char *folder;
static struct ox_env *env;
static struct ox_error err;

/* Instead of the system's: without /proc a file that has no name cannot be given one. */
static bool has_proc;

int access(const char *path, int mode)
{
    if (!has_proc && strncmp(path, "/proc/", 6) == 0) {
        errno = ENOENT;
        return -1;
    }
    return faccessat(AT_FDCWD, path, mode, 0);
}

static void setup(void)
{
    has_proc = true;
    static char name[] = "/tmp/ox-test-files-XXXXXX";
    strcpy(name + sizeof name - 7, "XXXXXX");
    folder = mkdtemp(name);
    ck_assert_ptr_nonnull(folder);
    ck_assert_int_eq(chdir(folder), 0);
    env = ox_env_new();
    ck_assert_ptr_nonnull(env);
}

static void teardown(void)
{
    ox_env_release(env);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void put(const char *path, const char *text)
{
    ck_assert_int_eq(ox_file_write(path, text, strlen(text), &err), OX_OK);
}

static size_t n_entries(void)
{
    FILE *list = popen("ls -A | wc -l", "r");
    size_t n = 0;
    ck_assert_int_eq(fscanf(list, "%zu", &n), 1);
    pclose(list);
    return n;
}

static void check_content(const char *path, const char *text)
{
    struct ox_mapping mapping;
    ck_assert_int_eq(ox_mapping_open(&mapping, env, path, 0, &err), OX_OK);
    ck_assert_uint_eq(mapping.bytes, strlen(text));
    ck_assert_mem_eq(mapping.data, text, mapping.bytes);
    ox_mapping_release(&mapping);
}

START_TEST(what_was_written_is_read_back_for_every_size)
{
    static const size_t sizes[] = {0, 1, 4095, 65536, 262143, 262144, 262145, 3000000};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        uint8_t *bytes = malloc(sizes[k] + 1);
        for (size_t i = 0; i < sizes[k]; i++)
            bytes[i] = (uint8_t)(i * 7 + i / 1000);
        ck_assert_int_eq(ox_file_write("f", bytes, sizes[k], &err), OX_OK);
        struct ox_mapping mapping;
        ck_assert_int_eq(ox_mapping_open(&mapping, env, "f", 0, &err), OX_OK);
        ck_assert_uint_eq(mapping.bytes, sizes[k]);
        ck_assert_mem_eq(mapping.data, bytes, sizes[k]);
        ox_mapping_release(&mapping);
        ck_assert_uint_eq(env->budget.used, 0);
        free(bytes);
    }
}
END_TEST

START_TEST(a_pipe_is_read_to_its_end)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    if (fork() == 0) {
        for (int i = 0; i < 50000; i++)
            if (write(fds[1], "0123456789", 10) != 10)
                _exit(1);
        _exit(0);
    }
    close(fds[1]);
    struct ox_mapping mapping;
    ck_assert_int_eq(ox_mapping_open_fd(&mapping, env, fds[0], "pipe", 0, &err), OX_OK);
    ck_assert_uint_eq(mapping.bytes, 500000);
    ck_assert_mem_eq(mapping.data + 499990, "0123456789", 10);
    ox_mapping_release(&mapping);
    ck_assert_uint_eq(env->budget.used, 0);
    close(fds[0]);
    wait(NULL);
}
END_TEST

START_TEST(limits_and_the_budget_are_kept)
{
    struct ox_mapping mapping;
    put("f", "0123456789");
    ck_assert_int_eq(ox_mapping_open(&mapping, env, "f", 9, &err), OX_LIMIT);
    ck_assert_ptr_nonnull(strstr(err.message, "f: "));
    ck_assert_int_eq(ox_mapping_open(&mapping, env, "f", 10, &err), OX_OK);
    ox_mapping_release(&mapping);
    ox_env_limits(env)->memory_bytes = 5;
    ck_assert_int_eq(ox_mapping_open(&mapping, env, "f", 0, &err), OX_LIMIT);
    ck_assert_int_eq(ox_mapping_open(&mapping, env, "/dev/zero", 100, &err), OX_LIMIT);
    ck_assert_uint_eq(env->budget.used, 0);
}
END_TEST

START_TEST(what_cannot_be_read_is_named)
{
    struct ox_mapping mapping;
    ck_assert_int_eq(ox_mapping_open(&mapping, env, "absent", 0, &err), OX_INPUT);
    ck_assert_str_eq(err.message, "absent: cannot be opened: No such file or directory");
    ck_assert_int_eq(ox_mapping_open(&mapping, env, ".", 0, &err), OX_INPUT);
    ck_assert_str_eq(err.message, ".: is a folder, not a file");
}
END_TEST

START_TEST(a_mapped_file_is_known_by_address)
{
    char *bytes = calloc(1, 1 << 20);
    ck_assert_int_eq(ox_file_write("big", bytes, 1 << 20, &err), OX_OK);
    struct ox_mapping mapping;
    ck_assert_int_eq(ox_mapping_open(&mapping, env, "big", 0, &err), OX_OK);
    ck_assert(mapping.mapped);
    ck_assert_str_eq(ox_mapping_at(mapping.data + 12345), "big");
    ck_assert_ptr_null(ox_mapping_at(bytes));
    const uint8_t *data = mapping.data;
    ox_mapping_release(&mapping);
    ck_assert_ptr_null(ox_mapping_at(data));
    free(bytes);
}
END_TEST

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    const char *path = ox_mapping_at(info->si_addr);
    _exit(path && strcmp(path, "big") == 0 ? 3 : 4);
}

START_TEST(a_mapped_file_cut_short_is_named_in_the_handler)
{
    char *bytes = calloc(1, 1 << 20);
    ck_assert_int_eq(ox_file_write("big", bytes, 1 << 20, &err), OX_OK);
    free(bytes);
    struct ox_mapping mapping;
    ck_assert_int_eq(ox_mapping_open(&mapping, env, "big", 0, &err), OX_OK);
    pid_t child = fork();
    if (child == 0) {
        struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
        sigaction(SIGBUS, &action, NULL);
        if (truncate("big", 4096) != 0)
            _exit(5);
        _exit(*(const volatile uint8_t *)(mapping.data + 500000) ? 6 : 7);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 3);
    ox_mapping_release(&mapping);
}
END_TEST

START_TEST(until_it_is_whole_a_file_has_no_name)
{
    int fd = open(".", O_TMPFILE | O_RDWR, 0600);
    put("f", "old");
    struct ox_outfile *out;
    ck_assert_int_eq(ox_outfile_open(&out, "f", &err), OX_OK);
    ck_assert_int_eq(ox_outfile_write(out, "new", 3, &err), OX_OK);
    ck_assert_uint_eq(n_entries(), fd >= 0 ? 1 : 2);
    check_content("f", "old");
    ck_assert_int_eq(ox_outfile_commit(out, &err), OX_OK);
    ox_outfile_release(out);
    check_content("f", "new");
    ck_assert_uint_eq(n_entries(), 1);
    if (fd >= 0)
        close(fd);
}
END_TEST

START_TEST(without_commit_the_old_file_stays_and_nothing_else)
{
    has_proc = _i == 1;
    put("f", "old");
    struct ox_outfile *out;
    ck_assert_int_eq(ox_outfile_open(&out, "f", &err), OX_OK);
    ck_assert_int_eq(ox_outfile_write(out, "new", 3, &err), OX_OK);
    check_content("f", "old");
    ck_assert_uint_le(n_entries(), 2);
    ox_outfile_release(out);
    check_content("f", "old");
    ck_assert_uint_eq(n_entries(), 1);
}
END_TEST

START_TEST(cleanup_removes_open_temporary_files)
{
    has_proc = false;
    struct ox_outfile *a;
    struct ox_outfile *b;
    ck_assert_int_eq(ox_outfile_open(&a, "a", &err), OX_OK);
    ck_assert_int_eq(ox_outfile_open(&b, "b", &err), OX_OK);
    ck_assert_uint_eq(n_entries(), 2);
    ox_outfile_cleanup();
    ck_assert_uint_eq(n_entries(), 0);
    ck_assert_int_eq(ox_outfile_commit(a, &err), OX_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "a: "));
    ox_outfile_release(a);
    ox_outfile_release(b);
}
END_TEST

START_TEST(patches_reach_buffered_and_written_parts)
{
    struct ox_outfile *out;
    char *bytes = malloc(200000);
    memset(bytes, 'x', 200000);
    ck_assert_int_eq(ox_outfile_open(&out, "f", &err), OX_OK);
    ck_assert_int_eq(ox_outfile_write(out, bytes, 200000, &err), OX_OK);
    ck_assert_int_eq(ox_outfile_write(out, bytes, 10, &err), OX_OK);
    ck_assert_uint_eq(ox_outfile_position(out), 200010);
    ck_assert_int_eq(ox_outfile_patch(out, 100, "ab", 2, &err), OX_OK);
    ck_assert_int_eq(ox_outfile_patch(out, 199999, "cd", 2, &err), OX_OK);
    ck_assert_int_eq(ox_outfile_patch(out, 200009, "ef", 2, &err), OX_INTERNAL);
    ck_assert_int_eq(ox_outfile_write(out, "end", 3, &err), OX_OK);
    ck_assert_int_eq(ox_outfile_commit(out, &err), OX_OK);
    ox_outfile_release(out);
    struct ox_mapping mapping;
    ck_assert_int_eq(ox_mapping_open(&mapping, env, "f", 0, &err), OX_OK);
    ck_assert_uint_eq(mapping.bytes, 200013);
    ck_assert_mem_eq(mapping.data + 99, "xabx", 4);
    ck_assert_mem_eq(mapping.data + 199998, "xcdx", 4);
    ck_assert_mem_eq(mapping.data + 200010, "end", 3);
    ox_mapping_release(&mapping);
    free(bytes);
}
END_TEST

START_TEST(the_mode_of_the_old_file_is_kept)
{
    put("f", "old");
    ck_assert_int_eq(chmod("f", 0640), 0);
    put("f", "new");
    struct stat st;
    ck_assert_int_eq(stat("f", &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0640);
    check_content("f", "new");
}
END_TEST

START_TEST(a_link_is_replaced_not_followed)
{
    put("target", "untouched");
    ck_assert_int_eq(symlink("target", "link"), 0);
    put("link", "new");
    check_content("target", "untouched");
    check_content("link", "new");
}
END_TEST

START_TEST(devices_are_written_not_replaced)
{
    put("/dev/null", "nothing");
    struct stat st;
    ck_assert_int_eq(stat("/dev/null", &st), 0);
    ck_assert(S_ISCHR(st.st_mode));
    if (access("/dev/full", W_OK) == 0) {
        ck_assert_int_eq(ox_file_write("/dev/full", "x", 1, &err), OX_IO);
        ck_assert_str_eq(err.message, "/dev/full: cannot be written: No space left on device");
    }
}
END_TEST

START_TEST(files_among_devices_are_replaced_whole)
{
    char name[] = "/dev/shm/onnxtool-test-XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0)
        return;
    close(fd);
    put(name, "longer than what follows");
    put(name, "short");
    check_content(name, "short");
    ck_assert_int_eq(unlink(name), 0);
}
END_TEST

START_TEST(standard_output_is_written_when_committed)
{
    int saved = dup(STDOUT_FILENO);
    int fd = open("stdout", O_RDWR | O_CREAT, 0600);
    ck_assert_int_eq(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
    struct ox_outfile *out;
    ck_assert_int_eq(ox_outfile_open(&out, "-", &err), OX_OK);
    ck_assert_int_eq(ox_outfile_write(out, "hello", 5, &err), OX_OK);
    ck_assert_int_eq(lseek(fd, 0, SEEK_END), 0);
    ck_assert_int_eq(ox_outfile_patch(out, 0, "J", 1, &err), OX_OK);
    ck_assert_int_eq(ox_outfile_commit(out, &err), OX_OK);
    ox_outfile_release(out);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(fd);
    check_content("stdout", "Jello");
}
END_TEST

START_TEST(output_that_cannot_be_opened_is_named)
{
    ck_assert_int_eq(ox_file_write("absent/f", "x", 1, &err), OX_IO);
    ck_assert_str_eq(err.message,
                     "absent/f: its folder cannot be opened: No such file or directory");
    ck_assert_int_eq(ox_file_write(".", "x", 1, &err), OX_IO);
    ck_assert_int_eq(ox_file_write("x/", "x", 1, &err), OX_USAGE);
    ck_assert_int_eq(ox_file_write("", "x", 1, &err), OX_USAGE);
    ck_assert_uint_eq(n_entries(), 0);
}
END_TEST

static enum ox_status beneath(const char *location)
{
    int fd = -1;
    enum ox_status status =
        ox_open_beneath("model", location, OX_EXTERNAL_CONTAIN, NULL, &fd, &err);
    if (fd >= 0)
        close(fd);
    return status;
}

static void make_model_folder(void)
{
    ck_assert_int_eq(mkdir("model", 0700), 0);
    ck_assert_int_eq(mkdir("model/sub", 0700), 0);
    put("secret", "s");
    put("model/w", "w");
    put("model/a..b", "w");
    put("model/sub/w", "w");
    ck_assert_int_eq(symlink("../secret", "model/out"), 0);
    ck_assert_int_eq(symlink("w", "model/in"), 0);
    ck_assert_int_eq(symlink("..", "model/up"), 0);
    ck_assert_int_eq(link("secret", "model/hard"), 0);
    ck_assert_int_eq(mkfifo("model/fifo", 0600), 0);
}

START_TEST(external_data_beneath_the_folder_is_opened)
{
    make_model_folder();
    ck_assert_int_eq(beneath("w"), OX_OK);
    ck_assert_int_eq(beneath("./w"), OX_OK);
    ck_assert_int_eq(beneath("sub/w"), OX_OK);
    ck_assert_int_eq(beneath("sub//w"), OX_OK);
    ck_assert_int_eq(beneath("a..b"), OX_OK);
}
END_TEST

START_TEST(external_data_elsewhere_are_refused)
{
    static const char *const refused[] = {"",
                                          "/etc/passwd",
                                          "//etc/passwd",
                                          "../secret",
                                          "sub/../../secret",
                                          "sub/..",
                                          "..",
                                          "out",
                                          "in",
                                          "up/secret",
                                          "hard",
                                          "fifo",
                                          "sub",
                                          ".",
                                          "w/",
                                          "w/x",
                                          "absent",
                                          "/proc/self/environ",
                                          "a\\b",
                                          "#x",
                                          "*/_ORT_MEM_ADDR_/*",
                                          "\xff",
                                          "w\n"};
    make_model_folder();
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ck_assert_msg(beneath(refused[i]) == OX_INPUT, "%s", refused[i]);
        ck_assert_msg(strlen(err.message) > 0, "%s", refused[i]);
    }
    char *longest = malloc(5000);
    memset(longest, 'a', 4999);
    longest[4999] = '\0';
    ck_assert_int_eq(beneath(longest), OX_INPUT);
    longest[4000] = '\0';
    ck_assert_int_eq(beneath(longest), OX_INPUT);
    free(longest);
}
END_TEST

START_TEST(links_may_be_followed_within_a_root)
{
    make_model_folder();
    int fd = -1;
    ck_assert_int_eq(ox_open_beneath("model", "out", OX_EXTERNAL_FOLLOW, folder, &fd, &err), OX_OK);
    close(fd);
    ck_assert_int_eq(ox_open_beneath("model", "in", OX_EXTERNAL_FOLLOW, "model", &fd, &err), OX_OK);
    close(fd);
    ck_assert_int_eq(ox_open_beneath("model", "out", OX_EXTERNAL_FOLLOW, "model", &fd, &err),
                     OX_INPUT);
    ck_assert_int_eq(ox_open_beneath("model", "fifo", OX_EXTERNAL_FOLLOW, folder, &fd, &err),
                     OX_INPUT);
    ck_assert_int_eq(ox_open_beneath("model", "w", OX_EXTERNAL_DENY, NULL, &fd, &err), OX_INPUT);
}
END_TEST

START_TEST(paths_are_split)
{
    static const char *const cases[][3] = {{"a", ".", "a"},
                                           {"a/b", "a", "b"},
                                           {"/b", "/", "b"},
                                           {"a//b", "a", "b"},
                                           {"/a/b/c", "/a/b", "c"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *dir = ox_path_dir(cases[i][0]);
        ck_assert_str_eq(dir, cases[i][1]);
        ck_assert_str_eq(ox_path_base(cases[i][0]), cases[i][2]);
        free(dir);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("files");
    TCase *tests = tcase_create("files");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, what_was_written_is_read_back_for_every_size);
    tcase_add_test(tests, a_pipe_is_read_to_its_end);
    tcase_add_test(tests, limits_and_the_budget_are_kept);
    tcase_add_test(tests, what_cannot_be_read_is_named);
    tcase_add_test(tests, a_mapped_file_is_known_by_address);
    tcase_add_test(tests, a_mapped_file_cut_short_is_named_in_the_handler);
    tcase_add_test(tests, until_it_is_whole_a_file_has_no_name);
    tcase_add_loop_test(tests, without_commit_the_old_file_stays_and_nothing_else, 0, 2);
    tcase_add_test(tests, cleanup_removes_open_temporary_files);
    tcase_add_test(tests, patches_reach_buffered_and_written_parts);
    tcase_add_test(tests, the_mode_of_the_old_file_is_kept);
    tcase_add_test(tests, a_link_is_replaced_not_followed);
    tcase_add_test(tests, devices_are_written_not_replaced);
    tcase_add_test(tests, files_among_devices_are_replaced_whole);
    tcase_add_test(tests, standard_output_is_written_when_committed);
    tcase_add_test(tests, output_that_cannot_be_opened_is_named);
    tcase_add_test(tests, external_data_beneath_the_folder_is_opened);
    tcase_add_test(tests, external_data_elsewhere_are_refused);
    tcase_add_test(tests, links_may_be_followed_within_a_root);
    tcase_add_test(tests, paths_are_split);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
