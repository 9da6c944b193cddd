/**
 * What must be true of the tables at every moment, in one snapshot. It knows nothing of the statements: only what a range means.
 */
import type { ClientBase } from 'pg'
import { productChecks } from './product.ts'

const checks: readonly { readonly name: string; readonly query: string }[] = [
  {
    name: 'ranges that do not begin behind the one before',
    query: `select count(*)::int as c, min(format('%s..%s state %s after %s', lo, hi, state, before)) as first from (
              select *, coalesce(lag(hi) over (order by lo), 1023) as before from task_range where topic = $1) r where lo <> before + 1 or hi < lo`,
  },
  {
    name: 'ranges whose n is not the number of their tasks without a state',
    query: `select count(*)::int as c, min(format('%s..%s state %s n %s counted %s', r.lo, r.hi, r.state, r.n, k.c)) as first
              from task_range r, lateral (
                select count(*) as c from task t where t.topic = $1 and t.sequence between r.lo and r.hi and t.state is null) k
             where r.topic = $1 and r.state <> 9 and r.n <> k.c`,
  },
  {
    name: 'ranges in a state that none is in',
    query: `select count(*)::int as c, min(format('%s state %s n %s', lo, state, n)) as first from task_range
             where topic = $1 and (state not in (0, 6, 9) or n < 0 or state = 9 and n <> 0 or state = 0 and (n = 0 or token is null or owner is null))`,
  },
  {
    name: 'active rows that nobody would find',
    query: `select count(*)::int as c, min(format('%s owner %s listed %s', sequence, owner, listed)) as first from task
             where topic = $1 and (state = 0 and (owner is null or not listed) or state = 1 and not listed)`,
  },
]

/** @returns what is wrong, a sentence each */
export async function brokenInvariants(client: ClientBase, topic = 't'): Promise<string[]> {
  const broken: string[] = []
  await client.query('begin isolation level repeatable read read only')
  try {
    for (const { name, query } of process.env['HAMMER_PRODUCT'] ? productChecks : checks) {
      const { rows } = await client.query<{ c: number; first: string }>(query, [topic])
      if (rows[0]!.c > 0) broken.push(`${rows[0]!.c} ${name}: ${rows[0]!.first}`)
    }
  } finally {
    await client.query('rollback')
  }
  return broken
}
