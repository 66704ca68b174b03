/* One model after another, each within its time. */
#include "batch.h"

enum ox_status cli_each_model(struct cli *cli, void *args, const char *const *models, size_t n,
                              enum ox_status (*one)(struct cli *cli, void *args, const char *model))
{
    struct batch_names names;
    enum ox_status status = batch_names_list(cli, models, n, &names);
    if (status == OX_OK && cli->common.resume && !cli->common.log)
        status =
            cli_fail(cli, OX_USAGE, "%s: --resume is of no use without --log", cli->command->name);
    cli->several = names.several;
    cli_forget_libraries(cli);
    if (status == OX_OK && !names.several && !cli->common.log && names.n == 1) {
        cli_start_timer(cli, names.items[0]);
        status = one(cli, args, names.items[0]);
    } else if (status == OX_OK && names.n > 0) {
        status = batch_run(cli, args, (const char *const *)names.items, names.n, one);
    }
    batch_names_release(&names);
    return status;
}

enum ox_status cli_one_model(struct cli *cli, const char *const *operands, size_t n_operands)
{
    if (n_operands == 1) {
        cli_start_timer(cli, operands[0]);
        return OX_OK;
    }
    return cli_fail(cli, OX_USAGE,
                    "%s: exactly one model is needed ('onnxtool %s --help' tells more)",
                    cli->command->name, cli->command->name);
}
