import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { sql } from 'kysely'
import { defineJob, json, many } from 'taskstream'
import { openDatabase } from './database.ts'

interface Portion {
  readonly file: string
  readonly from: number
  readonly to: number
}

const portion = defineJob('portion', {
  input: json<Portion>(),
  id: ({ file, from }) => `${file} ${from}`,
  output: json<{ imported: number; refused: number }>(),
  timeoutMs: 120_000,
})
const summary = defineJob('summary', {
  needs: { portions: many(portion) },
  output: json<{ imported: number; refused: number }>(),
})
const importFile = defineJob('import', { input: json<{ file: string }>(), id: ({ file }) => file, next: [summary] })

interface Tables {
  customers: { id: number; name: string }
  refused: { line: string; why: string }
}
const { db, newStream, close } = openDatabase<Tables>()
const stream = newStream({ listener: {} })

/** Where each portion begins and ends: whole lines, so nobody reads what another has read. */
async function cut(file: string, lines: number): Promise<Portion[]> {
  const portions: Portion[] = []
  let [from, at, seen] = [0, 0, 0]
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, end + 1)) {
      if (++seen % lines > 0) continue
      portions.push({ file, from, to: at + end + 1 })
      from = at + end + 1
    }
    at += chunk.length
  }
  return from < at ? [...portions, { file, from, to: at }] : portions
}

stream.handle(importFile, async ({ input: { file }, commit, next }) => {
  const portions = await cut(file, 1_000)
  return commit(async (tx) =>
    next(summary, undefined, {
      needs: {
        portions: await stream.pushMany(
          tx,
          portion,
          portions.map((one) => [one]),
        ),
      },
    }),
  )
})

stream.handle(
  portion,
  async ({ input: { file, from, to }, commit }) => {
    const rows: Tables['customers'][] = []
    const refused: Tables['refused'][] = []
    for (const line of (await readBetween(file, from, to)).split('\n').filter(Boolean)) {
      const [id = '', name = ''] = line.split(',')
      if (/^\d+$/.test(id) && name !== '') rows.push({ id: Number(id), name })
      else refused.push({ line, why: 'a line is a number, a comma and a name' })
    }
    return commit(async (tx) => {
      if (rows.length > 0) await tx.insertInto('customers').values(rows).execute()
      if (refused.length > 0) await tx.insertInto('refused').values(refused).execute()
      return { imported: rows.length, refused: refused.length }
    })
  },
  { concurrency: 2, share: 1, retainMs: { succeeded: 7 * 86_400_000 } },
)

stream.handle(summary, ({ needs: { portions } }) => ({
  imported: portions.reduce((sum, one) => sum + one.imported, 0),
  refused: portions.reduce((sum, one) => sum + one.refused, 0),
}))

async function readBetween(file: string, from: number, to: number): Promise<string> {
  await using handle = await open(file)
  const { buffer } = await handle.read(Buffer.alloc(to - from), 0, to - from, from)
  return buffer.toString('utf8')
}

await sql`create table customers (id integer primary key, name text not null)`.execute(db)
await sql`create table refused (line text not null, why text not null)`.execute(db)
const folder = await mkdtemp(join(tmpdir(), 'imports-'))
const file = join(folder, 'customers.csv')
const rows = Number(process.env['ROWS'] ?? 20_000)
const writing = createWriteStream(file)
for (let id = 1; id <= rows; id++)
  if (!writing.write(id % 7_000 === 0 ? 'who is this?\n' : `${id},Customer ${id}\n`)) await once(writing, 'drain')
await finished(writing.end())

await stream.start()
const begun = performance.now()
const imported = await stream.wait(importFile, await stream.submit(importFile, { file }))
console.error(`${((performance.now() - begun) / 1_000).toFixed(1)} s`)
console.log(imported)
console.log(
  await db
    .selectFrom('customers')
    .select(({ fn }) => fn.countAll<string>().as('rows'))
    .execute()
    .then(([one]) => Number(one?.rows)),
)
await stream.stop()
await close()
await rm(folder, { recursive: true })
