/** Makes adapters that record for each statement which indexes it uses, and how many rows of the task table it reads. */
import { render } from '@taskstream/task-sql'
import type { SqlAdapter, Statement } from '@taskstream/task-sql'
import type { AnyTransaction } from '../subject.ts'

export interface Work {
  readonly text: string
  /** The node types or index names by which the statement reads the task table. */
  readonly by: readonly string[]
  /** How many rows of the task table the statement read, including those that it filtered out. */
  readonly rows: number
  readonly scans: boolean
}

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Node[]
}

export class Recorder {
  readonly works: Work[] = []
  recording = false
  /** Whether to explain the generic plan, which a prepared statement keeps for any values. PostgreSQL only. */
  kept = false

  /** For PostgreSQL: runs each statement under EXPLAIN ANALYZE, undoes it, and runs it again. */
  postgres(adapter: SqlAdapter<AnyTransaction>): SqlAdapter<AnyTransaction> {
    return {
      execution: 'async',
      execute: async (transaction, statement) => {
        if (this.recording) await this.#explain(transaction, statement)
        return adapter.execute(transaction, statement)
      },
    } as SqlAdapter<AnyTransaction, 'async'>
  }

  async #explain(client: AnyTransaction, statement: Statement): Promise<void> {
    const text = render(statement, (position) => `$${position}`)
    await client.query('savepoint explained')
    const explain = 'explain (analyze, timing off, format json)'
    let rows
    if (this.kept) {
      const values = statement.values.map((value) => (typeof value === 'string' ? client.escapeLiteral(value) : String(value)))
      await client.query(`set local plan_cache_mode = force_generic_plan; prepare explained as ${text}`)
      ;({ rows } = await client.query(`${explain} execute explained${values.length > 0 ? `(${values.join(', ')})` : ''}`))
      await client.query('deallocate explained')
    } else ({ rows } = await client.query(`${explain} ${text}`, statement.values))
    await client.query('rollback to savepoint explained')
    const nodes: Node[] = []
    const walk = (node: Node): void => {
      nodes.push(node)
      node.Plans?.forEach(walk)
    }
    walk(rows[0]['QUERY PLAN'][0].Plan)
    const reads = nodes.filter(
      (node) =>
        (/^task(_attempt)?$/.test(node['Relation Name'] ?? '') &&
          !['ModifyTable', 'Bitmap Heap Scan'].includes(node['Node Type'])) ||
        node['Node Type'] === 'Bitmap Index Scan',
    )
    const own = reads.filter((node) => !/^task_(topic|owner|lane|turn|holding|migration)/.test(node['Index Name'] ?? ''))
    this.works.push({
      text,
      by: own.map((node) => `${node['Node Type']} ${node['Index Name'] ?? ''}: ${Math.round(looked(node))}`),
      rows: Math.round(own.reduce((sum, node) => sum + looked(node), 0)),
      scans: own.some((node) => node['Node Type'] === 'Seq Scan' && node['Actual Loops'] > 0),
    })
  }

  /** For MariaDB: has the server count the rows that each statement reads in any table, including those that an index condition filters out. */
  mariadb(adapter: SqlAdapter<AnyTransaction>): SqlAdapter<AnyTransaction> {
    return {
      execution: 'async',
      execute: async (transaction, statement) => {
        if (!this.recording) return adapter.execute(transaction, statement)
        // Asking for the counts reads rows too, and these are subtracted.
        const idle = await countReads(transaction)
        const before = await countReads(transaction)
        const found = await adapter.execute(transaction, statement)
        const after = await countReads(transaction)
        const reads = [...after].map(([name, count]) => [name, count - 2 * before.get(name)! + idle.get(name)!] as const)
        this.works.push({
          text: render(statement, () => '?'),
          by: reads.filter(([, count]) => count !== 0).map(([name, count]) => `${name}: ${count}`),
          rows: reads.reduce((sum, [name, count]) => sum + (name === 'Handler_icp_match' ? -count : count), 0),
          scans: false,
        })
        return found
      },
    } as SqlAdapter<AnyTransaction, 'async'>
  }

  /** For SQLite: asks for the plan of each statement. */
  sqlite(adapter: SqlAdapter<AnyTransaction>): SqlAdapter<AnyTransaction> {
    return {
      execution: 'sync',
      execute: (transaction, statement) => {
        if (this.recording) {
          const text = render(statement, () => '?')
          const details = (
            transaction.prepare(`explain query plan ${text}`).all(...statement.values) as { detail: string }[]
          ).map(({ detail }) => detail)
          this.works.push({
            text,
            by: details
              .flatMap((detail) => /(?:task|[tbc]) USING .*?INDEX (\w+)|USING (INTEGER PRIMARY KEY)/.exec(detail)?.slice(1) ?? [])
              .filter(Boolean),
            rows: 0,
            scans: details.some((detail) => /^SCAN (task|t|b)$/.test(detail)),
          })
        }
        return adapter.execute(transaction, statement)
      },
    } as SqlAdapter<AnyTransaction, 'sync'>
  }
}

/** https://mariadb.com/kb/en/server-status-variables/#handler_read_key */
async function countReads(connection: AnyTransaction): Promise<ReadonlyMap<string, number>> {
  const [rows] = await connection.query(
    `show session status where variable_name like 'handler_read%' or variable_name like 'handler_icp%'`,
  )
  return new Map((rows as { Variable_name: string; Value: string }[]).map((row) => [row.Variable_name, Number(row.Value)]))
}

function looked(node: Node): number {
  const each = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  return each * node['Actual Loops']
}
