/**
 * Engines without peers here, beside plain loops of the same statements. A scenario of MariaDB joins them by its own `subjects`:
 * taskstream, and `limit` for the loop. Its server is its own: only PostgreSQL's is in the setting.
 */
import type { Groups, Scenario } from './scenario.ts'
import { sqliteDrain, sqlitePush } from './sqlite.ts'

function throughput(name: string, engine: Scenario['engine'], subjects: Scenario['subjects']): Scenario {
  return { name, unit: 'tasks/s', better: 'higher', engine, weight: 0.5, subjects }
}

export const yardsticks: Groups = {
  sqlite: [throughput('sqlite-push', 'SQLite', sqlitePush), throughput('sqlite-drain', 'SQLite', sqliteDrain)],
}
