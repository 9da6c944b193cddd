/** Errors of MariaDB and MySQL are told by their numbers and by the names of our tables, whatever the database is named. */
import { mariadb } from '@taskstream/task-sql/mysql2'
import { expect, test } from 'vitest'

test.each(['task', 'task_topic', 'token_holder', 'health_check'])('a missing table %s is named as one of ours', (table) => {
  const error = Object.assign(new Error(`Table 'app.${table}' doesn't exist`), { errno: 1146, code: 'ER_NO_SUCH_TABLE' })
  expect(mariadb().classify(error)).toMatchObject({ code: 'SCHEMA_MISSING' })
})

test('a missing table of somebody else is not', () => {
  const error = Object.assign(new Error("Table 'app.invoice' doesn't exist"), { errno: 1146, code: 'ER_NO_SUCH_TABLE' })
  expect(mariadb().classify(error)).toBeUndefined()
})
