import { raw, sql } from '@taskstream/task-sql'
import type { Command } from 'commander'
import { confirmContext, withContextName } from '../core/confirm.ts'
import type { ConfirmOptions } from '../core/confirm.ts'
import { connect } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { withCommon } from '../core/options.ts'
import { CommandError, exitCodes } from '../core/exit-codes.ts'
import type { CommonOptions } from '../core/options.ts'
import { printDone } from '../output/print.ts'

export function addMigrate(program: Command): void {
  const migrate = program.command('migrate').description('create or upgrade the tables of taskstream in a database')

  withContextName(withCommon(migrate.command('up').description('bring the tables to this release'))).action(
    async (options: CommonOptions & Pick<ConfirmOptions, 'confirm'>) => {
      await using database = await connect(options, 'make')
      await checkNotTaken(database)
      await confirmContext({ count: 1, isGrave: true }, database, options)
      const done = await database.tasks.migrate(database.transactions)
      database.configure?.()
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

/** @throws CommandError refused if somebody else has a table of the name of ours: MariaDB would keep what was made before that is found out */
async function checkNotTaken({ tasks, reading, place }: NamedDatabase): Promise<void> {
  if ((await tasks.schemaStatus(reading)).found > 0) return
  const canRead = async (columns: string): Promise<boolean> => {
    const look = tasks.verb(function* ({ dialect }) {
      yield sql`select ${raw(columns)} from ${dialect.tables.task} where 1 = 0`
    })
    return await reading(async (transaction) => await look(transaction)).then(
      () => true,
      () => false,
    )
  }
  // One of ours without a version is what an interrupted first step has left.
  if ((await canRead('1')) && !(await canRead('topic, identifier, descent')))
    throw new CommandError(
      'refused',
      `${place} has a table task that is not of taskstream, and nothing was written: give taskstream a database of its own, or on PostgreSQL another --schema`,
    )
}
