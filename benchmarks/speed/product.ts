/** taskstream with its default settings. */
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, postgres } from '@taskstream/task-sql/pg'
import type { PgClient } from '@taskstream/task-sql/pg'

export function repository(): SqlTaskRepository<PgClient> {
  return sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
}
