/** How many statements node-postgres is told to keep prepared, in a process that uses many. */
import { raw } from '@taskstream/task-sql'
import { fromPg } from '@taskstream/task-sql/pg'
import type { PgClient } from '@taskstream/task-sql/pg'
import { expect, test } from 'vitest'

/** A direct connection, and the names under which statements were sent on it. */
function connection(): { client: PgClient; names: (string | undefined)[] } {
  const names: (string | undefined)[] = []
  const client = {
    processID: 1,
    query: async (query: string | { name: string }) => {
      if (typeof query === 'object') names.push(query.name)
      else if (query !== 'select pg_backend_pid() as pid') names.push(undefined)
      return { rows: [{ pid: 1 }] }
    },
  } as unknown as PgClient
  return { client, names }
}

/** A text that no other test has sent. */
let count = 0
const newText = (): string => `select ${count++} as prepared`

async function send(client: PgClient, text: string): Promise<void> {
  await fromPg.execute(client, raw(text), 'plan')
}

test('thousands of texts that are sent once do not keep later ones from being prepared', async () => {
  const { client, names } = connection()
  for (let each = 0; each < 3_000; each++) await send(client, newText())
  expect(names.every((name) => name === undefined)).toBe(true)
  const text = newText()
  await send(client, text)
  await send(client, text)
  expect(names.at(-1)).toBeDefined()
})

test('a connection keeps at most 400 statements, and the next connection starts anew', async () => {
  const first = connection()
  const texts = Array.from({ length: 401 }, newText)
  for (const text of texts) {
    await send(first.client, text)
    await send(first.client, text)
  }
  expect(first.names.filter((name) => name !== undefined)).toHaveLength(400)
  await send(first.client, texts[0]!)
  expect(first.names.at(-1)).toBeDefined()
  await send(first.client, texts[400]!)
  expect(first.names.at(-1)).toBeUndefined()

  const second = connection()
  await send(second.client, texts[400]!)
  expect(second.names).toEqual([expect.any(String)])
})
