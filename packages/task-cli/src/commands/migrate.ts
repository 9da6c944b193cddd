import type { Command } from 'commander'
import { confirmContext, withContextName } from '../core/confirm.ts'
import type { ConfirmOptions } from '../core/confirm.ts'
import { connect } from '../core/database.ts'
import { withCommon } from '../core/options.ts'
import { exitCodes } from '../core/exit-codes.ts'
import type { CommonOptions } from '../core/options.ts'
import { printDone } from '../output/print.ts'

export function addMigrate(program: Command): void {
  const migrate = program.command('migrate').description('create or upgrade the tables of taskstream in a database')

  withContextName(withCommon(migrate.command('up').description('bring the tables to this release'))).action(
    async (options: CommonOptions & Pick<ConfirmOptions, 'confirm'>) => {
      await using database = await connect(options, 'make')
      await confirmContext({ count: 1, isGrave: true }, database, options)
      const done = await database.tasks.migrate(database.transactions)
      const line = done.from === done.to ? `nothing to do: version ${done.to}` : `from version ${done.from} to ${done.to}`
      printDone({ json: done, lines: [line], names: [String(done.to)] }, options)
    },
  )

  withCommon(migrate.command('plan').description('print the SQL that `up` would run')).action(async (options: CommonOptions) => {
    await using database = await connect(options, 'pretend')
    const plan = await database.tasks.plan(database.reading)
    const lines = (plan.text || `-- nothing to do: version ${plan.to}`).split('\n')
    printDone({ json: plan, lines, names: [String(plan.to)] }, options)
  })

  withCommon(
    migrate.command('status').description('print the version of the tables; exit code 4 if they do not fit this release'),
  ).action(async (options: CommonOptions) => {
    await using database = await connect(options)
    const status = await database.tasks.schemaStatus(database.reading)
    const line = `tables: ${status.found || 'none'}, this release: ${status.known}, ${status.works ? 'fit' : 'do not fit'}`
    printDone({ json: status, lines: [line], names: [String(status.found)] }, options)
    if (!status.works) process.exitCode = exitCodes.no
  })
}
