import { look } from '../../core/examination.ts'
import type { Examination, Look } from '../../core/examination.ts'
import { raw } from '../../core/statement.ts'
import { isDamaged } from './errors.ts'

/**
 * Looks at a file of SQLite and at this connection. A database in memory has no file, and its settings do not matter: of it these looks return nothing.
 * Pragmas are read as tables, because SQLite keeps the answer of a prepared pragma.
 */
export const sqliteExamination: Partial<Examination> = {
  damaged: isDamaged,
  looks: {
    file: look(raw(`select f.file as path from pragma_database_list f where f.name = 'main' and f.file <> ''`)),
    journal: ofFile(`
      select case when m.journal_mode = 'wal' then 0 else 1 end as value, m.journal_mode as setting from pragma_journal_mode m`),
    synchronous: ofFile(
      'select case when s.synchronous = 0 then 1 else 0 end as value, s.synchronous as setting from pragma_synchronous s',
    ),
    'busy-timeout': ofFile('select b.timeout as value from pragma_busy_timeout b'),
    'free-pages': ofFile(`
      select case when c.page_count = 0 then 0 else f.freelist_count * 1.0 / c.page_count end as value,
             f.freelist_count * s.page_size as size
        from pragma_freelist_count f, pragma_page_count c, pragma_page_size s`),
    // Rows that were purged leave gaps, so this is the most that there can be.
    history: look(
      raw(`
      select coalesce((select max(t.sequence) from task t)
                      - (select min(t.sequence) from task t) + 1, 0) as value`),
    ),
    attempts: {
      read: function* () {
        if (!(yield* hasStatistics())) return [{ value: null }]
        const rows = yield raw(
          `select cast(s.stat as integer) as value from sqlite_stat1 s where s.tbl = 'task_attempt' order by value desc limit 1`,
        )
        return rows.length > 0 ? rows : [{ value: 0 }]
      },
    },
    statistics: {
      read: function* () {
        if (yield* hasStatistics()) return []
        return yield raw(`
          select 1 as value,
                 (select max(t.sequence) from task t)
                 - (select min(t.sequence) from task t) + 1 as size`)
      },
    },
    integrity: {
      read: function* () {
        const rows = yield raw('select q.quick_check as problem from pragma_quick_check q limit 10')
        return rows.filter(({ problem }) => problem !== 'ok').map((row) => ({ ...row, value: 1 }))
      },
      deep: true,
    },
  },
}

function ofFile(text: string): Look {
  return look(raw(`${text} where exists (select 1 from pragma_database_list f where f.name = 'main' and f.file <> '')`))
}

function* hasStatistics(): Generator<ReturnType<typeof raw>, boolean, readonly unknown[]> {
  return (yield raw(`select 1 as there from sqlite_master where name = 'sqlite_stat1'`)).length > 0
}
