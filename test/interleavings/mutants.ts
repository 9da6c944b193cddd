/** The code with one guard taken out. The explorer must find a violation in each. */
import { registerHooks } from 'node:module'

export interface Mutant {
  readonly name: string
  /** The end of the file's path. The text in `from` stands once in this file. */
  readonly file: string
  readonly from: string
  readonly to: string
}

export const mutants: readonly Mutant[] = [
  {
    name: 'a note of the ledger is joined, and may stand there twice',
    file: 'dialects/postgres/fast-path-claim.ts',
    from: 'and exists (select from ${holding} h where h.topic = p.topic and h.owner = o.owner and h.chunk = ${known.chunk}::int8)',
    to: 'and (select h.chunk from ${holding} h where h.topic = p.topic and h.owner = o.owner and h.chunk = ${known.chunk}::int8) is not null',
  },
  {
    name: 'a brief claim takes from a chunk that is not noted',
    file: 'dialects/postgres/fast-path-claim.ts',
    from: 'if (chunkOf(floor + 1) !== known.chunk) return undefined',
    to: '',
  },
  {
    name: 'a look at the locks leaves out the own pushes',
    file: 'dialects/postgres/xid-horizon.ts',
    from: "and l.mode = 'RowExclusiveLock') as holders",
    to: "and l.mode = 'RowExclusiveLock' and l.pid is distinct from pg_backend_pid()) as holders",
  },
  {
    name: 'what is locked inside a savepoint is not known to be held',
    file: 'dialects/postgres/dialect.ts',
    from: '- 1 and ${lockedHere}`',
    to: '- 1 and t.xmax = pg_current_xact_id_if_assigned()::xid`',
  },
  {
    name: 'what is locked inside a savepoint may be polled again',
    file: 'dialects/postgres/claim-statement.ts',
    from: '${ready} and ((select clean from start) or not ${lockedHere})',
    to: "${ready} and t.xmax <> coalesce(pg_current_xact_id_if_assigned()::xid, '2'::xid)",
  },
  {
    name: 'a listed row that others have locked makes room for a fresh one',
    file: 'dialects/postgres/claim-statement.ts',
    from: 'from (select sequence from (${readyRows(tables, topic, window)}) ready order by sequence limit ${window}) ready,',
    to: `from (select sequence
                from (\${readyRows(tables, topic, window)}) ready
               where sequence in (select r.sequence from (\${readyRows(tables, topic, window)}) r order by 1 limit (select size from room))
                  or not exists (select from \${tables.task} x where x.topic = \${topic} and x.sequence = ready.sequence and x.listed)
               order by sequence) ready,`,
  },
  {
    name: 'the floor rises without waiting for its pair to settle',
    file: 'dialects/postgres/claim-statement.ts',
    from: 's.clean and s.low >= s.mark',
    to: 's.clean and s.mark is not null',
  },
  {
    name: 'a transaction that has written moves the floor',
    file: 'dialects/postgres/claim-statement.ts',
    from: "pg_catalog.pg_current_xact_id_if_assigned() is null and pg_catalog.current_setting('transaction_isolation') = 'read committed' as clean",
    to: "pg_catalog.current_setting('transaction_isolation') = 'read committed' as clean",
  },
  {
    name: 'what is handed back is not listed',
    file: 'verbs/hand-back.ts',
    from: 'state = 1, listed = ${dialect.expr.true}',
    to: 'state = 1, listed = ${dialect.expr.false}',
  },
  {
    name: 'nothing is noted in the ledger',
    file: 'dialects/postgres/claim-statement.ts',
    from: 'from claimed where not listed) passed',
    to: 'from claimed where not listed and listed) passed',
  },
  {
    name: 'the fence does not ask for the attempt',
    file: 'dialects/postgres/dialect.ts',
    from: "sql`t.state = 0 and t.owner = ${owner} and t.attempt = ${value('attempt')}`",
    to: "sql`t.state = 0 and t.owner = ${owner} and ${value('attempt')} > 0`",
  },
]

/** Makes this process load the changed source. @throws Error, on loading, unless the guard stands in the file exactly once */
export function mutate({ file, from, to }: Mutant): void {
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context)
      if (!url.endsWith(file)) return loaded
      const source = String(loaded.source)
      if (source.split(from).length !== 2) throw new Error(`${file} does not have this once: ${from}`)
      return { ...loaded, source: source.replace(from, () => to) }
    },
  })
}
